public import BellhopCore
import CEL
import YAML

/// The verdict on an event that follows from the text of a rule: whether the rule is for such events, and the result of its `when`
/// with the value of each part.
public struct Judgement: Sendable {
    public enum Verdict: String, Sendable, CaseIterable {
        /// The rule is turned off; `on` does not name the type; `from` does not name the source; other fields changed.
        case off, type, source, field
        case conditionFalse = "condition_false"
        /// `when` is unknown, because a value that it reads is null.
        case conditionUnknown = "condition_unknown"
        case conditionFailed = "condition_failed"
        /// The rule's text allows the event.
        case holds
    }

    public var verdict = Verdict.holds
    /// A clause that explains the verdict; empty if it holds.
    public var reason = ""
    /// The values of the parts of `when`, if the verdict depends on it.
    public var parts: [Evaluation.Part] = []
    /// Whether `when` reads the tasks of sources. The judgement uses the present tasks, not those at the event's time.
    public var readsTasks = false
    /// The steps whose `if` does not hold, and why; only of a rule without parts that wait.
    public var leftOut: [String] = []
    /// Whether all steps are left out.
    var isEmptyRun = false

    /// The key under which `for`, or else `none`, waits.
    var wait: String?
    /// The verdict for an event that fits `on`, if no record explains it; otherwise nil.
    var idle: (verdict: Explanation.Verdict, reason: String)?

    /// Whether the event may begin, continue or end something of the rule.
    var mayMatter = false

    /// Whether the rule is for events like this one.
    public var isRelevant: Bool { ![.off, .type, .source].contains(verdict) }

    /// Shows the values of the parts of `when`.
    fileprivate mutating func show(_ condition: RuleExpression, _ frame: RunFrame, _ slots: SlotTable, _ rule: Rule) {
        readsTasks = readsTasks || !condition.needs.isDisjoint(with: [.tasks, .snapshots, .digest])
        parts = condition.explained(frame, slots, zone: rule.zone)?.parts ?? []
    }
}

extension RuleBook {
    /// The scopes whose tasks are read to judge these events.
    ///
    /// - Parameter name: the only rule that judges; nil for all.
    public func scopesRead(toJudge events: [StoredEvent], by name: String? = nil) -> Set<Scope.ID> {
        let judging = compiled.filter { rule in
            (name == nil || rule.name == name) && rule.time.each == nil
                && events.contains { rule.objection(to: $0.event) == nil }
        }
        return Set(judging.flatMap(\.scopesRead))
    }

    /// Judges an event by a rule; nil if there is no such rule. The parts of conditions are known only in a book that was loaded to
    /// explain. Pure.
    ///
    /// - Parameters:
    ///   - tasks: the tasks of at least the scopes that it reads (``scopesRead(toJudge:by:)``).
    ///   - now: the time that `now` has in the condition: when the event was routed.
    public func judge(_ event: StoredEvent, by name: String, tasks: [Scope.ID: [Snapshot]], at now: Timestamp) -> Judgement? {
        guard let rule = rule(named: name) else { return nil }
        var judgement = Judgement()
        if let (verdict, reason) = rule.objection(to: event.event) {
            (judgement.verdict, judgement.reason) = (verdict, reason)
            return judgement
        }
        // The elements of a list and the runs of timers are judged one by one.
        if rule.time.each != nil {
            judgement.mayMatter = true
            return judgement
        }
        let frame = RunFrame(facts, events: [event], now: now, snapshots: tasks)
        let activation = Activation(slots)
        activation.workLeft = RuleBook.workPerRun
        activation.begin(frame)
        if let pattern = rule.time.pattern {
            judge(&judgement, rule, pattern, event, frame, activation)
            return judgement
        }
        judgement.wait = rule.time.hold.flatMap { rule.holdID($0, frame, activation) }
        if let condition = rule.condition {
            judgement.show(condition, frame, slots, rule)
            if let (verdict, reason) = condition.objection(activation) {
                (judgement.verdict, judgement.reason) = (verdict, reason)
                return judgement
            }
        }
        judgement.mayMatter = true
        judgement.leftOut = leftOut(of: rule, frame)
        judgement.isEmptyRun = judgement.leftOut.count == rule.steps.count
        return judgement
    }

    /// Judges the entries of `all`, `sequence` or `none` that name the event.
    private func judge(
        _ judgement: inout Judgement, _ rule: Rule, _ pattern: Pattern, _ stored: StoredEvent, _ frame: RunFrame,
        _ activation: Activation
    ) {
        let event = stored.event
        let entries = (pattern.entries + pattern.after).filter { $0.accepts(event) }
        judgement.readsTasks = !pattern.needs.isDisjoint(with: [.tasks, .snapshots])
        if let hold = rule.time.hold {
            judgement.wait = rule.holdID(hold, frame, activation)
        } else if pattern.kind == .none {
            judgement.wait = pattern.key(activation)
        }
        if pattern.fits(event, activation) {
            judgement.mayMatter = true
            judgement.idle = pattern.idle(event, activation)
            // An event of `after` begins an absence only if the rule's condition holds.
            guard judgement.idle == nil, pattern.kind == .none, !pattern.beginsByItself, let condition = rule.condition else {
                return
            }
            pattern.moveToBegin(frame, stored, activation)
            if let (verdict, reason) = condition.objection(activation) {
                (judgement.verdict, judgement.reason) = (verdict, reason)
                judgement.show(condition, frame, slots, rule)
            }
            return
        }
        (judgement.verdict, judgement.reason) = (.conditionFalse, "no entry of `on` for this type has a `when` that is true")
        judgement.parts = entries.compactMap(\.condition).flatMap { $0.explained(frame, slots, zone: rule.zone)?.parts ?? [] }
    }

