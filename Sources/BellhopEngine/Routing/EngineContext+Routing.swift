public import BellhopCore
public import BellhopRules
import Synchronization

/// Facts from the store for the next batch of timers, read while the batch before it was stored.
///
/// A class over a mutex, because the router and the timers use it: a batch that may change these facts takes or discards them.
final class ReadAhead: Sendable {
    struct Facts: Sendable {
        /// The timers for which they were read. Another timer, such as one that a reload has set, needs newer facts.
        var timers: Set<RuleTimer>
        var facts: RoutingFacts
    }

    private let facts = Mutex<Facts?>(nil)

    func keep(_ new: Facts?) { facts.withLock { $0 = new } }

    /// The facts for a batch of these timers.
    func take(for matches: Matches, by book: RuleBook) -> RoutingFacts? {
        facts.withLock { facts in
            guard let read = facts else { return nil }
            let concernsTimers =
                matches.replay != nil || !matches.timers.isEmpty || matches.events.contains { book.concernsTimers($0.event) }
            if concernsTimers { facts = nil }
            return !matches.timers.isEmpty && matches.timers.allSatisfy(read.timers.contains) ? read.facts : nil
        }
    }
}

/// What a preview has decided so far, and not stored.
private struct Previewed {
    var writes: [StateWrite] = []
    /// The events that were caused, by the places that they would have.
    var events: [Int64: StoredEvent] = [:]
}

extension EngineContext {
    /// The most times that one batch is decided while the state of its rules keeps changing.
    private static let maxDecisions = 5
    /// The most reads of the store for one decision: state, gathered events, their tasks, and the state of the next part.
    private static let maxReads = 20

    /// Loads the facts that a batch needs, decides it, and stores the result (T2); decides it again if the state of its rules has
    /// changed meanwhile. The result is not stored if the batch was routed already, or if its timer or its events have changed. Nothing is
    /// decided if other rules were installed since the batch was matched.
    ///
    /// One batch at a time, of events or of timers: each sees the state that its predecessor left.
    /// - Parameters:
    ///   - earlier: the tasks that the rules must see in an earlier state.
    ///   - next: the batch of timers that probably follows: its facts are read while this one is stored.
    func route(
        _ matches: Matches, by active: RuleShelf.ActiveRules, on shelf: RuleShelf, earlier: EarlierTasks = .none,
        next: Matches? = nil
    ) async throws(StoreError) -> (routing: Routing, isStored: Bool) {
        await routing.enterUncancelled()
        defer { routing.leave() }
        guard shelf.isInForce(active) else { return (Routing(), false) }
        let book = active.book
        let ahead = readAhead.take(for: matches, by: book)
        do throws(StoreError) {
            return try await decideAndStore(
                matches, by: book, on: shelf, earlier: earlier, ahead: earlier.isEmpty ? ahead : nil, next: next)
        } catch {
            // The store may have committed although it reported an error.
            held.forget()
            silences.forget()
            shelf.installAtNextUse()
            throw error
        }
    }

    private func decideAndStore(
        _ matches: Matches, by book: RuleBook, on shelf: RuleShelf, earlier: EarlierTasks, ahead: RoutingFacts?, next: Matches?
    ) async throws(StoreError) -> (routing: Routing, isStored: Bool) {
        var ahead = ahead
        for _ in 1...Self.maxDecisions {
            let routing = try await decide(matches, by: book, earlier: earlier, ahead)
            ahead = nil
            checkpoint(.beforeRoute)
            let (result, facts) = try await commit(routing, readingFor: next, by: book)
            checkpoint(.afterRoute)
            switch result {
            case .conflict(.state): continue
            case .conflict(.silence):
                silences.forget()
                continue
            case .conflict(.timer), .conflict(.events), .alreadyRouted: break
            case .stored, .storedWithKeyLoss:
                held.add(routing.deliveries)
                if !routing.events.isEmpty { bells.router.ring() }
                signal(routing)
                if case .storedWithKeyLoss(let losses) = result {
                    for loss in losses { signals.emit(.keysLost(loss)) }
                    shelf.stop(losses.filter(\.isStopped).map(\.rule))
                }
                if let next, var facts, result == .stored {
                    facts.forget(routing.state.map(\.key))
                    readAhead.keep(ReadAhead.Facts(timers: Set(next.timers), facts: facts))
                }
                return (routing, true)
            }
            return (routing, false)
        }
        throw StoreError(
            .other,
            "A batch of events was decided \(Self.maxDecisions) times, and each time the state of its rules had changed meanwhile."
        )
    }

