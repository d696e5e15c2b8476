import BellhopCore
import BellhopTesting
import Testing

/// Pauses of rules and of writes in the store.
@Suite struct `Stored pauses` {
    private func register(_ bench: Bench) async throws -> [String: Int64] {
        try await bench.store.register(
            ["a", "b"].map { RuleRegistration(name: $0, revision: "1", schedule: .init(text: "x", next: bench.after(60))) },
            at: bench.now
        ).since
    }

    @Test(arguments: Benches())
    func `the timers of a paused rule wait, and those of others do not`(_ bench: Bench) async throws {
        _ = try await register(bench)
        #expect(try await bench.store.pause(Pause(.rule("a"), since: bench.now, reason: "x")))
        #expect(try await !bench.store.pause(Pause(.rule("a"), since: bench.after(1), reason: "y")))
        #expect(try await bench.store.pauses() == [Pause(.rule("a"), since: bench.now, reason: "x")])
        #expect(try await bench.store.dueTimers(at: bench.after(61), limit: 9).map(\.id.rule) == ["b"])
        try await bench.store.pause(Pause(.rule("b"), since: bench.now, reason: "x"))
        #expect(try await bench.store.nextTimer() == nil)
        #expect(try await bench.store.resume(.rule("a"), at: bench.now))
        #expect(try await !bench.store.resume(.rule("a"), at: bench.now))
        #expect(try await bench.store.dueTimers(at: bench.after(61), limit: 9).map(\.id.rule) == ["a"])
        #expect(try await bench.store.nextTimer() == bench.after(60))
    }

    @Test(arguments: Benches())
    func `a resumed rule does not see the events that came while it was paused`(_ bench: Bench) async throws {
        #expect(try await register(bench) == ["a": 0, "b": 0])
        try await bench.store.pause(Pause(.rule("a"), since: bench.now, reason: ""))
        try await bench.store.append([Sample.event(1), Sample.event(2)])
        _ = try await bench.store.resume(.rule("a"), at: bench.now)
        #expect(try await register(bench) == ["a": 2, "b": 0])
    }

    @Test(arguments: Benches())
    func `a pause by Bellhop of a rule that is gone is no problem of the status, and holds if the rule comes back`(
        _ bench: Bench
    ) async throws {
        _ = try await register(bench)
        let own = Pause(.rule("a"), since: bench.now, reason: "too many keys", isByPerson: false)
        let byPerson = Pause(.rule("b"), since: bench.now, reason: "noisy")
        for pause in [own, byPerson] { try await bench.store.pause(pause) }
        #expect(try await bench.store.status().pauses == [own, byPerson])
        _ = try await bench.store.register([], at: bench.now)
        #expect(try await bench.store.status().pauses == [byPerson])
        _ = try await register(bench)
        #expect(try await bench.store.status().pauses == [own, byPerson])
        #expect(try await bench.store.pauses() == [own, byPerson])
    }

    @Test(arguments: Benches())
    func `paused writes are neither claimed nor due, and messages go on`(_ bench: Bench) async throws {
        let deliveries = [
            Sample.delivery(1, receiver: "snow", action: "comment"), Sample.delivery(2, receiver: "snow", action: "create"),
            Sample.delivery(3, receiver: "snow", action: "webhook"), Sample.delivery(4, receiver: "ops", action: "notify"),
        ]
        try await bench.enqueue(deliveries)
        try await bench.store.pause(Pause(.writes, since: bench.now, reason: "freeze"))
        let claims = try await bench.claim()
        #expect(Set(claims.map(\.delivery.action)) == ["webhook", "notify"])
        for claim in claims { try await bench.finish(claim, .done(Sample.receipt)) }
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.nextDue(excluding: []) == nil)
        #expect(try await bench.states() == [.available, .available, .done, .done])
        _ = try await bench.store.resume(.writes, at: bench.now)
        #expect(try await bench.store.nextDue(excluding: []) == bench.now)
        #expect(try await bench.claim().map(\.delivery.action).sorted() == ["comment", "create"])
    }
}
