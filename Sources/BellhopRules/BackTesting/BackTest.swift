public import BellhopCore

/// Routes stored events through rules, to find the deliveries that the rules would have made. Takes the events page by page, in their
/// order. Its memory does not grow with the number of events.
public struct BackTest: Sendable {
    private var trial: Trial<BackTestTally>
    public let book: RuleBook
    /// The events of the latest moment, until all events of that moment have come.
    private var moment: [StoredEvent] = []
    /// The messages that quiet times hold.
    private var held: Set<Delivery.ID> = []
    private(set) var events = 0
    /// Counts the steps that made a delivery.
    private let coverage: CoverageRecord?
    /// Whether no other rules run beside these.
    private let isWhole: Bool

    /// Above this number, messages that are no longer held are forgotten.
    private static let maxHeld = 10_000

    /// The distance between the places of two stored events. It leaves places for the events that rules emit.
    private static let placesApart: Int64 = 1 << 20

    /// - Parameters:
    ///   - rules: the rules whose runs are counted; nil for all.
    ///   - start: the beginning of the period. Earlier events are not known.
    ///   - known: the time of each source's first event. An absence of its events begins only then. Nil if all sources are known
    ///     from the start.
    ///   - silences: the silences of the period.
    ///   - coverage: the record that the rules were loaded with, to see which parts of them run.
    ///   - isWhole: whether no other rules run beside these. The stored events that other rules emitted are then skipped, because
    ///     these rules have been removed or renamed.
    ///   - maxFirings: the most timers that come due.
    public init(
        _ book: RuleBook, counting rules: Set<String>? = nil, from start: Timestamp, known: [String: Timestamp]? = nil,
        silences: [SilenceRecord] = [], coverage: CoverageRecord? = nil, isWhole: Bool = false, maxFirings: Int = .max
    ) {
        (self.book, self.coverage, self.isWhole) = (book, coverage, isWhole)
        trial = Trial(
            book, at: start, known: known,
            silences: silences.map(\.lasted).filter { $0.ends > max(start, $0.starts) },
            observer: BackTestTally(rules: rules), maxFirings: maxFirings)
        trial.forgetBeginnings(before: start)
        trial.observer.zone = book.context.timeZone
    }

    /// How many events, tasks, pieces of state and timers are kept.
    var remembered: (events: Int, tasks: Int, state: Int, timers: Int) { trial.remembered }

    /// How many ids of messages and conversations are kept.
    var names: Int { held.count + trial.conversations }

    /// The observations so far.
    public var tally: BackTestTally { trial.observer }

    public struct MadeDeliveries: Sendable {
        public var deliveries: [Delivery] = []
        /// The messages that a quiet time had held, in their state at its end.
        public var released: [Delivery] = []
    }

    /// Sets the tasks that a source showed at the beginning.
    public mutating func know(_ tasks: [Snapshot], of scope: Scope.ID) { trial.know(tasks, of: scope) }

    /// Routes the next events of the bus, and returns the deliveries.
    public mutating func feed(_ page: some Sequence<StoredEvent>) -> MadeDeliveries {
        for stored in page {
            if let first = moment.first, first.event.time != stored.event.time { routeMoment() }
            moment.append(stored)
        }
        return takeDeliveries()
    }

    /// Advances the clock to the end, and returns the deliveries.
    public mutating func finish(at end: Timestamp) -> MadeDeliveries {
        routeMoment()
        trial.advance(to: end)
        return takeDeliveries()
    }

    /// Feeds the gathered events of one moment to the trial.
    private mutating func routeMoment() {
        // The events before a `schedule_due` of the same moment were on the bus when the schedule fired.
        let due = moment.firstIndex { $0.event.type == .scheduleDue }
        feedTrial(moment.prefix(due ?? 0), isAhead: true)
        feedTrial(moment.dropFirst(due ?? 0), isAhead: false)
        moment.removeAll(keepingCapacity: true)
    }

    private mutating func feedTrial(_ stored: ArraySlice<StoredEvent>, isAhead: Bool) {
        var events: [StoredEvent] = []
        for stored in stored where !isEmittedByTrial(stored.event) {
            events.append(StoredEvent(sequence: stored.sequence * Self.placesApart, event: stored.event))
        }
        self.events += events.count
        trial.feed(events, isAhead: isAhead)
    }