    /// Stores a batch, and meanwhile reads the facts for the next one.
    private func commit(
        _ routing: Routing, readingFor next: Matches?, by book: RuleBook
    ) async throws(StoreError) -> (RouteResult, RoutingFacts?) {
        guard let next else { return (try await commit(routing), nil) }
        async let facts = read(for: next, by: book)
        return (try await commit(routing), await facts)
    }

    private func commit(_ routing: Routing) async throws(StoreError) -> RouteResult {
        try await store.route(routing) { [bell = bells.dispatcher] in
            if !routing.deliveries.isEmpty { bell.ring() }
        }
    }

    /// The facts for a batch of timers, except the list of all tasks of a source: it is expensive, and perhaps not needed. Nil if the
    /// store fails: the batch itself reads them again, and reports the failure.
    private func read(for matches: Matches, by book: RuleBook) async -> RoutingFacts? {
        var facts = RoutingFacts()
        do {
            try await read(matches.needs, [:], earlier: .none, into: &facts)
            if case .needs(let more) = book.decide(matches, facts, silences: .empty, at: clock.now), more.scopes.isEmpty {
                try await read(more, [:], earlier: .none, into: &facts)
            }
            return facts
        } catch {
            return nil
        }
    }

    /// Decides a batch, and reads further facts from the store as the decision needs them.
    private func decide(
        _ matches: Matches, by book: RuleBook, earlier: EarlierTasks, _ ahead: RoutingFacts?
    ) async throws(StoreError) -> Routing {
        let silenced: SilenceBook = matches.isEmpty ? .empty : try await silences.update(for: book, in: self)
        if !matches.isEmpty { try await held.release(by: book, in: self) }
        return try await decide(matches, by: book, silenced, earlier: earlier, ahead)
    }

    /// Decides what replays would cause now, one after the other, then what the events that they emit would cause, and stores nothing.
    /// - Returns: for each replay its routing, and those of the events that it causes.
    public func preview(_ replays: [Replay], by book: RuleBook) async throws(StoreError) -> [[Routing]] {
        let paused = Set(try await RuleShelf.paused(in: store))
        let silenced = book.silences(try await store.silences(includingEnded: false).map(\.silence))
        let since = Dictionary(uniqueKeysWithValues: paused.map { ($0, Int64.max) })
        var last = try await store.span(of: EventQuery(limit: 1))?.through ?? 0
        var next = replays.enumerated().map { (number: $0, matches: book.match($1, paused: paused)) }
        var (routings, previewed) = (Array(repeating: [Routing](), count: replays.count), Previewed())
        // The hops of the events end the loop.
        while !next.isEmpty {
            let (number, matches) = next.removeFirst()
            let routing = try await decide(matches, by: book, silenced, earlier: .none, after: previewed)
            routings[number].append(routing)
            previewed.writes += routing.state
            for event in book.events(causedBy: routing, at: clock.now) {
                last += 1
                let stored = StoredEvent(sequence: last, event: event)
                previewed.events[last] = stored
                next.append((number, book.match([stored], since: since)))
            }
        }
        return routings
    }

