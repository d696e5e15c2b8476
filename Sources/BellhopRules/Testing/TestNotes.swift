import BellhopCore
import CEL

/// Why the rules of a test did nothing, and their errors.
struct TestNotes: TrialObserver {
    /// Errors of rules, each once.
    private(set) var errors: [RuleError] = []
    /// Why rules and their steps did nothing for the test's events, in order.
    private(set) var refusals: [RuleRefusal] = []
    /// The places in the test that give events.
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
        let frame = RunFrame(book.facts, events: [event], now: now, snapshots: tasks)
        let activation = Activation(book.slots)
        activation.begin(frame)
        for rule in book.compiled {
            let isDigest = rule.readsDigest && event.event.type == .scheduleDue && rule.isFor(event.event)
            let digest = isDigest ? moment.digest(of: rule, at: event) : nil
            if let digest {
                frame.give(digest)
                activation.begin(frame)
            }
            defer {
                if digest != nil {
                    frame.move(to: 0)
                    activation.begin(frame)
                }
            }
            func refuse(_ reason: RuleRefusal.Reason, _ element: TaskObject? = nil) {
                refusals.append(
                    RuleRefusal(
                        rule: rule, event: event, digest: digest, element: element, line: place?.line, reason: reason, now: now,
                        tasks: tasks))
            }
            let own = records.filter { $0.rule == rule.name }
            guard rule.isFor(event.event) || !own.isEmpty else {
                if place != nil || !Self.typesOfTests.contains(event.event.type) { refuse(.trigger) }
                continue
            }
            for record in own {
                if let message = record.error {
                    add(RuleError(rule: rule.name, message: message, place: place))
                } else if record.verdict.isOfRun || record.verdict == .ended || record.verdict == .answered {
                    refuse(.stopped(record))
                }
            }
            if own.contains(where: \.verdict.isOfRun) { continue }
            if let each = rule.time.each {
                for (reason, element) in rule.refusals(of: each, for: event, frame, activation) { refuse(reason, element) }
                continue
            }
            if let pattern = rule.time.pattern {
                if !pattern.fits(event.event, activation) {
                    refuse(.trigger)
                } else if let condition = rule.condition, pattern.begins(with: event.event, activation) {
                    pattern.moveToBegin(frame, event, activation)
                    if condition.isRefused(activation) { refuse(.condition) }
                    frame.move(to: 0)
                    activation.begin(frame)
                }
                continue
            }
            if !rule.isFor(event.event) { continue }
            if rule.condition.map({ $0.isRefused(activation) }) ?? false {
                refuse(.condition)
                continue
            }
            for number in rule.refusedSteps(activation) { refuse(.step(number)) }
        }
    }

    /// The types of events that happen by themselves in a test: they concern only the rules that name them.
    private static let typesOfTests: Set<EventType> = [.scheduleDue, .silenceStarted, .silenceEnded]
}

extension Rule {
    /// The places of the steps whose `if` is false or unknown.
    fileprivate func refusedSteps(_ activation: Activation) -> [Int] {
        steps.indices.filter { steps[$0].condition?.isRefused(activation) ?? false }
    }

    /// The first elements of its list for which the rule or a step does nothing, and why; without an element if the list is empty.
    fileprivate func refusals(
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
        frame.move(to: 0)
        activation.begin(frame)
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
