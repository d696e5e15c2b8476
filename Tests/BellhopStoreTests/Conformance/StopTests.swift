import BellhopCore
import BellhopTesting
import Testing

/// The stops of receivers, and how the due deliveries of a receiver are shared among rules.
@Suite struct `Receiver stops and fair claiming` {
    private func pause(_ cause: ReceiverStop.Cause, at now: Timestamp) -> ReceiverPause {
        ReceiverPause(
            ReceiverStop(receiver: "chat", cause: cause, since: now, until: nil, reason: "404."),
            notifying: cause == .refusal ? "mail" : nil)
    }

    @Test(arguments: Benches())
    func `a pause that many attempts cause is stored once, with its event and its message`(_ bench: Bench) async throws {
        try await bench.enqueue((1...3).map { Sample.delivery($0) })
        let claims = try await bench.claim()
        let failure = Failure(.goneOrHidden, .pauseReceiver, "404.")
        for claim in claims {
            let finish = Finish(claim, at: bench.now, next: .postponed(failure), pause: pause(.refusal, at: bench.now))
            #expect(try await bench.store.finish([finish]) == [true])
            await bench.clock.pass(1)
        }
        #expect(try await bench.store.stops() == [pause(.refusal, at: Sample.now).stop])
        #expect(try await bench.store.events(EventQuery()).map(\.event.type) == [.receiverPaused])
        let records = try await bench.store.deliveries(DeliveryQuery())
        #expect(records.map(\.delivery.id.receiver) == ["chat", "chat", "chat", "mail"])
        #expect(records.map(\.attempts) == [1, 1, 1, 0])
    }

    @Test(arguments: Benches())
    func `a pause is stored even if the lease was lost, completely or not at all`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        let claim = try #require(try await bench.claim(for: 1).first)
        await bench.clock.pass(2)
        try await bench.store.rescue(at: bench.now)
        let finish = Finish(claim, at: bench.now, next: .done(Receipt("late")), pause: pause(.refusal, at: bench.now))
        let (answer, failures) = try await bench.failingEachStatement {
            try await bench.store.finish([finish])
        } afterFailure: { _ async throws in
            #expect(try await bench.store.stops().isEmpty)
            #expect(try await bench.store.deliveries(DeliveryQuery()).count == 1)
        }
        #expect(answer == [false] && failures > 2)
        #expect(try await bench.store.stops().count == 1)
        #expect(try await bench.store.deliveries(DeliveryQuery()).count == 2)
    }

    @Test(arguments: Benches())
    func `resuming ends all pauses of a receiver, but no rest, and emits an event`(_ bench: Bench) async throws {
        #expect(try await bench.store.pause(pause(.refusal, at: bench.now)))
        #expect(try await bench.store.pause(pause(.person, at: bench.now)))
        #expect(try await bench.store.pause(pause(.person, at: bench.after(1))) == false)
        let rest = ReceiverStop(receiver: "chat", cause: .rest, since: bench.now, until: bench.after(60), reason: "429")
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        try await bench.store.setHealth(SourceHealth(), of: Sample.scope.id, events: [], rest: rest)
        #expect(try await bench.store.resume(receiver: "chat", at: bench.now))
        #expect(try await bench.store.resume(receiver: "chat", at: bench.now) == false)
        #expect(try await bench.store.stops() == [rest])
        #expect(
            try await bench.store.events(EventQuery()).map(\.event.type) == [.receiverPaused, .receiverPaused, .receiverResumed])
    }

    @Test(arguments: StoreUnderTest.allCases, [true, false])
    func `a pause that reaches the store after the receiver was resumed is not stored`(_ kind: StoreUnderTest, _ wasStored: Bool)
        async throws
    {
        let bench = Bench(kind)
        let late = pause(.refusal, at: bench.now)
        if wasStored { #expect(try await bench.store.pause(late)) }
        await bench.clock.pass(5)
        #expect(try await bench.store.resume(receiver: "chat", at: bench.now) == wasStored)
        #expect(try await bench.store.pause(late) == false)
        #expect(try await bench.store.stops().isEmpty)
        // A later one is, also if the clock was set back since the resumption.
        try await bench.store.correctFutureTimes(at: bench.after(-600))
        let next = pause(.refusal, at: bench.after(-590))
        #expect(try await bench.store.pause(next))
        #expect(try await bench.store.stops() == [next.stop])
        #expect(try await bench.store.status().stops.map(\.stop) == [next.stop])
    }

    @Test(arguments: Benches())
    func `stops of a run whose clock was ahead count from the next start`(_ bench: Bench) async throws {
        let ahead = bench.after(365 * 86_400)
        let rest = ReceiverStop(receiver: "chat", cause: .rest, since: ahead, until: ahead + .seconds(60), reason: "429")
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        try await bench.store.setHealth(SourceHealth(), of: Sample.scope.id, events: [], rest: rest)
        #expect(try await bench.store.pause(pause(.refusal, at: ahead)))
        try await bench.store.start(.only, at: bench.now)
        let stops = try await bench.store.stops()
        #expect(stops.map(\.since) == [bench.now, bench.now])
        #expect(Set(stops.map(\.until)) == [bench.after(60), nil])
        #expect(try await bench.store.resume(receiver: "chat", at: bench.after(1)))
        #expect(try await bench.store.stops().map(\.cause) == [.rest])
    }

    @Test(arguments: Benches())
    func `a person's pause takes effect even if the clock was set back since a resumption`(_ bench: Bench) async throws {
        #expect(try await bench.store.pause(pause(.person, at: bench.now)))
        #expect(try await bench.store.resume(receiver: "chat", at: bench.after(3600)))
        let again = pause(.person, at: bench.after(1))
        #expect(try await bench.store.pause(again))
        #expect(try await bench.store.stops() == [again.stop])
    }

    @Test(arguments: Benches())
    func `a rule with few deliveries gets its turn beside one with thousands`(_ bench: Bench) async throws {
        try await bench.enqueue((1...2000).map { Sample.delivery($0, rule: "busy") })
        await bench.clock.pass(60)
        try await bench.enqueue((2001...2003).map { Sample.delivery($0, rule: "calm", at: bench.now) })
        try await bench.enqueue([Sample.delivery(2004, rule: "alone", at: bench.now)])
        var (last, rules): (String, [String]) = ("", [])
        var seen: Set<Delivery.ID> = []
        for _ in 1...4 {
            let claimed = try await bench.claim(limit: 3, quotas: ["chat": ClaimQuota(attempts: 3, lastRule: last)], others: 0)
            #expect(claimed.waiting == ["chat"])
            rules += claimed.claims.map(\.delivery.id.rule)
            seen.formUnion(claimed.claims.map(\.delivery.id))
            last = claimed.lastRules["chat"] ?? ""
        }
        #expect(rules == ["alone", "busy", "calm", "busy", "calm", "busy", "calm", "busy", "busy", "busy", "busy", "busy"])
        #expect(seen.count == 12)
    }

    @Test(arguments: Benches())
    func `a claim uses all its room while deliveries are due`(_ bench: Bench) async throws {
        try await bench.enqueue((1...40).map { Sample.delivery($0, rule: $0 <= 38 ? "busy" : "calm \($0)") })
        let claimed = try await bench.claim(limit: 30, quotas: ["chat": ClaimQuota(attempts: 30)], others: 0)
        #expect(claimed.claims.count == 30)
        #expect(claimed.waiting == ["chat"])
        let rest = try await bench.claim(limit: 30, quotas: ["chat": ClaimQuota(attempts: 30)], others: 0)
        #expect(rest.claims.count == 10)
        #expect(rest.waiting.isEmpty)
    }
}