    /// Whether the trial emits the event itself, if it still occurs. The stored one is then skipped.
    private func isEmittedByTrial(_ event: Event) -> Bool {
        switch event.type {
        case .scheduleDue, .silenceStarted, .silenceEnded: true
        case .deliveryDead: book.wasDeadFromTheStart(event) && includes(event.data[.delivery]?[.rule]?.asString ?? "")
        default: book.isEmitted(event) && includes(event.source)
        }
    }

    /// Whether the events of a rule's runs come from the trial.
    private func includes(_ rule: String) -> Bool { isWhole || book.contains(rule) }

    private mutating func takeDeliveries() -> MadeDeliveries {
        var made = MadeDeliveries()
        for delivery in trial.takeDeliveries() {
            if let coverage { book.note(delivery, in: coverage) }
            let isReleased = held.remove(delivery.id) != nil
            if case .quiet = delivery.initial { held.insert(delivery.id) }
            let task = delivery.task.flatMap { trial.task($0.key, of: $0.source) }
            let group = task.flatMap { $0.labels["assignment_group"] ?? $0.fields["assignment_group"] }?.asString
            trial.observer.count(delivery, group: group, isReleased: isReleased)
            if isReleased { made.released.append(delivery) } else { made.deliveries.append(delivery) }
        }
        for delivery in trial.takeDropped() where held.remove(delivery.id) != nil {
            trial.observer.count(delivery, group: nil, isReleased: true)
            made.released.append(delivery)
        }
        // Messages that were coalesced are not released one by one, so they are removed here.
        if held.count > Self.maxHeld { held.formIntersection(trial.heldMessages) }
        trial.tidy()
        return made
    }
}

extension RuleBook {
    /// Counts the step of a delivery, if a rule of this book made it with its present text.
    public func note(_ delivery: Delivery, in coverage: CoverageRecord) {
        guard let rule = rule(named: delivery.id.rule), rule.summary.revision == delivery.revision else { return }
        coverage.note(delivery.id.step, of: rule.name, in: rule.summary.file)
    }

    /// Whether a rule emitted the event. An event of the same type that another system sent has no hop.
    func isEmitted(_ event: Event) -> Bool { event.hop > 0 && facts.events[event.type]?.origin == .outside }

    /// Whether the event is about a delivery that was dead when it was made. A message is not: a plain one replaces it.
    func wasDeadFromTheStart(_ event: Event) -> Bool {
        let reason = event.data[.error]?[.reason]?.asString.flatMap(Failure.Reason.init)
        let action = event.data[.delivery]?[.action]?.asString ?? ""
        return (reason == .budget || reason == .unrenderable) && facts.actions[action]?.isMessage != true
    }

    /// Whether the event was seen by a source that bellhop.yaml does not have.
    public func isOfMissingSource(_ event: Event) -> Bool {
        switch facts.events[event.type]?.origin {
        case .tasks, .page, .source: !hasSource(event.source)
        case .outside: event.hop == 0 && !hasSource(event.source)
        case .connection, .rule, .delivery, nil: false
        }
    }

    /// Whether bellhop.yaml has the source.
    public func hasSource(_ name: String) -> Bool { facts.isConfigured(name) }

    /// The sources that rules watch with `on: {none}` and without `after`: such a rule runs if no event comes in time.
    public var watchedSources: Set<String> { watchedSources { _ in true } }

    /// The sources that these rules watch in this way.
    public func watchedSources(_ isIncluded: (String) -> Bool) -> Set<String> {
        Set(compiled.filter { isIncluded($0.name) }.flatMap { $0.time.pattern?.watched ?? [] })
    }

    /// The rules whose runs depend on stored state, and the rules that read the tasks of sources.
    public func rulesDependingOnThePast(among isIncluded: (String) -> Bool) -> (remembering: [String], reading: [String]) {
        let rules = compiled.filter { !$0.isOff && isIncluded($0.name) }
        let remembering = rules.filter {
            !$0.time.isEmpty || $0.once != nil || $0.throttle != nil || $0.escalation != nil || $0.readsDigest
        }
        return (remembering.map(\.name), rules.filter { !scopesRead(by: $0.name).isEmpty }.map(\.name))
    }
}
