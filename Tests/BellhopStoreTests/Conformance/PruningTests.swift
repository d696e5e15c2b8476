import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Pruning` {
    private let retention = Retention(events: .seconds(100), deliveries: .seconds(100), forgotten: .seconds(1000))

    @Test(arguments: Benches())
    func `old events are deleted, except unrouted ones and the newest`(_ bench: Bench) async throws {
        try await bench.store.append((1...2500).map { Sample.event($0) } + [Sample.event(9999, at: bench.after(101))])
        let unrouted: Set<Int64> = [7, 1999]
        try await bench.store.route(Routing(routed: (1...2501).filter { !unrouted.contains($0) }))
        #expect(try await bench.store.prune(retention, at: bench.after(100)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(101)) == 2498)
        #expect(try await bench.store.events(EventQuery()).map(\.sequence) == [7, 1999, 2501])
        // The newest is kept whatever its age, so that no sequence is used twice.
        #expect(try await bench.store.prune(retention, at: bench.after(9999)) == 0)
        try await bench.store.append([Sample.event(10_000)])
        #expect(try await bench.store.events(EventQuery(limit: 1)).map(\.sequence) == [2502])
    }

    @Test(arguments: Benches())
    func `a stop ends the deletion between two steps, and the next one goes on`(_ bench: Bench) async throws {
        let (store, retention, now) = (try bench.store, retention, bench.after(101))
        try await store.append((1...2500).map { Sample.event($0) } + [Sample.event(9999, at: now)])
        try await store.route(Routing(routed: Array(1...2501)))
        let stopped = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await store.prune(retention, at: now)
        }
        stopped.cancel()
        #expect(try await stopped.value == 0)
        #expect(try await store.prune(retention, at: now) == 2500)
    }

    @Test(arguments: Benches())
    func `events that a digest has not shown yet are kept, unless they are stale`(_ bench: Bench) async throws {
        let digest = RuleRegistration(name: "digest", revision: "1", readsEvents: true)
        try await bench.store.append((1...3).map { Sample.event($0) })
        _ = try await bench.store.register([digest, RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        try await bench.store.append((4...6).map { Sample.event($0) } + [Sample.event(9999, at: bench.after(2000))])
        try await bench.store.route(Routing(routed: Array(1...7)))
        #expect(try await bench.store.prune(retention, at: bench.after(500)) == 2)
        #expect(try await bench.store.events(EventQuery()).map(\.sequence) == [3, 4, 5, 6, 7])
        // The digest has shown the events up to the fifth.
        let key = StateKey(rule: "digest", kind: .digest, key: "")
        try await bench.store.route(
            Routing(state: [StateWrite(key, .set(["event": 5], expires: nil), expecting: .value(["event": 3]))]))
        #expect(try await bench.store.prune(retention, at: bench.after(500)) == 2)
        #expect(try await bench.store.events(EventQuery()).map(\.sequence) == [5, 6, 7])
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 1)
        #expect(try await bench.store.events(EventQuery()).map(\.sequence) == [5, 7])
        // A rule that no longer reads events keeps none.
        _ = try await bench.store.register([RuleRegistration(name: "digest", revision: "2")], at: bench.now)
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 1)
    }

    @Test(arguments: Benches())
    func `old ended deliveries are deleted, except held ones`(_ bench: Bench) async throws {
        try await bench.enqueue((1...5).map { Sample.delivery($0) } + [Sample.delivery(6, initial: .shadow)])
        let claims = try await bench.claim(4)
        try await bench.finish(claims[0], .done(Sample.receipt))
        try await bench.finish(claims[1], .dead(Sample.failure))
        try await bench.finish(claims[2], .held(Sample.failure))
        #expect(try await bench.store.prune(retention, at: bench.after(100)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(101)) == 3)
        #expect(try await bench.states() == [.held, .running, .available])
    }

    @Test(arguments: Benches())
    func `pruning a delivery removes its note and keeps other notes`(_ bench: Bench) async throws {
        let deliveries = (1...2).map { Sample.delivery($0) }
        try await bench.enqueue(deliveries)
        for delivery in deliveries { try await bench.store.setNote(Delivery.notePrefix + delivery.id.text, to: ["refusals": 1]) }
        try await bench.store.setNote("unproved", to: 1)
        try await bench.finish(bench.claim(1)[0], .done(Sample.receipt))
        #expect(try await bench.store.prune(retention, at: bench.after(101)) == 2)
        #expect(try await bench.store.note(Delivery.notePrefix + deliveries[0].id.text) == nil)
        #expect(try await bench.store.note(Delivery.notePrefix + deliveries[1].id.text) == ["refusals": 1])
        #expect(try await bench.store.note("unproved") == 1)
    }

    @Test(arguments: Benches())
    func `removed tasks, expired state and unused scopes are deleted in time`(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        var first = Sample.poll([1, 2])
        first.events = []
        _ = try await bench.store.commit(first)
        _ = try await bench.store.commit(Sample.poll([], removing: [1], turn: 1))
        let once = StateKey(rule: "rule", kind: .once, key: "a")
        let throttle = StateKey(rule: "rule", kind: .throttle, key: "a")
        try await bench.store.route(
            Routing(state: [
                StateWrite(once, .set(true, expires: nil)), StateWrite(throttle, .set(true, expires: bench.now - .seconds(3590))),
            ]))
        // It expired less than an hour ago: the clock may be set back.
        #expect(try await bench.store.prune(retention, at: bench.after(10)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(11)) == 1)
        #expect(try await bench.store.state(for: [once, throttle]) == [once: true])
        #expect(try await bench.store.remembered([Sample.key(1)], in: Sample.scope.id).count == 1)
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 1)
        #expect(try await bench.store.remembered([Sample.key(1)], in: Sample.scope.id).isEmpty)
        // This process has opened the scope: a jump of the clock deletes nothing of a source that is polled.
        #expect(try await bench.store.prune(retention, at: bench.after(999_999)) == 0)
        #expect(try await bench.store.commit(Sample.poll([3], turn: 2)) != .superseded)
        try bench.tested.forgetOpenScopes()
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 3)  // the scope and its tasks
        #expect(try await bench.store.status().sources.isEmpty)
    }

    @Test(arguments: Benches())
    func `the keys of once of a removed rule stay as long as a removed task, and for good if the rule is added again`(
        _ bench: Bench
    ) async throws {
        let rules = ["gone", "back", "kept"].map { RuleRegistration(name: $0, revision: "1") }
        _ = try await bench.store.register(rules, at: bench.now)
        let keys = ["gone", "shadow/gone", "back", "shadow/back", "kept"].map { StateKey(rule: $0, kind: .once, key: "a") }
        try await bench.store.route(Routing(state: keys.map { StateWrite($0, .set(true, expires: nil)) }))
        _ = try await bench.store.register([rules[2]], at: bench.after(5))
        #expect(try await bench.store.prune(retention, at: bench.after(2000)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(2999)) == 0)
        _ = try await bench.store.register([rules[1], rules[2]], at: bench.after(2999))
        #expect(try await bench.store.prune(retention, at: bench.after(3001 + 3600)) == 2)
        let left = try await bench.store.state(for: keys)
        #expect(Set(left.all.map(\.key)) == Set(keys[2...]))
        #expect(try await bench.store.prune(retention, at: bench.after(99_999)) == 0)
    }

    @Test(arguments: Benches())
    func `expired state stays until the events and the timers of the time before are decided`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        let counted = StateKey(rule: "rule", kind: .count, key: "a")
        let timer = RuleTimer(RuleTimer.ID(rule: "rule", kind: .hold, key: "a"), due: bench.after(5))
        try await bench.store.append([Sample.event(1)])
        try await bench.store.route(
            Routing(state: [StateWrite(counted, .set(true, expires: bench.after(10)))], timers: [.set(timer)]))
        // As after an agent that was killed before it routed the event, and did not run for an hour.
        #expect(try await bench.store.prune(Retention(), at: bench.after(3660)) == 0)
        try await bench.store.route(Routing(routed: [1]))
        #expect(try await bench.store.prune(Retention(), at: bench.after(3660)) == 0)
        try await bench.store.route(Routing(fired: [timer]))
        #expect(try await bench.store.prune(Retention(), at: bench.after(3660)) == 1)
    }

    @Test(arguments: Benches())
    func `the timers of a paused rule do not keep the state of others`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        let throttle = StateKey(rule: "other", kind: .throttle, key: "a")
        let timer = RuleTimer(RuleTimer.ID(rule: "rule", kind: .hold, key: "a"), due: bench.after(5))
        try await bench.store.route(
            Routing(state: [StateWrite(throttle, .set(true, expires: bench.after(10)))], timers: [.set(timer)]))
        _ = try await bench.store.pause(Pause(.rule("rule"), since: bench.now, reason: ""))
        #expect(try await bench.store.prune(Retention(), at: bench.after(3660)) == 1)
    }

    /// Otherwise it would come back as new: with the id of an old event, and with the names of old deliveries, which are not made twice.
    @Test(
        arguments: StoreUnderTest.allCases,
        [
            Retention(events: .seconds(1000), deliveries: .seconds(100), forgotten: .seconds(100)),
            Retention(events: .seconds(100), deliveries: .seconds(1000), forgotten: .seconds(100)),
        ])
    func `a removed task is remembered as long as its events and deliveries are kept`(
        _ kind: StoreUnderTest, _ retention: Retention
    ) async throws {
        let bench = Bench(kind)
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([], removing: [1]))
        #expect(try await bench.store.prune(retention, at: bench.after(1000)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 1)
    }

    @Test(arguments: Benches())
    func `many rows from when the clock was ahead do not protect old rows after them from pruning`(_ bench: Bench) async throws {
        let ahead = bench.after(99_999)
        func deliveries(_ numbers: ClosedRange<Int>, at time: Timestamp) -> [Delivery] {
            numbers.map { Sample.delivery($0, at: time, initial: .shadow) }
        }
        try await bench.store.append((1...1100).map { Sample.event($0, at: ahead) })
        try await bench.store.append((1101...1110).map { Sample.event($0) })
        try await bench.store.append([Sample.event(9999, at: bench.after(101))])
        try await bench.store.route(
            Routing(
                routed: Array(1...1111),
                deliveries: deliveries(1...1100, at: ahead) + deliveries(1101...1103, at: bench.now)))
        #expect(try await bench.store.prune(retention, at: bench.after(101)) == 13)
        let status = try await bench.store.status()
        #expect(status.events == 1101)
        #expect(status.deliveries == [.shadow: 1100])
    }

    @Test(arguments: Benches())
    func `a removed task is remembered as long as a rule waits for it`(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([], removing: [1]))
        let wait = StateKey(rule: "rule", kind: .hold, key: "a")
        try await bench.store.route(
            Routing(state: [StateWrite(wait, .set(["subject": .string(Sample.subject(1))], expires: nil))]))
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 0)
        try await bench.store.route(Routing(state: [StateWrite(wait, .delete)]))
        #expect(try await bench.store.prune(retention, at: bench.after(1001)) == 1)
    }
}
