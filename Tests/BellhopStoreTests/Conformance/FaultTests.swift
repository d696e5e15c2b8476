import BellhopCore
import BellhopTesting
import Testing

/// A method of the store with the rows that it needs.
struct Operation: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var prepare: @Sendable (Bench) async throws -> Void = { _ in }
    var run: @Sendable (Bench) async throws -> Void

    /// Every writing method except `prune`, which uses several transactions.
    static let all: [Operation] = [
        Operation(testDescription: "open", run: { _ = try await $0.store.open(Sample.scope, source: "tasks", at: $0.now) }),
        Operation(
            testDescription: "commit", prepare: removing,
            run: { _ = try await $0.store.commit(Sample.poll([1, 4, 5], removing: [2], turn: 2)) }),
        Operation(
            testDescription: "setHealth", prepare: opened,
            run: {
                let health = SourceHealth(failures: 1)
                try await $0.store.setHealth(health, of: Sample.scope.id, events: [Sample.event(1), Sample.event(2)], rest: nil)
            }),
        Operation(testDescription: "append", run: { try await $0.store.append([Sample.event(1), Sample.event(2)]) }),
        Operation(
            testDescription: "route",
            prepare: { bench in
                _ = try await bench.store.register(rules, at: bench.now)
                try await bench.store.append((1...5).map { Sample.event($0) })
            },
            run: { bench in
                try await bench.store.route(
                    Routing(
                        routed: [1, 2, 4], deliveries: [Sample.delivery(1), Sample.delivery(2)],
                        state: [StateWrite(StateKey(rule: "a", kind: .once, key: "k"), .set(true, expires: nil))],
                        events: [Sample.event(9)], tallies: [RuleTally(rule: "a", runs: 1, errors: 0, at: bench.now)],
                        decisions: [1, 2, Int64(DecisionRecord.most) + 1].map {
                            DecisionRecord(rule: "a", verdict: .once, occasion: Occasion.ID("o"), at: bench.now, number: $0)
                        }))
            }),
        Operation(
            testDescription: "forget",
            prepare: { bench in
                _ = try await bench.store.register(rules, at: bench.now)
                let id = RuleTimer.ID(rule: "a", kind: .hold, key: "k")
                try await bench.store.route(
                    Routing(
                        state: [
                            StateWrite(StateKey(rule: "a", kind: .hold, key: "k"), .set(["subject": "test/x"], expires: nil)),
                            StateWrite(StateKey(rule: "a", kind: .once, key: "x"), .set(true, expires: nil)),
                        ], timers: [.set(RuleTimer(id, due: bench.after(60)))]))
            },
            run: { bench in
                _ = try await bench.store.forget(NamedTask(subject: "test/x", key: "x", number: "", title: ""), at: bench.now)
            }),
        Operation(
            testDescription: "register", prepare: { _ = try await $0.store.register(rules, at: $0.now) },
            run: { bench in
                let changed = [RuleRegistration(name: "b", revision: "2"), RuleRegistration(name: "c", revision: "1")]
                _ = try await bench.store.register(changed, at: bench.now)
            }),
        Operation(
            testDescription: "fire", prepare: { _ = try await $0.store.register(rules, at: $0.now) },
            run: { bench in
                let timer = RuleTimer(.init(rule: "a", kind: .schedule), due: bench.now)
                let other = RuleTimer.ID(rule: "b", kind: .schedule)
                try await bench.store.route(
                    Routing(
                        fired: [timer], timers: [.set(RuleTimer(timer.id, due: bench.after(60))), .cancel(other)],
                        events: [Sample.event(1)]))
            }),
        Operation(testDescription: "claim", prepare: enqueued, run: { _ = try await $0.claim() }),
        Operation(
            testDescription: "finish",
            prepare: { bench in
                try await enqueued(bench)
                _ = try await bench.claim()
            },
            run: { bench in
                let outcomes: [RetryPolicy.Next] = [
                    .done(Receipt("201", reference: "x")), .dead(Sample.failure), .held(Sample.failure),
                    .retry(at: bench.after(5), Sample.failure), .paused(Sample.failure, until: bench.after(5)),
                ]
                let kept = try await bench.store.finish(
                    zip(1..., outcomes).map { number, next in
                        Finish(bench.firstClaim(of: number), at: bench.now, next: next, events: [Sample.event(number)])
                    })
                #expect(!kept.contains(false))
            }),
        Operation(
            testDescription: "rescue",
            prepare: { bench in
                try await enqueued(bench)
                _ = try await bench.claim()
            }, run: { try await $0.store.start(.only, at: $0.now) }),
        Operation(
            testDescription: "apply", prepare: enqueued,
            run: { bench in try await bench.store.apply(.drop, to: (1...6).map { Sample.delivery($0).id }, at: bench.now) }),
        Operation(testDescription: "route with waiting", run: following),
        Operation(
            testDescription: "finish before waiting",
            prepare: { bench in
                try await following(bench)
                _ = try await bench.claim()
            },
            run: { bench in
                let outcomes: [RetryPolicy.Next] = [.done(Sample.receipt), .dead(Sample.failure), .held(Sample.failure)]
                let kept = try await bench.store.finish(
                    zip(1..., outcomes).map { number, next in
                        Finish(bench.firstClaim(of: number), at: bench.now, next: next)
                    })
                #expect(!kept.contains(false))
            }),
        Operation(
            testDescription: "apply before waiting",
            prepare: { bench in
                try await following(bench)
                try await bench.finish(try await bench.claim(1)[0], .dead(Sample.failure))
            },
            run: { bench in
                try await bench.store.apply(.retry, to: [Sample.delivery(1).id], at: bench.now)
            }),
        Operation(
            testDescription: "route what a silence keeps back",
            prepare: { bench in
                try await bench.store.add(silence, at: bench.now)
                try await bench.store.append([Sample.event(1)])
            },
            run: { bench in
                try await bench.store.route(
                    Routing(
                        routed: [1], deliveries: [Sample.delivery(1, initial: .silenced(by: silence.id)), Sample.delivery(2)]))
            }),
        Operation(
            testDescription: "release messages",
            prepare: { bench in
                try await bench.store.add(silence, at: bench.now)
                try await bench.enqueue((1...5).map { `Held messages`.message($0) })
            },
            run: { bench in
                let held = try await bench.store.released(at: bench.after(3600))
                let joined = Delivery.coalescing(
                    Message(title: [.text("2")]), insteadOf: held[0].delivery, expires: nil, hop: 0, at: bench.now)
                let treatments: [MessageRelease.Treatment] = [
                    .joined, .joined, .silenced(by: silence.id), .dropped(Failure(.quiet, .giveUp, "x")), .sent,
                ]
                _ = try await bench.store.release(MessageRelease(Array(zip(held, treatments)), joined: joined, at: bench.now))
            }),
        Operation(testDescription: "add a silence", run: { try await $0.store.add(silence, at: $0.now) }),
        Operation(
            testDescription: "turn silences", prepare: { try await $0.store.add(silence, at: $0.now) },
            run: { bench in
                let entry = SilenceEntry(
                    Silence(starts: bench.now, ends: bench.now), times: .once(starts: bench.now, ends: bench.after(900)))
                _ = try await bench.store.beginAndEndSilences([entry], at: silence.ends)
            }),
        Operation(
            testDescription: "end a silence", prepare: { try await $0.store.add(silence, at: $0.now) },
            run: { _ = try await $0.store.endSilence(silence.id, at: $0.now) }),
        Operation(
            testDescription: "pause a rule", run: { try await $0.store.pause(Pause(.rule("a"), since: $0.now, reason: "x")) }),
        Operation(
            testDescription: "resume a rule",
            prepare: { bench in
                _ = try await bench.store.register(rules, at: bench.now)
                try await bench.store.append([Sample.event(1)])
                try await bench.store.pause(Pause(.rule("a"), since: bench.now, reason: "x"))
            }, run: { try await $0.store.resume(.rule("a"), at: $0.now) }),
        Operation(
            testDescription: "replay events", prepare: { try await $0.store.append([Sample.event(1), Sample.event(2)]) },
            run: { bench in
                let events = try await bench.store.events(EventQuery()).events
                try await bench.store.replay(events, rule: "a", isForced: true, at: bench.now)
            }),
        Operation(
            testDescription: "route a replay",
            prepare: { bench in
                try await bench.store.append([Sample.event(1)])
                let events = try await bench.store.events(EventQuery()).events
                try await bench.store.replay(events, rule: nil, isForced: false, at: bench.now)
            },
            run: { bench in
                var routing = Routing(deliveries: [Sample.delivery(1), Sample.delivery(2)])
                routing.replayed = 1
                try await bench.store.route(routing)
            }),
        Operation(testDescription: "setNote", run: { try await $0.store.setNote("a", to: 1) }),
    ]

    private static let silence = Silence(starts: Sample.now, ends: Sample.now + .seconds(600), reason: "x", by: "ann").identified

    private static let rules = [
        RuleRegistration(name: "a", revision: "1", schedule: .init(text: "x", next: Sample.now)),
        RuleRegistration(name: "b", revision: "1"),
    ]

    @Sendable private static func opened(_ bench: Bench) async throws {
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
    }

    @Sendable private static func removing(_ bench: Bench) async throws {
        try await opened(bench)
        _ = try await bench.store.commit(Sample.poll([1, 2, 3]))
        _ = try await bench.store.commit(Sample.poll([], removing: [1], turn: 1))
    }

    /// Three deliveries, each with two behind it, in a lane where they block others.
    @Sendable private static func following(_ bench: Bench) async throws {
        var deliveries = (1...3).map { Sample.delivery($0) }
        for number in 1...3 {
            deliveries.append(Sample.delivery(number + 3, lane: "a", after: [number]))
            deliveries.append(Sample.delivery(number + 6, after: [number + 3]))
        }
        try await bench.enqueue(deliveries + [Sample.delivery(10, lane: "a")])
    }

    @Sendable private static func enqueued(_ bench: Bench) async throws {
        let deliveries = (1...5).map { Sample.delivery($0) } + [Sample.delivery(6, lane: "lane 1")]
        try await bench.enqueue(deliveries)
    }
}

