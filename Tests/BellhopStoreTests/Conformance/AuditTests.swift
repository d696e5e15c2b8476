import BellhopCore
import Testing

@Suite struct `Stored audit` {
    private static let ann = Person(user: "ann", host: "desk", command: "test")

    private static func entries(_ bench: Bench) async throws -> [JSON] {
        try await bench.store.audit(AuditQuery(after: 0)).map { try JSON.parse(Array($0.entry.utf8)) }
    }

    private static func verify(_ bench: Bench) async throws {
        var verifier = AuditVerifier()
        for row in try await bench.store.audit(AuditQuery()) { try verifier.check(row) }
        try verifier.end()
    }

    @Test(arguments: Benches())
    func `each ended attempt is one audit row with its receiver and its outcome`(_ bench: Bench) async throws {
        let nexts: [RetryPolicy.Next] = [
            .done(Receipt("201, work note")), .retry(at: bench.after(5), Sample.failure), .postponed(Sample.failure),
            .paused(Sample.failure, until: bench.after(5)), .dead(Sample.failure), .held(Sample.failure),
        ]
        try await bench.enqueue((1...7).map { Sample.delivery($0, receiver: "\($0)", action: "comment") })
        let claims = try await bench.claim()
        for (claim, next) in zip(claims, nexts) {
            #expect(try await bench.finish(claim, next))
            #expect(try await !bench.finish(claim, next))
        }
        try await bench.store.start(.only, at: bench.now)
        let rows = try await Self.entries(bench)
        #expect(rows.map { $0["outcome"]?.asString } == ["done", "retry", "postponed", "paused", "dead", "held", "interrupted"])
        #expect(rows.map { $0["to"]?.asString } == (1...7).map { "\($0)" })
        #expect(rows.allSatisfy { $0["attempt"] == 1 && $0["action"] == "comment" && $0["kind"] == "attempt" })
        #expect(rows[0]["delivery"]?.asString == claims[0].delivery.id.text)
        #expect(rows[0]["detail"] == "201, work note")
        try await Self.verify(bench)
    }

