import BellhopCore

extension Poller {
    /// What ends a poll early: the other side or our own store.
    enum Trouble: Error {
        case source(Failure)
        case store(StoreError)
    }

    /// Records a failed poll, and emits an event once enough have failed in a row.
    mutating func note(_ failure: Failure, in memory: inout SourceMemory) async throws(StoreError) {
        let now = surroundings.clock.now
        var health = memory.health
        health.failures += 1
        health.failingSince = health.failingSince ?? now
        health.lastError = failure.message
        var events: [Event] = []
        let isHopeless = failure.remedy == .pauseConnection || failure.remedy == .giveUp
        if !health.announced, health.failures >= plan.failuresToAnnounce || isHopeless {
            health.announced = true
            let since = health.failingSince ?? now
            events.append(event(.sourceFailing(source.name, failure, since: since), fact: since, at: now))
        }
        memory.health = health
        let next = nextPoll(after: failure, failures: health.failures, started: now)
        retryAt = next
        surroundings.signals.emit(.pollFailed(source: source.name, failure: failure, failures: health.failures, next: next))
        var rest: ReceiverRest?
        if case .rest(let wait) = failure.remedy {
            rest = surroundings.rests.recordPoll(wait, of: source.receiver, why: failure.message, at: now)
        }
        try await surroundings.store.setHealth(health, of: source.scope.id, events: events, rest: rest)
        announce(events)
    }

    /// The failure of a poll that is skipped because its connection still rests; nil if it may be polled.
    mutating func restFailure(_ health: SourceHealth) -> Failure? {
        let now = surroundings.clock.now
        guard let until = surroundings.rests.until(source.receiver, at: now) else { return nil }
        retryAt = until
        return Failure(
            .throttled, .rest(until - now),
            surroundings.rests.latest(of: source.receiver)?.why ?? "The source asked for no requests until \(until).")
    }

    /// Records that polls work again, if they failed before, and that an empty list is still empty.
    mutating func recover(_ memory: inout SourceMemory, began: Timestamp) async throws(Trouble) {
        let before = memory.health
        let health = SourceHealth(lastSuccess: began, emptyBaseline: provisional(memory, isStillEmpty: true, at: began))
        memory.health = health
        emitRecovery(from: before, to: health)
        guard before.failures > 0 || before.emptyBaseline != health.emptyBaseline else { return }
        let events = before.announced ? [recovered(before, at: surroundings.clock.now)] : []
        try await storing { store throws(StoreError) in
            try await store.setHealth(health, of: self.source.scope.id, events: events, rest: nil)
        }
        announce(events)
    }

    /// Reports that polls work again, even after few failures.
    func emitRecovery(from before: SourceHealth, to health: SourceHealth) {
        guard before.failures > 0 || before.held != nil && health.held == nil else { return }
        surroundings.signals.emit(.recovered(source: source.name, failures: before.failures, since: before.failingSince))
    }

    /// The empty first list that is provisional after this poll; nil if there is none.
    func provisional(_ memory: SourceMemory, isStillEmpty: Bool, at began: Timestamp) -> EmptyBaseline? {
        guard isStillEmpty, plan.storms.mayHold, !plan.emitsInitial, source.shows == .tasks else { return nil }
        if !memory.hasBaseline { return EmptyBaseline(since: began) }
        return memory.health.emptyBaseline.flatMap { $0.isConfirmed(at: began) ? nil : $0 }
    }

    /// Holds a result until a later poll shows the same. Emits an event for the first of a row of held results, and once more
    /// when the fields that changed in many tasks are known.
    mutating func hold(_ held: HeldResult, _ memory: inout SourceMemory) async throws(Trouble) -> PollOutcome {
        let now = surroundings.clock.now
        // Nothing was taken from it, so the latest success is unchanged.
        let health = SourceHealth(
            lastSuccess: memory.health.lastSuccess, held: held, emptyBaseline: memory.health.emptyBaseline)
        let before = memory.health.held
        var events: [Event] = []
        if before == nil || !held.fields.isEmpty && before?.fields.isEmpty == true {
            events.append(event(.sourceHeld(source.name, held), fact: now, at: now))
        }
        if memory.health.announced { events.append(recovered(memory.health, at: now)) }
        let kept = events
        try await storing { store throws(StoreError) in
            try await store.setHealth(health, of: self.source.scope.id, events: kept, rest: nil)
        }
        memory.health = health
        surroundings.signals.emit(.pollHeld(source: source.name, held))
        announce(events)
        return .held
    }

    func recovered(_ health: SourceHealth, at now: Timestamp) -> Event {
        let since = health.failingSince ?? now
        return event(
            .sourceRecovered(source.name, error: health.lastError ?? "", since: since), fact: since, at: now)
    }

    /// - Parameter fact: the time that distinguishes it from earlier events of its type.
    private func event(_ content: EventContent, fact: Timestamp, at now: Timestamp) -> Event {
        Event(
            content, facts: source.name, source.scope.id.text, String(fact.microseconds), source: source.name,
            subject: "source/\(source.name)", at: now)
    }

    /// Emits a notice about details, once while it stays the same apart from its numbers.
    mutating func emitNotice(_ notice: String?) {
        let gist = notice.map(Self.gist)
        if let notice, gist != toldNotice { surroundings.signals.emit(.notice(source: source.name, text: notice)) }
        toldNotice = gist
    }

    /// The same for a listing's notices. A partial listing that omits a notice does not retract it.
    mutating func emitNotices(_ notices: [String], isWhole: Bool) {
        for notice in notices where !toldOfLists.contains(Self.gist(notice)) {
            surroundings.signals.emit(.notice(source: source.name, text: notice))
        }
        if isWhole { toldOfLists.removeAll() }
        toldOfLists.formUnion(notices.map(Self.gist))
    }

    private static func gist(_ notice: String) -> String { notice.filter { !$0.isNumber } }

    func announce(_ events: [Event]) {
        for event in events { surroundings.signals.emit(.event(event)) }
        if !events.isEmpty { surroundings.bells.router.ring() }
    }

    func asking<Value>(
        _ ask: (any Source) async throws(Failure) -> Value
    ) async throws(Trouble) -> Value {
        do throws(Failure) { return try await ask(source) } catch { throw .source(error) }
    }

    func storing<Value>(
        _ keep: (any Store) async throws(StoreError) -> Value
    ) async throws(Trouble) -> Value {
        do throws(StoreError) { return try await keep(surroundings.store) } catch { throw .store(error) }
    }
}
