public import BellhopCore

/// Runs rules in memory, on a clock that the caller moves, with their state, timers, held messages and silences. Nothing is sent;
/// the deliveries are collected. `bellhop test` and the back-test use it.
public struct Trial<Observer: TrialObserver>: Sendable {
    public let book: RuleBook
    public internal(set) var now: Timestamp
    var state: TrialState
    var tasks: TrialTasks
    var timers = TrialTimers()
    private(set) var sequence: Int64
    private var events: TrialEvents
    /// The moment of the events that are routed next, if they are on the bus already.
    private var momentOnBus: Timestamp?
    private var deferred: [Event] = []
    /// The number of events at which `tidy` runs again.
    private var nextTidying = Self.eventsBetweenTidying
    private var shown = 0
    private var holding = TrialHolding()
    private var silences: TrialSilences
    public private(set) var deliveries: [Delivery] = []
    /// The observations of the trial.
    public var observer: Observer
    /// The most timers that may fire.
    private let maxFirings: Int
    private var firings = 0
    public var isCutShort: Bool { firings >= maxFirings }

    /// - Parameters:
    ///   - known: the time of each source's first known event. An absence of its events begins only then. Nil if every source is
    ///     known from the start.
    ///   - maxFirings: a trial in which timers fire more often is stopped.
    public init(
        _ book: RuleBook, at start: Timestamp, known: [String: Timestamp]? = nil, silences: [Silence] = [], observer: Observer,
        maxFirings: Int = .max
    ) {
        self.book = book
        self.observer = observer
        self.maxFirings = maxFirings
        self.silences = TrialSilences(silences, of: book)
        now = start
        state = TrialState(most: book.context.maxKeys, from: start)
        sequence = 0
        events = TrialEvents(book)
        tasks = TrialTasks(listed: book.listedScopes)
        for rule in book.registrations(at: start) {
            if let next = rule.schedule?.next { set(RuleTimer(.init(rule: rule.name, kind: .schedule), due: next)) }
            guard rule.beginsByItself else { continue }
            for (source, due) in book.beginnings(of: rule.name, at: start, known) {
                set(RuleTimer(.init(rule: rule.name, kind: .existing, key: source), due: due))
            }
        }
    }

    private var moment: TrialMoment {
        TrialMoment(book: book, now: now, tasks: tasks.lists, state: state.values, events: events)
    }

    /// The messages that quiet times hold now.
    var heldMessages: [Delivery.ID] { holding.messages.map(\.delivery.id) }

    var conversations: Int { holding.conversations.count }

    /// Takes the deliveries made since the last time.
    public mutating func takeDeliveries() -> [Delivery] {
        defer { deliveries = [] }
        return deliveries
    }

    /// Sets the tasks that a source shows, if rules read them.
    mutating func know(_ list: [Snapshot], of scope: Scope.ID) { if tasks.isListed(scope) { tasks.set(list, of: scope) } }

    /// Takes the held messages that were dropped since the last time.
    mutating func takeDropped() -> [Delivery] { holding.takeDropped() }

    /// Routes events that were found at one moment, after everything that is due until then. Their places are higher than those
    /// of earlier events.
    /// - Parameter isAhead: whether they were on the bus before the timers of this moment fired. The digests of schedules then
    ///   contain them, and the events of schedules are routed before them; other events of the timers are routed after them.
    public mutating func feed(_ found: [StoredEvent], isAhead: Bool = false) {
        guard let first = found.first, let last = found.last else { return }
        if isAhead {
            momentOnBus = first.event.time
            // The digests of earlier schedules do not contain them.
            fire(until: first.event.time, isIncluded: false)
            for stored in found { events.keepForDigests(stored) }
            sequence = max(sequence, last.sequence)
        }
        advance(to: first.event.time)
        momentOnBus = nil
        for stored in found { remember(stored.event) }
        sequence = max(sequence, last.sequence)
        route(found, isForDigests: !isAhead)
        if !deferred.isEmpty {
            let made = deferred
            deferred = []
            route(made: made)
        }
        shown += found.count
    }

    /// A task as a source shows it.
    public func task(_ key: TaskKey, of source: String) -> Snapshot? { book.scope(of: source).flatMap { tasks[$0, key] } }

    /// Lets time pass. Timers that come due meanwhile fire at their own times.
    public mutating func advance(to moment: Timestamp) {
        fire(until: moment)
        now = max(now, moment)
    }

    /// Emits no events for the beginnings of silences before a moment.
    mutating func forgetBeginnings(before moment: Timestamp) { silences.forgetBeginnings(before: moment) }

    mutating func silence(_ silence: Silence) { silences.add(silence, of: book) }