    private func decide(
        _ matches: Matches, by book: RuleBook, _ silenced: SilenceBook, earlier: EarlierTasks, _ ahead: RoutingFacts? = nil,
        after previewed: Previewed = Previewed()
    ) async throws(StoreError) -> Routing {
        var facts = ahead ?? RoutingFacts()
        if ahead == nil {
            try await read(matches.needs, book.waits(endedBy: matches), earlier: earlier, after: previewed, into: &facts)
        }
        for _ in 1..<Self.maxReads {
            switch book.decide(matches, facts, silences: silenced, at: clock.now) {
            case .routing(let routing): return routing
            case .needs(let more): try await read(more, [:], earlier: earlier, after: previewed, into: &facts)
            }
        }
        throw StoreError(.other, "A batch of events needed more than \(Self.maxReads) reads of the store to be decided.")
    }

    private func read(
        _ needs: RoutingNeeds, _ waits: [String: [String]], earlier: EarlierTasks, after previewed: Previewed = Previewed(),
        into facts: inout RoutingFacts
    ) async throws(StoreError) {
        if waits.isEmpty, needs.isEmpty { return }
        var state = needs.state.isEmpty ? [:] : try await store.state(for: Array(needs.state))
        if !waits.isEmpty { state.merge(try await store.waits(for: waits)) }
        state.apply(previewed.writes.filter { needs.state.contains($0.key.at("")) })
        var tasks = needs.scopes.isEmpty ? [:] : try await store.tasks(in: Array(needs.scopes))
        let (stored, remembered) = try await read(needs.events.subtracting(previewed.events.keys), needs.tasks)
        let events = stored + needs.events.compactMap { previewed.events[$0] }
        let earlier = needs.scopes.isEmpty && needs.tasks.isEmpty ? earlier : try await earlier.reloaded()
        for (scope, present) in tasks { tasks[scope] = earlier.list(present, of: scope) }
        var (present, departed): ([Scope.ID: [TaskKey: Snapshot]], [Scope.ID: [TaskKey: Snapshot]]) = ([:], [:])
        for (scope, found) in remembered {
            let tasks = earlier.some(found, of: scope)
            departed[scope] = tasks.filter { $0.value.removed != nil }.mapValues(\.snapshot)
            present[scope] = tasks.filter { $0.value.removed == nil }.mapValues(\.snapshot)
        }
        var digests: [DigestQuery: Digest] = [:]
        for query in needs.digests { digests[query] = try await store.digest(query) }
        facts.add(needs, state: state, tasks: tasks, events: events, present: present, departed: departed, digests: digests)
    }

    typealias Remembered = [Scope.ID: [TaskKey: RememberedTask]]

    /// Reads events and tasks, concurrently if it needs both.
    private func read(
        _ places: Set<Int64>, _ tasks: [Scope.ID: Set<TaskKey>]
    ) async throws(StoreError) -> ([StoredEvent], Remembered) {
        if tasks.isEmpty || places.isEmpty { return (try await events(at: places), try await remembered(tasks)) }
        async let events = result(of: places)
        let remembered = try await remembered(tasks)
        return (try await events.get(), remembered)
    }

    /// The events as a `Result`, because `async let` does not keep the type of the error.
    private func result(of places: Set<Int64>) async -> Result<[StoredEvent], StoreError> {
        do { return .success(try await events(at: places)) } catch { return .failure(error) }
    }

    func events(at places: Set<Int64>) async throws(StoreError) -> [StoredEvent] {
        places.isEmpty ? [] : try await store.events(at: places.sorted())
    }

    func remembered(_ tasks: [Scope.ID: Set<TaskKey>]) async throws(StoreError) -> Remembered {
        var remembered: Remembered = [:]
        for (scope, keys) in tasks { remembered[scope] = try await store.remembered(Array(keys), in: scope) }
        return remembered
    }

    /// Reports a batch that was stored, and wakes the loop of the timers that it has set.
    func report(_ routing: Routing, since started: ContinuousClock.Instant) {
        if !routing.timers.isEmpty { bells.timers.ring() }
        signals.emit(
            .routed(
                events: routing.routed.count, deliveries: routing.deliveries.count, took: ContinuousClock.now - started))
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