    @Test(arguments: Benches())
    func `each act of a person that changes something is one audit row with the person, the host and the time`(
        _ bench: Bench
    ) async throws {
        let store = try bench.store
        let silence = Silence(starts: bench.now, ends: bench.after(600), reason: "x", by: "ann").identified
        let deliveries = (1...3).map { Sample.delivery($0) }
        try await store.route(Routing(deliveries: deliveries))
        try await bench.finish(try await bench.claim(1)[0], .dead(Sample.failure))
        let pause = ReceiverPause(ReceiverStop(receiver: "ops", cause: .person, since: bench.now, until: nil, reason: "w"))
        try await Person.$current.withValue(Self.ann) {
            // Each twice: the second time nothing changes.
            for _ in 1...2 {
                try await store.apply(.retry, to: [deliveries[0].id], at: bench.now)
                try await store.apply(.drop, to: [deliveries[1].id], at: bench.now)
                _ = try await store.register([RuleRegistration(name: "a", revision: "1")], at: bench.now)
                try await store.pause(Pause(.rule("a"), since: bench.now, reason: "noisy"))
                try await store.pause(pause)
                try await store.add(silence, at: bench.now)
            }
            for _ in 1...2 {
                try await store.resume(.rule("a"), at: bench.now)
                try await store.resume(receiver: "ops", at: bench.now)
                _ = try await store.endSilence(silence.id, at: bench.now)
                _ = try await store.register([RuleRegistration(name: "b", revision: "1")], at: bench.now)
            }
            _ = try await store.forget(NamedTask(subject: "test/x", key: "x", number: "", title: ""), at: bench.now)
        }
        let acts = try await Self.entries(bench).filter { $0["kind"] == "act" }
        #expect(
            acts.map { $0["act"]?.asString } == [
                "retry", "drop", "reload", "pause", "pause", "silence add", "retry", "resume", "resume", "silence end", "reload",
                "forget",
            ])
        #expect(acts.allSatisfy { $0["by"] == Self.ann.json && $0["time"]?.asString == bench.now.rfc3339 })
        #expect(try await bench.store.audit(AuditQuery(onlyActs: true)).count == acts.count)
        #expect(acts[10]["added"] == ["b"])
        #expect(acts[10]["removed"] == ["a"])
        try await Self.verify(bench)
    }

    @Test(arguments: Benches())
    func `the oldest rows are pruned, and the chain still verifies`(_ bench: Bench) async throws {
        let retention = Retention(audit: .seconds(100))
        func reload(_ revisions: ClosedRange<Int>) async throws {
            for revision in revisions {
                _ = try await bench.store.register([RuleRegistration(name: "a", revision: "\(revision)")], at: bench.now)
            }
        }
        try await reload(1...1500)
        let checkpoint = try await bench.store.audit(AuditQuery(isLast: true))
        #expect(checkpoint.map(\.number) == [1500])
        await bench.clock.pass(50)
        try await reload(1501...1503)
        #expect(try await bench.store.prune(retention, at: bench.after(50)) == 0)
        #expect(try await bench.store.prune(retention, at: bench.after(51)) == 1500)
        let rows = try await bench.store.audit(AuditQuery())
        #expect(rows.map(\.number) == [1500, 1501, 1502, 1503, 1504, 1505])
        #expect(rows.map(\.isAnchor) == [true, false, false, false, false, false])
        try await Self.verify(bench)
        // New rows continue the chain; the last row always stays.
        try await reload(1504...1504)
        _ = try await bench.store.prune(retention, at: bench.after(9000))
        _ = try await bench.store.prune(retention, at: bench.after(99000))
        try await Self.verify(bench)
        #expect(try await bench.store.audit(AuditQuery(isLast: true))[0].number >= 1506)
    }

    @Test(arguments: Benches())
    func `audit rows are found by time, by number and up to a limit`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "a", revision: "1")], at: bench.now)
        _ = try await bench.store.register([RuleRegistration(name: "a", revision: "2")], at: bench.after(60))
        let rows = try await bench.store.audit(AuditQuery(since: bench.after(1)))
        #expect(rows.map(\.number) == [2])
        #expect(try await bench.store.audit(AuditQuery(after: 0, limit: 1)).map(\.number) == [1])
    }

    @Test(arguments: Benches())
    func `audit rows are found by time although the clock was wrong meanwhile`(_ bench: Bench) async throws {
        var revision = 0
        func reload(_ count: Int, at time: Timestamp) async throws {
            for _ in 0..<count {
                revision += 1
                _ = try await bench.store.register([RuleRegistration(name: "a", revision: "\(revision)")], at: time)
            }
        }
        try await reload(1100, at: bench.after(-900_000))
        try await reload(500, at: bench.after(60))
        // Without a clock of its own, a machine starts in 1970.
        try await reload(50, at: Timestamp(seconds: 9))
        // Set back by an hour.
        try await reload(600, at: bench.after(-3540))
        try await reload(1, at: bench.after(70))
        let rows = try await bench.store.audit(AuditQuery(since: bench.now))
        #expect(rows.map(\.number) == Array(1101...1600) + [2251])
        #expect(try await bench.store.audit(AuditQuery(since: bench.after(71))).isEmpty)
        #expect(try await bench.store.audit(AuditQuery(since: .distantPast)).count == 2252)
    }

    @Test(arguments: Benches())
    func `audit rows from a time when the clock was ahead do not keep the old rows after them`(_ bench: Bench) async throws {
        for (revision, seconds) in [9_000_000, 0, 9_000_000, 50].enumerated() {
            _ = try await bench.store.register([RuleRegistration(name: "a", revision: "\(revision)")], at: bench.after(seconds))
        }
        #expect(try await bench.store.prune(Retention(audit: .seconds(100)), at: bench.after(120)) == 2)
        #expect(try await bench.store.audit(AuditQuery()).map(\.number) == [2, 3, 4, 5])
        try await Self.verify(bench)
    }

    /// Each: the row, the audit, the lane, its followers. All: `BEGIN`, the end of the audit, `COMMIT`.
    @Test(arguments: [1, 2, 5])
    func `storing an outcome takes four statements, and its transaction three more`(
        _ deliveries: Int
    ) async throws {
        let bench = Bench(.inMemory)
        try await bench.enqueue((1...deliveries).map { Sample.delivery($0) })
        let finishes = try await bench.claim().map { claim in
            Finish(claim, at: bench.now, next: .done(Sample.receipt))
        }
        let (kept, count) = try await bench.failingEachStatement { try await bench.store.finish(finishes) }
        #expect(kept == finishes.map { _ in true } && count == 4 * deliveries + 3)
    }
}