    /// Sets a timer; the timers of a rule that is stopped never fire.
    mutating func set(_ timer: RuleTimer) {
        if state.stopped.contains(timer.id.rule) { return }
        timers.set(timer, place: book.byName[timer.id.rule] ?? 0)
    }

    /// Handles everything that is due until a moment, but only the timers that may fire. At one time silences begin and end
    /// first; then the timers fire by the place of their rule, then by when they were set.
    /// - Parameter isIncluded: whether the timers of the moment itself fire.
    mutating func fire(until moment: Timestamp, isIncluded: Bool = true, _ mayFire: (RuleTimer) -> Bool = { _ in true }) {
        while firings < maxFirings {
            let timer = timers.first(where: mayFire)
            let next = timer?.due ?? .distantFuture
            if let edge = silences.nextEdge, edge <= min(moment, next, holding.next ?? .distantFuture) {
                now = max(now, edge)
                route(made: silences.beginAndEnd(at: now))
                continue
            }
            if let end = holding.next, end <= min(moment, next) {
                release(until: end)
                continue
            }
            guard let timer, isIncluded ? timer.due <= moment : timer.due < moment else { return }
            firings += 1
            now = max(now, timer.due)
            let routing = decide(book.match([timer]))
            for record in routing.decisions where !timer.id.kind.isOfSchedule {
                observer.observe(record, of: timer, in: self.moment)
            }
            keep(routing)
            let made = book.events(causedBy: routing, at: now)
            if timer.due == momentOnBus, !timer.id.kind.isOfSchedule { deferred += made } else { route(made: made) }
        }
    }

    /// Releases what quiet times no longer hold.
    private mutating func release(until end: Timestamp) {
        now = max(now, end)
        var facts = ReleaseFacts(events: events.byPlace)
        for (scope, keys) in book.needs(of: holding.messages(until: end)).tasks {
            for key in keys { facts.tasks[scope, default: [:]][key] = tasks.remembered(key, in: scope, at: now) }
        }
        add(holding.release(until: end, by: book, facts, silences: silences.book, at: now))
    }

    /// Decides a batch, and reads the facts that turn out to be needed.
    private func decide(_ matches: Matches) -> Routing {
        var facts = RoutingFacts()
        facts.gathered = state.gathered
        var needs = matches.needs
        for (rule, keys) in book.waits(endedBy: matches) {
            for wait in keys {
                let key = StateKey(rule: rule, kind: .hold, key: wait)
                if state.values[key] != nil { needs.state.insert(key) }
            }
        }
        while true {
            add(needs, to: &facts)
            switch book.decide(matches, facts, silences: silences.book, at: now) {
            case .routing(let routing): return routing
            case .needs(let more): needs = more
            }
        }
    }

    private func add(_ needs: RoutingNeeds, to facts: inout RoutingFacts) {
        if needs.isEmpty { return }
        let (present, departed) = tasks.find(needs.tasks)
        var digests: [DigestQuery: Digest] = [:]
        for query in needs.digests { digests[query] = events.digest(query) }
        facts.add(
            needs, state: state.values.values(for: needs.state), tasks: tasks.lists.filter { needs.scopes.contains($0.key) },
            events: needs.events.compactMap { events[$0] }, present: present, departed: departed, digests: digests)
    }

    private mutating func keep(_ routing: Routing) {
        observer.observe(routing, in: moment)
        let losses = state.apply(routing.state, at: now)
        add(holding.keep(routing.deliveries, by: book))
        for timer in routing.fired { timers.remove(timer) }
        for change in routing.timers {
            switch change {
            case .set(let timer): set(timer)
            case .cancel(let id): timers.remove(id)
            }
        }
        for (loss, keys) in losses { lose(keys, loss) }
    }

    /// Ends the waits of keys that were dropped, or all timers of a rule that was stopped.
    private mutating func lose(_ keys: [StateKey], _ loss: KeyLoss) {
        for key in keys {
            if let kind = key.kind.timer { timers.remove(RuleTimer.ID(rule: loss.rule, kind: kind, key: key.key)) }
        }
        if loss.isStopped { timers.removeAll(of: loss.rule) }
        observer.observe(loss, in: moment)
    }

    private mutating func add(_ made: [Delivery]) {
        deliveries += made
        for case .silenced(let silence) in made.map(\.initial) { silences.count(keptBy: silence) }
    }

    /// Routes events that come from the rules or from a test.
    mutating func route(made first: [Event]) {
        route(
            first.map { event in
                sequence += 1
                return StoredEvent(sequence: sequence, event: event)
            })
    }

