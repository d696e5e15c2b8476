public import BellhopCore
import CEL

/// The deliveries that the steps of a rule and of its escalation would make for one event, task or due schedule, without regard to `when`,
/// `once`, silences and so on.
public struct RenderedRun: Sendable {
    /// Those of a step that cannot be rendered are dead, or messages with the error.
    public var deliveries: [Delivery]
    /// Why the rule would not run for it, each as a clause; empty if nothing in the rule's text is against it.
    public var objections: [String]
    /// The errors of steps that cannot be rendered.
    public var errors: [String]
    /// The expressions of the steps that have no value; empty unless the rules were loaded to explain.
    public var withoutValue: [String]
}

extension RuleBook {
    /// The event, task or schedule for which a rule is rendered.
    public enum RenderingSubject: Sendable {
        case event(StoredEvent)
        /// A task as it is now, as in the event for which the rule would run.
        case task(Snapshot, source: String)
        /// No event and no task: the rule's schedule is due, and no event came since it was due before.
        case schedule
    }

    /// Whether a rule can be rendered for its schedule alone.
    public func runsBySchedule(_ rule: String) -> Bool {
        self.rule(named: rule).map { $0.schedule != nil && $0.time.each == nil } ?? false
    }

    /// Renders the steps of a rule with the same code that routes; nil if there is no such rule. Pure.
    ///
    /// - Parameter tasks: those of all sources, by scope.
    public func render(
        _ name: String, for subject: RenderingSubject, tasks: [Scope.ID: [Snapshot]], at now: Timestamp
    ) -> RenderedRun? {
        guard let number = byName[name] else { return nil }
        let rule = compiled[number]
        let event = event(for: subject, of: rule, at: now)
        var matches = Matches()
        (matches.events, matches.count) = ([event], 1)
        var decider = BatchDecider(self, matches, RoutingFacts(state: [:], tasks: tasks), at: now)
        var isMadeUp = false
        if rule.time.each != nil, case .task(let task, let source) = subject {
            isMadeUp = true
            decider.frame.move(
                to: RunContext(
                    occasion: .element(of: event.event.id, key: task.key.text), source: source, subject: event.event.subject,
                    events: [event], event: 0, task: task))
        } else {
            decider.frame.move(to: 0)
            if case .schedule = subject, rule.readsDigest { decider.frame.give(Digest(events: [])) }
        }
        decider.activation.workLeft = RuleBook.workPerRun
        decider.activation.begin(decider.frame)
        let objections = objections(of: rule, to: event.event, isMadeUp: isMadeUp, decider.frame, decider.activation)
        decider.perform(rule.steps, of: rule, number, isShadow: false)
        if let escalation = rule.escalation { decider.perform(escalation, of: rule, number) }
        return RenderedRun(
            deliveries: decider.deliveries, objections: objections, errors: decider.errors,
            withoutValue: decider.frame.withoutValue)
    }

    private func event(for subject: RenderingSubject, of rule: Rule, at now: Timestamp) -> StoredEvent {
        switch subject {
        case .event(let event): return event
        case .schedule:
            return StoredEvent(sequence: 0, event: .scheduleDue(rule: rule.name, .init(due: now, missed: 0), at: now))
        case .task(let task, let source):
            let types: [EventType] = [.taskCreated, .taskChanged, .taskReturned, .taskRemoved]
            let instance = context.sources.first { $0.name == source }?.instance ?? ""
            let event = Event(
                id: Event.ID("\(instance)/\(task.key.text)"),
                type: types.first(where: rule.summary.types.contains) ?? .taskCreated,
                source: source, subject: "\(instance)/\(task.key.text)", time: now,
                data: EventContent.taskCreated(task, in: source).data)
            return StoredEvent(sequence: 0, event: event)
        }
    }

    /// - Parameter isMadeUp: whether the event was invented for a task of the rule's list. Then `on` and `from` are not checked.
    private func objections(
        of rule: Rule, to event: Event, isMadeUp: Bool, _ frame: RunFrame, _ activation: Activation
    ) -> [String] {
        var found: [String] = []
        if let (verdict, reason) = rule.objection(to: event), !isMadeUp || verdict == .off { found.append(reason) }
        switch rule.judge(activation) {
        case .holds: break
        case .doesNotHold: found.append("its `when` does not hold")
        case .failed(let stop): found.append(stop.detail["error"]?.asString ?? "its `when` failed")
        }
        if rule.time.isEmpty, let error = RunKeys(rule, frame, activation).stop?.detail["error"]?.asString { found.append(error) }
        return found
    }
}

extension BatchDecider {
    /// Makes the deliveries of a whole escalation of the frame's run at once: each step of the list without its repetitions, and the messages
    /// that close what was opened.
    fileprivate mutating func perform(_ escalation: Escalation, of rule: Rule, _ number: Int) {
        guard let task = frame.reference else { return }
        var underWay = ActiveEscalation(
            began: gathered(task.key, at: now, number), run: frame.occasion.id, version: escalation.version, turns: [],
            isShadow: false)
        underWay.note(opened: opened, closed: closed, isShadow: false)
        for step in escalation.steps {
            activation.workLeft = RuleBook.workPerRun
            perform(step.actions, of: rule, number, isShadow: false)
            underWay.note(opened: opened, closed: closed, isShadow: false)
        }
        close(underWay, rule)
    }
}