    /// The steps whose `if` does not hold, and why, as clauses.
    private func leftOut(of rule: Rule, _ frame: RunFrame) -> [String] {
        guard rule.time.isEmpty else { return [] }
        return rule.steps.compactMap { step in
            let activation = Activation(slots)
            activation.workLeft = RuleBook.workPerRun
            activation.begin(frame)
            return step.objection(activation)
        }
    }
}

extension Step {
    /// Why the step is left out, as a clause; nil if its `if` holds.
    func objection(_ activation: Activation) -> String? {
        guard let condition else { return nil }
        let name = "step \(name ?? path.text) (`\(action.kind)`)"
        return switch condition.program.verdict(activation) {
        case .yes: nil
        case .no: "`if` of \(name) is false"
        case .unknown: "`if` of \(name) is unknown, because a part of it is null"
        case .failed(let error): "`if` of \(name) failed: \(error.message)"
        }
    }
}

extension Pattern {
    /// The key of the activation's event: an empty text if the pattern has no key, nil if it is null or fails.
    fileprivate func key(_ activation: Activation) -> String? {
        var stop: Stop?
        guard let by else { return "" }
        return RunKeys.key(by, "`by`", activation, &stop)
    }

    /// Moves a frame from an event of `after` to the absence that the event may begin.
    func moveToBegin(_ frame: RunFrame, _ stored: StoredEvent, _ activation: Activation) {
        let event = stored.event
        frame.move(
            to: RunContext(
                occasion: .event(event.id), source: event.source, subject: event.subject, events: [stored], event: 0,
                key: by == nil ? nil : key(activation), since: event.time))
        activation.begin(frame)
    }

    /// The verdict for an event that fits, if no record explains it; otherwise nil.
    fileprivate func idle(_ event: Event, _ activation: Activation) -> (Explanation.Verdict, String)? {
        switch kind {
        case .all: return nil
        case .sequence:
            if entries.first?.fits(event, activation) ?? true { return nil }
            return (.conditionFalse, "no `sequence` is recorded that was waiting for this event")
        case .none:
            if beginsByItself { return nil }
            if after.contains(where: { $0.fits(event, activation) }) { return nil }
            return (.conditionFalse, "no absence is recorded that this event ended")
        }
    }
}

extension Rule {
    /// Why the rule is not for this event, judged only by `on` and `from`: a verdict and a clause.
    func objection(to event: Event) -> (Judgement.Verdict, String)? {
        if isOff { return (.off, "it is off (`enabled: false`)") }
        if isFor(event) { return nil }
        let sources = time.pattern?.sources ?? sources
        if !summary.types.contains(event.type) { return (.type, "`on` does not name `\(event.type.name)`") }
        if event.type == .scheduleDue { return (.source, "the event belongs to the schedule of another rule") }
        if !sources.isEmpty && !sources.contains(event.source) || time.pattern?.acceptsElsewhere(event) == true {
            return (.source, "`from` does not name the source `\(event.source)`")
        }
        return (.field, "`on` requires changes that this event does not have")
    }
}

extension RuleExpression {
    /// Why the condition stops the activation's run: a verdict and a clause; nil if it holds.
    fileprivate func objection(_ activation: Activation) -> (Judgement.Verdict, String)? {
        switch program.verdict(activation) {
        case .yes: nil
        case .no: (.conditionFalse, "`when` is false")
        case .unknown: (.conditionUnknown, "`when` is unknown, because a part of it is null")
        case .failed(let error): (.conditionFailed, "`when` failed: \(error.message)")
        }
    }

    /// The result of the expression at a frame, and the value of each part; nil if the expression does not keep its source.
    func explained(
        _ frame: RunFrame, _ slots: SlotTable, zone: TimeZoneTable
    ) -> (result: Observation.Outcome, parts: [Evaluation.Part])? {
        guard let source else { return nil }
        let activation = Activation(slots)
        activation.begin(frame)
        let (result, observations) = source.explain(activation, wholePaths: true)
        return (result, Evaluation.parts(of: observations, in: SourceText(source.text), zone: zone))
    }
}

extension [Evaluation.Part] {
    /// A line for each part with its value, indented by its depth.
    public var lines: [String] {
        let texts = map { String(repeating: "  ", count: $0.depth) + $0.text.singleLine }
        let width = Swift.min(58, texts.map(\.unicodeScalars.count).max() ?? 0)
        return zip(texts, self).map { text, part in
            text + String(repeating: " ", count: Swift.max(0, width - text.unicodeScalars.count)) + "  " + part.brief
        }
    }
}

extension Evaluation.Part {
    /// Its result on one line.
    public var brief: String {
        if let remoteBrief { return remoteBrief }
        return switch outcome {
        case .value(let result): result.brief
        case .failure(_, let message): "error: " + message.singleLine
        case .notEvaluated: "not evaluated"
        }
    }
}
