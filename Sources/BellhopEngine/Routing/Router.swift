public import BellhopCore
public import BellhopRules
import BellhopTelemetry

/// Takes events from the bus through the rules to deliveries, a batch in one transaction.
public struct Router: Sendable {
    private let surroundings: Surroundings
    private let shelf: RuleShelf
    private let batch: Int
    private let timers: TimerLoop?

    /// - Parameters:
    ///   - timers: those that come due before the events of a later time.
    ///   - batch: the most events that one transaction routes.
    public init(_ surroundings: Surroundings, shelf: RuleShelf, timers: TimerLoop? = nil, batch: Int = 1000) {
        self.surroundings = surroundings
        self.shelf = shelf
        self.timers = timers
        self.batch = batch
    }

    /// Routes until the bus is empty, then waits for the bell; returns when cancelled.
    public func run() async {
        while !Task.isCancelled {
            do {
                try await routePending()
                if !surroundings.unstored.isEmpty {
                    try await surroundings.storeEvents()
                    continue
                }
                surroundings.turns.end(.router)
                await surroundings.bells.router.wait(until: nil, on: surroundings.clock)
            } catch {
                surroundings.report(error, doing: "routing")
                guard await surroundings.pauseAfterStoreError() else { return }
            }
        }
    }

    /// Routes all waiting events and returns their number.
    @discardableResult
    public func routePending() async throws(StoreError) -> Int {
        var routed = 0
        var size = batch
        while !Task.isCancelled, let shelved = try await shelf.current(in: surroundings) {
            surroundings.turns.begin(.router, at: surroundings.clock.elapsed)
            let first = try await surroundings.store.unrouted(limit: size)
            if first.isEmpty { break }
            var next: NextEvents?
            if let timers { next = try await timers.next(of: first, by: shelved.book) }
            // Timers that fired may have made events that come first.
            guard let next = timers == nil ? NextEvents(of: first, in: first, \.time) : next else { continue }
            let count = try await route(next, by: shelved)
            // After a batch too large for one transaction, use a smaller one, so that little is read and matched twice.
            size = count < next.events.count ? count : min(size * 2, batch)
            routed += count
        }
        return try await routed + routeReplays()
    }

    /// Routes the events that people had routed again; returns how many.
    private func routeReplays() async throws(StoreError) -> Int {
        var routed = 0
        while !Task.isCancelled, let shelved = try await shelf.current(in: surroundings) {
            let replays = try await surroundings.store.replays(limit: Self.replaysAtOnce)
            if replays.isEmpty { break }
            surroundings.turns.begin(.router, at: surroundings.clock.elapsed)
            let paused = Set(shelved.since.filter { $0.value == .max }.keys)
            for replay in replays {
                let (routing, isStored) = try await surroundings.route(
                    shelved.book.match(replay, paused: paused), by: shelved.book, on: shelf)
                if isStored, !routing.timers.isEmpty { surroundings.bells.timers.ring() }
                routed += 1
            }
        }
        return routed
    }

    private static let replaysAtOnce = 100

    /// Routes these events, or only the first ones if all of them cause too much for one transaction; returns how many.
    func route(_ next: NextEvents, by shelved: RuleShelf.Shelved) async throws(StoreError) -> Int {
        let (began, started) = (surroundings.clock.now, ContinuousClock.now)
        let events = next.events
        let (routing, isStored) = try await surroundings.route(
            shelved.book.match(events, since: shelved.since), by: shelved.book, on: shelf,
            earlier: EarlierTasks(before: next.later, by: shelved.book))
        if isStored {
            if !routing.timers.isEmpty { surroundings.bells.timers.ring() }
            surroundings.signals.emit(
                .routed(
                    events: routing.routed.count, deliveries: routing.deliveries.count, took: ContinuousClock.now - started))
            if let tracer = surroundings.tracer {
                tracer.routed(
                    events.prefix(routing.routed.count).map(\.event.id),
                    deliveries: routing.deliveries.reduce(into: [:]) { counts, delivery in
                        if let event = delivery.id.occasion.event { counts[event, default: 0] += 1 }
                    }, from: began, to: surroundings.clock.now)
            }
        }
        return routing.routed.count
    }
}

extension Surroundings {
    /// The most times that one batch is decided if the state of its rules keeps changing meanwhile.
    private static let mostDecisions = 5
    /// The most times that more is read for one decision: state, gathered events, their tasks, and the state of the next part.
    private static let mostReads = 20

    /// Loads what a batch needs, decides it, and stores the result (T2); decides it again if the state of its rules has changed
    /// meanwhile. Not stored is what was routed already, or refused because a timer has moved.
    ///
    /// One batch at a time, of events or of timers: each sees the windows that the one before left.
    /// - Parameter earlier: tasks that are to be seen as they were earlier.
    func route(
        _ matches: Matches, by book: RuleBook, on shelf: RuleShelf, earlier: EarlierTasks = .none
    ) async throws(StoreError) -> (routing: Routing, isStored: Bool) {
        await routing.enterUncancelled()
        defer { routing.leave() }
        do throws(StoreError) {
            return try await decideAndStore(matches, by: book, on: shelf, earlier: earlier)
        } catch {
            // It may have been stored all the same.
            held.forget()
            silences.forget()
            shelf.forgetPauses()
            throw error
        }
    }