    private mutating func route(_ first: [StoredEvent], isForDigests: Bool = true) {
        var stored = first[...]
        if isForDigests { for event in stored { events.keepForDigests(event) } }
        var caused: [Event] = []
        while !stored.isEmpty {
            let since = Dictionary(uniqueKeysWithValues: state.stopped.map { ($0, Int64.max) })
            let matches = book.match(Array(stored.prefix(Self.eventsAtOnce)), since: since)
            for run in matches.runs { events.keep(matches.events[run.place]) }
            let routing = decide(matches)
            for event in matches.events.prefix(routing.routed.count) { observer.observe(event, routing.decisions, in: moment) }
            keep(routing)
            caused += book.events(causedBy: routing, at: now)
            stored.removeFirst(routing.routed.count)
        }
        // Events caused by routing are routed too; the hop count ends the loop.
        if !caused.isEmpty { route(made: caused) }
    }

    /// The most events that are decided together: those that do not fit into a batch are matched again with the next.
    private static var eventsAtOnce: Int { 1000 }

    /// Updates the source's snapshot from the event.
    mutating func remember(_ event: Event) {
        guard book.facts.events[event.type]?.hasTask == true, let task = event.task else { return }
        for scope in book.scopes(of: event.source) {
            if event.type == .taskRemoved {
                tasks.remove(task, event.data[.reason]?.asString.flatMap(RemovalReason.init), from: scope)
            } else {
                tasks.add(task, to: scope)
            }
        }
    }

    /// The least number of events between two calls of `tidy` that look for what is no longer needed.
    private static var eventsBetweenTidying: Int { 1000 }

    /// Forgets state that has ended, and the events and tasks that nothing refers to, once there may be many. The deliveries made until
    /// then have been taken.
    mutating func tidy() {
        // Not too often: each call looks at all of the state.
        guard shown >= nextTidying else { return }
        state.prune(at: now)
        var (places, keys): (Set<Int64>, Set<TaskKey>) = ([], [])
        let all = state.values.all
        nextTidying = shown + max(Self.eventsBetweenTidying, all.count / 4)
        for (key, value) in all where !isOver(value, of: key.rule) {
            if let place = value["event"]?.asInt { places.insert(place) }
            if let task = value["task"]?.asString { keys.insert(TaskKey(task)) }
        }
        for message in holding.messages {
            if let place = message.delivery.keptBack?.event { places.insert(place) }
            if let task = message.delivery.task { keys.insert(task.key) }
        }
        events.forget(except: places, state.values)
        tasks.forget(except: keys)
    }

    /// Whether it is a wait that has run. Then only this fact is still needed, unless `when` reads several events.
    private func isOver(_ value: JSON, of name: String) -> Bool {
        let name = name.hasPrefix("shadow/") ? String(name.dropFirst("shadow/".count)) : name
        return value["ran"] == true && book.rule(named: name)?.time.pattern == nil
    }

    /// How many events, tasks, pieces of state and timers are kept.
    var remembered: (events: Int, tasks: Int, state: Int, timers: Int) {
        (events.byPlace.count, tasks.count, state.count, timers.all.count)
    }
}

extension RuleBook {
    /// The events that a routing causes if all its deliveries succeed: its own, and those that wait for earlier steps.
    public func events(causedBy routing: Routing, at now: Timestamp) -> [Event] {
        routing.events
            + routing.deliveries.compactMap { delivery in
                let emits = facts.actions[delivery.action]?.emitsEvent == true && delivery.initial == .available
                return emits ? delivery.emittedEvent(at: now) : nil
            }
    }

    /// The scopes whose lists of tasks rules read.
    public var listedScopes: Set<Scope.ID> {
        var scopes: Set<Scope.ID> = []
        for rule in compiled {
            scopes.formUnion(scopesRead(by: rule.name))
            if rule.time.hold?.existing == true { scopes.formUnion(rule.scopes) }
        }
        for case .tasks(let group) in facts.readers { scopes.formUnion(group.sources.map(\.scope)) }
        return scopes
    }

    /// The scopes of a source that rules read.
    func scopes(of source: String) -> Set<Scope.ID> {
        var scopes: Set<Scope.ID> = []
        for case .tasks(let group) in facts.readers {
            for member in group.sources where member.name == source { scopes.insert(member.scope) }
        }
        if let scope = facts.scope(of: source) { scopes.insert(scope) }
        return scopes
    }

    /// The times when absences without `after` begin, by source; an empty name means all sources.
    fileprivate func beginnings(of name: String, at start: Timestamp, _ known: [String: Timestamp]?) -> [String: Timestamp] {
        guard let known, let pattern = rule(named: name)?.time.pattern else { return ["": start] }
        let sources = known.filter { pattern.watched.contains($0.key) }.mapValues { max(start, $0) }
        if pattern.isBySource { return sources }
        return sources.values.min().map { ["": $0] } ?? [:]
    }
}