@Suite struct `Failing statements` {
    @Test(arguments: Operation.all)
    func `if the n-th statement fails, nothing is stored, and a retry stores everything`(_ operation: Operation) async throws {
        let expected = try await done(operation)
        for kind in StoreUnderTest.allCases {
            let bench = Bench(kind)
            try await operation.prepare(bench)
            let before = try await bench.tested.dump()
            let (_, failures) = try await bench.failingEachStatement {
                try await operation.run(bench)
            } afterFailure: { count async throws in
                #expect(try await bench.tested.dump() == before, "statement \(count) left changes")
            }
            #expect(failures >= 3)  // BEGIN, the statement and COMMIT at least
            #expect(try await bench.tested.dump() == expected)
        }
    }

    /// A partial answer would be mistaken for the complete one.
    @Test(arguments: Benches())
    func `if the n-th statement of a query fails, it throws, and a retry has the complete answer`(_ bench: Bench) async throws {
        try await bench.enqueue((1...4).map { Sample.delivery($0, action: "comment", hop: $0) })
        for claim in try await bench.claim() { try await bench.finish(claim, .done(Sample.receipt)) }
        let subjects = (1...4).map(Sample.subject)
        let questions: [(Bench) async throws -> Int] = [
            { try await $0.store.comments(on: subjects, since: $0.now).count },
            { try await $0.store.writes(to: subjects, since: $0.now).count },
        ]
        for ask in questions {
            let (answer, failures) = try await bench.failingEachStatement(includingReads: true) {
                try await ask(bench)
            } afterFailure: { _ async throws in
                #expect(try await ask(bench) == 4)
            }
            #expect(answer == 4 && failures == 4)
        }
    }

    private func done(_ operation: Operation) async throws -> String {
        let bench = Bench(.inMemory)
        try await operation.prepare(bench)
        try await operation.run(bench)
        return try await bench.tested.dump()
    }

    @Test(arguments: Benches())
    func `pruning that fails half-way deletes no row that must stay, and continues the next time`(_ bench: Bench) async throws {
        let retention = Retention(events: .zero, deliveries: .zero, forgotten: .zero)
        try await bench.store.append((1...2002).map { Sample.event($0) })
        try await bench.store.route(
            Routing(routed: Array(1...2000), deliveries: (1...9).map { Sample.delivery($0, initial: .shadow) }))
        _ = try await bench.failingEachStatement {
            try await bench.store.prune(retention, at: bench.after(1))
        } afterFailure: { _ async throws in
            #expect(try await bench.store.unrouted(limit: 9).map(\.sequence) == [2001, 2002])
        }
        let status = try await bench.store.status()
        #expect(status.events == 2)
        #expect(status.deliveries.isEmpty)
    }
}