    private func decideAndStore(
        _ matches: Matches, by book: RuleBook, on shelf: RuleShelf, earlier: EarlierTasks
    ) async throws(StoreError) -> (routing: Routing, isStored: Bool) {
        for _ in 1...Self.mostDecisions {
            let routing = try await decide(matches, by: book, earlier: earlier)
            checkpoint(.beforeRoute)
            let result = try await store.route(routing) { [bell = bells.dispatcher] in
                if !routing.deliveries.isEmpty { bell.ring() }
            }
            checkpoint(.afterRoute)
            switch result {
            case .conflict(.state): continue
            case .conflict(.silence):
                silences.forget()
                continue
            case .conflict(.timer), .conflict(.events), .alreadyRouted: break
            case .stored, .storedLosing:
                held.add(routing.deliveries)
                if !routing.events.isEmpty { bells.router.ring() }
                signal(routing)
                if case .storedLosing(let losses) = result {
                    for loss in losses { signals.emit(.keysLost(loss)) }
                    shelf.stop(losses.filter(\.isStopped).map(\.rule))
                }
                return (routing, true)
            }
            return (routing, false)
        }
        throw StoreError(
            .other,
            "Each of the \(Self.mostDecisions) times a batch of events was decided, the state of its rules had changed meanwhile."
        )
    }

    /// Decides a batch, and reads what turns out to be needed meanwhile.
    private func decide(
        _ matches: Matches, by book: RuleBook, earlier: EarlierTasks
    ) async throws(StoreError) -> Routing {
        let silenced: SilenceBook = matches.isEmpty ? .empty : try await silences.turn(for: book, in: self)
        if !matches.isEmpty { try await held.release(by: book, in: self) }
        return try await decide(matches, by: book, silenced, earlier: earlier)
    }

    /// What a replay would cause now; nothing is stored.
    public func preview(_ replay: Replay, by book: RuleBook) async throws(StoreError) -> Routing {
        let paused = try await store.pauses().compactMap { if case .rule(let name) = $0.subject { name } else { nil } }
        let silenced = book.silences(try await store.silences().filter { $0.ended == nil }.map(\.silence))
        return try await decide(book.match(replay, paused: Set(paused)), by: book, silenced, earlier: .none)
    }

    private func decide(
        _ matches: Matches, by book: RuleBook, _ silenced: SilenceBook, earlier: EarlierTasks
    ) async throws(StoreError) -> Routing {
        var facts = RoutingFacts()
        var needs = matches.needs
        var waits = book.waits(endedBy: matches)
        for _ in 1...Self.mostReads {
            try await read(needs, waits, earlier: earlier, into: &facts)
            waits = []
            switch book.decide(matches, facts, silences: silenced, at: clock.now) {
            case .routing(let routing): return routing
            case .needs(let more): needs = more
            }
        }
        throw StoreError(.other, "A batch of events needed more than \(Self.mostReads) reads of the store to be decided.")
    }

    private func read(
        _ needs: RoutingNeeds, _ waits: [StateKey], earlier: EarlierTasks, into facts: inout RoutingFacts
    ) async throws(StoreError) {
        let keys = waits + needs.state
        if keys.isEmpty, needs.isEmpty { return }
        let state = keys.isEmpty ? [:] : try await store.state(for: keys)
        var tasks = needs.scopes.isEmpty ? [:] : try await store.tasks(in: Array(needs.scopes))
        for (scope, present) in tasks { tasks[scope] = earlier.list(present, of: scope) }
        let events = needs.events.isEmpty ? [] : try await store.events(at: needs.events.sorted())
        var (present, departed): ([Scope.ID: [TaskKey: Snapshot]], [Scope.ID: [TaskKey: Snapshot]]) = ([:], [:])
        for (scope, keys) in needs.tasks {
            let remembered = earlier.some(try await store.remembered(Array(keys), in: scope), of: scope)
            departed[scope] = remembered.filter { $0.value.removed != nil }.mapValues(\.snapshot)
            present[scope] = remembered.filter { $0.value.removed == nil }.mapValues(\.snapshot)
        }
        var digests: [DigestQuery: Digest] = [:]
        for query in needs.digests { digests[query] = try await store.digest(query) }
        facts.add(
            needs, state: state, tasks: tasks, events: events, present: present, departed: departed, digests: digests)
    }

    private func signal(_ routing: Routing) {
        for tally in routing.tallies where tally.errors > 0 {
            signals.emit(.ruleFailed(rule: tally.rule, error: tally.lastError ?? "", times: tally.errors))
        }
        for delivery in routing.deliveries {
            switch delivery.initial {
            case .available: break
            case .shadow: signals.emit(.shadowed(delivery))
            case .done(let receipt): signals.emit(.delivered(delivery, receipt, attempt: 0, took: .zero))
            case .silenced(let silence): signals.emit(.silenced(delivery, silence: silence))
            case .quiet:
                signals.emit(.quiet(delivery, until: delivery.runAt))
                bells.timers.ring()
            case .dropped(let failure): signals.emit(.dropped(delivery, failure))
            case .dead(let failure): signals.emit(.dead(delivery, failure))
            }
        }
    }
}
