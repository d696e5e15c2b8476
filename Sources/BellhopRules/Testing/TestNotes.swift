import BellhopCore
import CEL

/// Why the rules of a test did nothing, and their errors.
struct TestNotes: TrialObserver {
    /// Errors of rules, each once.
    private(set) var errors: [RuleError] = []
    /// Why rules and their steps did nothing for the test's events, in order.
    private(set) var refusals: [RuleRefusal] = []
    var places: [Event.ID: Diagnostic.Place] = [:]

    struct RuleError {
        var rule: String
        var message: String
        /// The first event for which it failed, if the test gives it.
        var place: Diagnostic.Place?
    }

    /// The steps of each rule that made a delivery, also one that is kept back.
    private(set) var ran: [String: Set<StepPath>] = [:]

    mutating func observe(_ routing: Routing, in moment: TrialMoment) {
        for delivery in routing.deliveries { ran[delivery.id.rule, default: []].insert(delivery.id.step) }
        // Errors without a decision record. A dead delivery shows its own error.
        var dead: Set<String> = []
        for delivery in routing.deliveries { if case .dead = delivery.initial { dead.insert(delivery.id.rule) } }
        for tally in routing.tallies where !dead.contains(tally.rule) {
            if let error = tally.lastError { add(RuleError(rule: tally.rule, message: error)) }
        }
    }

    private mutating func add(_ error: RuleError) {
        if !errors.contains(where: { $0.rule == error.rule && $0.message == error.message }) { errors.append(error) }
    }

    /// Reports a rule that had more keys than it may remember.
    mutating func observe(_ loss: KeyLoss, in moment: TrialMoment) {
        let what = loss.isStopped ? "has too many, and is paused" : "drops those that were not used for the longest time"
        add(RuleError(rule: loss.rule, message: "it may remember \(loss.most) keys, and \(what)"))
    }

    /// Records why the rule of a timer stopped when it was due.
    mutating func observe(_ record: DecisionRecord, of timer: RuleTimer, in moment: TrialMoment) {
        let (book, now, tasks) = (moment.book, moment.now, moment.tasks)
        guard let rule = book.rule(named: record.rule), !record.verdict.isOfEarlier else { return }
        if let message = record.error {
            add(RuleError(rule: rule.name, message: message))
        } else if record.verdict.isOfRun || record.verdict == .ended {
            refusals.append(RuleRefusal(rule: rule, reason: .stopped(record), now: now, tasks: tasks))
        }
    }

    /// Records why each rule stopped at an event. Conditions are evaluated again for this.
    mutating func observe(_ event: StoredEvent, _ decisions: [DecisionRecord], in moment: TrialMoment) {
        let (book, now, tasks) = (moment.book, moment.now, moment.tasks)
        let place = places[event.event.id]
        // The steps that an event's run left out are shown with their values.
        let records = decisions.filter {
            $0.occasion.event == event.event.id && !$0.verdict.isOfEarlier && $0.verdict != .noStep
        }
        let activation = Activation(book.slots)
        for rule in book.compiled {
            let own = records.filter { $0.rule == rule.name }
            guard rule.isFor(event.event) || !own.isEmpty else {
                if place != nil || !Self.typesOfTests.contains(event.event.type) {
                    refusals.append(
                        RuleRefusal(rule: rule, event: event, line: place?.line, reason: .trigger, now: now, tasks: tasks))
                }
                continue
            }
            for record in own {
                if let message = record.error { add(RuleError(rule: rule.name, message: message, place: place)) }
            }
            let frame = RunFrame(book.facts, events: [event], now: now, snapshots: tasks)
            let hasDigest = rule.readsDigest && event.event.type == .scheduleDue && rule.isFor(event.event)
            let digest = hasDigest ? moment.digest(of: rule, at: event) : nil
            if let digest { frame.give(digest) }
            activation.begin(frame)
            for (reason, element) in rule.refusals(at: event, own, frame, activation) {
                refusals.append(
                    RuleRefusal(
                        rule: rule, event: event, digest: digest, element: element, line: place?.line, reason: reason, now: now,
                        tasks: tasks))
            }
        }
    }

    /// The types of events that happen by themselves in a test: they concern only the rules that name them.
    private static let typesOfTests: Set<EventType> = [.scheduleDue, .silenceStarted, .silenceEnded]
}

extension Rule {
    /// Why the rule or a step did nothing at an event, with the element of its list for which it did nothing.
    /// - Parameter records: its decisions at the event.
    fileprivate func refusals(
        at event: StoredEvent, _ records: [DecisionRecord], _ frame: RunFrame, _ activation: Activation
    ) -> [(RuleRefusal.Reason, TaskObject?)] {
        let stops = records.filter {
            $0.error == nil && ($0.verdict.isOfRun || $0.verdict == .ended || $0.verdict == .answered)
        }
        var found: [(RuleRefusal.Reason, TaskObject?)] = stops.map { (.stopped($0), nil) }
        if records.contains(where: \.verdict.isOfRun) { return found }
        if let each = time.each {
            found += refusals(of: each, for: event, frame, activation)
        } else {
            found += reasons(at: event, frame, activation).map { ($0, nil) }
        }
        return found
    }

    /// Why the rule or a step did nothing at an event although nothing stopped the rule.
    private func reasons(at event: StoredEvent, _ frame: RunFrame, _ activation: Activation) -> [RuleRefusal.Reason] {
        if let pattern = time.pattern {
            if !pattern.fits(event.event, activation) {
                let refused = pattern.needed.filter {
                    $0.accepts(event.event) && $0.condition?.isRefused(activation) ?? false
                }
                return refused.isEmpty ? [.trigger] : refused.map { .entry($0) }
            }
            guard let condition, pattern.begins(with: event.event, activation) else { return [] }
            pattern.moveToBegin(frame, event, activation)
            return condition.isRefused(activation) ? [.condition] : []
        }
        if !isFor(event.event) { return [] }
        return condition?.isRefused(activation) ?? false ? [.condition] : refusedSteps(activation).map { .step($0) }
    }

    /// The places of the steps whose `if` is false or unknown.
    private func refusedSteps(_ activation: Activation) -> [Int] {
        steps.indices.filter { steps[$0].condition?.isRefused(activation) ?? false }
    }

    /// The first elements of its list for which the rule or a step does nothing, and why; without an element if the list is empty.
    private func refusals(
        of each: RuleExpression, for event: StoredEvent, _ frame: RunFrame, _ activation: Activation
    ) -> [(RuleRefusal.Reason, TaskObject?)] {
        guard let elements = try? each.elements(activation, atMost: 1000).tasks else { return [] }
        if elements.isEmpty { return [(.noElements, nil)] }
        var found: [(RuleRefusal.Reason, TaskObject?)] = []
        for element in elements where found.count < 10 {
            frame.move(to: element, of: event)
            activation.begin(frame)
            if condition?.isRefused(activation) ?? false {
                found.append((.condition, element))
            } else {
                found += refusedSteps(activation).map { (.step($0), element) }
            }
        }
        return found
    }
}

extension RuleExpression {
    /// Whether this condition is false or unknown.
    fileprivate func isRefused(_ activation: Activation) -> Bool {
        switch program.verdict(activation) {
        case .no, .unknown: true
        case .yes, .failed: false
        }
    }
}
