import BellhopCore
import Testing

@Suite struct `Claiming deliveries` {
    @Test(arguments: Benches())
    func `the next due time does not count busy receivers`(_ bench: Bench) async throws {
        var deliveries = (1...2).map { Sample.delivery($0) }
        deliveries[0].id.receiver = "busy"
        deliveries[1].id.receiver = "free"
        deliveries[1].runAt = bench.after(60)
        try await bench.enqueue(deliveries)
        #expect(try await bench.store.nextDue(excluding: []) == bench.now)
        #expect(try await bench.store.nextDue(excluding: ["busy"]) == bench.after(60))
        #expect(try await bench.store.nextDue(excluding: ["busy", "free"]) == nil)
    }

    @Test(arguments: Benches())
    func `a claim takes as many deliveries of a receiver as it has room for, and names the next tasks`(
        _ bench: Bench
    ) async throws {
        var deliveries = (1...6).map { Sample.delivery($0) }
        for index in deliveries.indices { deliveries[index].id.receiver = index % 2 == 0 ? "small" : "full" }
        try await bench.enqueue(deliveries)
        let quotas = ["small": ClaimQuota(attempts: 1, upcoming: 5), "full": ClaimQuota(attempts: 0)]
        let claimed = try await bench.claim(limit: 10, quotas: quotas, others: 10)
        #expect(claimed.claims.map(\.delivery.id) == [deliveries[0].id])
        #expect(claimed.claims[0].attempt.upcoming == [deliveries[2], deliveries[4]].compactMap { $0.task?.subject })
        #expect(claimed.waiting == ["small", "full"])
        let rest = try await bench.claim(limit: 10, others: 10)
        #expect(rest.claims.count == 5)
        #expect(rest.waiting.isEmpty)
    }

    @Test(arguments: Benches())
    func `due deliveries are claimed once`(_ bench: Bench) async throws {
        var later = Sample.delivery(2)
        later.runAt = bench.after(30)
        try await bench.enqueue([Sample.delivery(1), later])
        #expect(try await bench.store.nextDue(excluding: []) == bench.now)
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery) == [Sample.delivery(1)])
        #expect(claims.map(\.lease.until) == [bench.after(60)])
        #expect(claims.map(\.attempt) == [Attempt(number: 1, now: bench.now)])
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(30))
        await bench.clock.pass(30)
        #expect(try await bench.claim().map(\.delivery) == [later])
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(30))  // the end of the first lease
    }

    @Test(arguments: Benches())
    func `a delivery that has expired is dead without an attempt, and those behind it are dropped`(_ bench: Bench) async throws {
        var expiring = Sample.delivery(1)
        expiring.expires = bench.after(10)
        var behind = Sample.delivery(2)
        behind.after = [expiring.id]
        try await bench.enqueue([expiring, behind, Sample.delivery(3)])
        await bench.clock.pass(11)
        let claimed = try await bench.claim(limit: 1, others: 1)
        #expect(claimed.claims.isEmpty && claimed.mayHaveMore)
        #expect(claimed.dead.map(\.delivery.id) == [expiring.id] && claimed.dead.map(\.failure.reason) == [.expired])
        #expect(try await bench.states() == [.dead, .dropped, .available])
        #expect(try await bench.store.deliveries(DeliveryQuery()).map(\.attempts) == [0, 0, 0])
        #expect(try await bench.store.unrouted(limit: 9).map(\.event.type) == [.deliveryDead])
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(3).id])
    }

    @Test(arguments: Benches())
    func `a delivery without a due time and without a receiver is still claimed`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1, receiver: ""), Sample.delivery(2, receiver: "a")])
        #expect(try await bench.claim().count == 2)
    }

    @Test(arguments: Benches())
    func `deliveries of one lane are claimed one after another`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1, lane: "a"), Sample.delivery(2, lane: "a"), Sample.delivery(3, lane: "b")])
        try await bench.enqueue([Sample.delivery(4, lane: "a")])
        let first = try await bench.claim()
        #expect(first.map(\.delivery) == [Sample.delivery(1, lane: "a"), Sample.delivery(3, lane: "b")])
        // A delivery that waits for a retry blocks only its own lane.
        try await bench.finish(first[0], .retry(at: bench.after(20), Sample.failure))
        try await bench.finish(first[1], .done(Sample.receipt))
        #expect(try await bench.claim().isEmpty)
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(20))
        await bench.clock.pass(20)
        let again = try await bench.claim()
        #expect(again.map(\.delivery.id) == [Sample.delivery(1, lane: "a").id])
        try await bench.finish(again[0], .dead(Sample.failure))
        let second = try await bench.claim()
        #expect(second.map(\.delivery.id) == [Sample.delivery(2, lane: "a").id])
        try await bench.finish(second[0], .held(Sample.failure))
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(4, lane: "a").id])
    }

    @Test(arguments: Benches())
    func `a delivery created as dead or shadow does not block others`(_ bench: Bench) async throws {
        let failure = Failure(.unrenderable, .giveUp, "There is no such field.")
        let deliveries = [
            Sample.delivery(1, lane: "a", initial: .dead(failure)), Sample.delivery(2, lane: "a", initial: .shadow),
            Sample.delivery(3, lane: "a"),
        ]
        try await bench.enqueue(deliveries)
        #expect(try await bench.claim().map(\.delivery) == [deliveries[2]])
        let records = try await bench.store.deliveries(DeliveryQuery())
        #expect(records.map(\.delivery) == deliveries)
        #expect(records.map(\.state) == [.dead, .shadow, .running])
        #expect(records.map(\.failure) == [failure, nil, nil])
        #expect(records.map(\.finishedAt) == [bench.now, bench.now, nil])
    }

    @Test(arguments: Benches())
    func `the longest waiting deliveries are claimed first, and busy receivers are skipped`(_ bench: Bench) async throws {
        let deliveries = (1...9).map { number in
            Sample.delivery(number, receiver: ["chat", "mail", "log"][number % 3], at: bench.after(-number))
        }
        try await bench.enqueue(deliveries)
        #expect(try await bench.claim(2).map(\.delivery) == [deliveries[8], deliveries[7]])
        let rest = try await bench.claim(9, excluding: ["mail", "nobody"]).map(\.delivery)
        #expect(rest == [deliveries[5], deliveries[4], deliveries[2], deliveries[1]])
    }

    @Test(arguments: Benches())
    func `a retry knows the earlier attempts`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1)])
        let start = bench.now
        try await bench.finish(try await bench.claim()[0], .retry(at: bench.after(5), Sample.failure), uncertain: true)
        await bench.clock.pass(5)
        let second = try await bench.claim()[0]
        #expect(second.attempt == Attempt(number: 2, now: bench.now, firstStarted: start, lastUncertain: start))
        try await bench.finish(second, .retry(at: bench.after(5), Sample.failure))
        await bench.clock.pass(5)
        let third = try await bench.claim()[0]
        #expect(third.attempt == Attempt(number: 3, now: bench.now, firstStarted: start, lastUncertain: start))
        #expect(third.lease.token != second.lease.token)
    }

    @Test(arguments: Benches())
    func `a comment knows the entries of other deliveries in its task's journal`(_ bench: Bench) async throws {
        let own = Sample.delivery(1, receiver: "one", action: "comment")
        var other = Sample.delivery(1, receiver: "two", action: "comment")
        other.lane = "another"
        try await bench.enqueue([own, other, Sample.delivery(2, action: "comment"), Sample.delivery(1, receiver: "three")])
        for claim in try await bench.claim() where claim.delivery.id != own.id {
            try await bench.finish(
                claim, .done(Receipt("201", reference: "\(claim.delivery.action) \(claim.delivery.id.receiver)")))
        }
        try await bench.store.start(.only, at: bench.now)
        let claim = try await bench.claim()[0]
        #expect(claim.delivery.id == own.id)
        #expect(claim.attempt.othersReferences == ["comment two"])
    }

    @Test(arguments: Benches())
    func `a repeated create knows the tasks that other deliveries created since its first attempt`(_ bench: Bench) async throws {
        func make(_ number: Int, _ receiver: String) -> Delivery { Sample.delivery(number, receiver: receiver, action: "create") }
        try await bench.enqueue([make(1, "here")])
        try await bench.finish(try await bench.claim()[0], .done(Receipt("201", reference: "long before")))
        await bench.clock.pass(7200)
        let own = make(2, "here")
        try await bench.enqueue([own, make(3, "here"), make(4, "there")])
        for claim in try await bench.claim() {
            #expect(claim.attempt.othersReferences == [])
            if claim.delivery.id == own.id {
                try await bench.finish(claim, .retry(at: bench.after(5), Sample.failure), uncertain: true)
            } else {
                try await bench.finish(claim, .done(Receipt("201", reference: claim.delivery.id.receiver)))
            }
        }
        await bench.clock.pass(5)
        #expect(try await bench.claim().map(\.attempt.othersReferences) == [["here"]])
    }

    @Test(arguments: Benches())
    func `a created task is listed with the hop of its delivery`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1, action: "create", hop: 2)])
        let claim = try await bench.claim()[0]
        try await bench.finish(claim, .done(Receipt("201", reference: Sample.subject(9))))
        #expect(
            try await bench.store.writes(to: [Sample.subject(1), Sample.subject(9)], since: bench.now)
                == [Sample.subject(9): [OwnWrite(hop: 2, movesTask: true)]])
        #expect(try await bench.store.writes(to: [Sample.subject(9)], since: bench.after(1)).isEmpty)
    }

    @Test(arguments: Benches())
    func `an update is listed with the fields that it sets`(_ bench: Bench) async throws {
        var update = Sample.delivery(1, action: "update", hop: 1)
        update.arguments = .values(["fields": ["state": 2]])
        try await bench.enqueue([update])
        try await bench.finish(try await bench.claim()[0], .done(Sample.receipt))
        #expect(
            try await bench.store.writes(to: [Sample.subject(1)], since: bench.now)
                == [Sample.subject(1): [OwnWrite(hop: 1, fields: ["state": 2])]])
    }

    @Test(arguments: Benches())
    func `writes to a task are listed with their hops`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1, action: "comment", hop: 1), Sample.delivery(1, receiver: "x", action: "update", hop: 2),
            Sample.delivery(2, action: "comment", hop: 3), Sample.delivery(3, action: "webhook", hop: 4),
            Sample.delivery(4, action: "comment", hop: 5),
        ])
        let subjects = (1...5).map(Sample.subject)
        #expect(try await bench.store.writes(to: subjects, since: bench.now).isEmpty)
        let claims = try await bench.claim()
        #expect(claims.count == 4)  // the two for task 1 share a lane
        for claim in claims {
            switch claim.delivery.hop {
            case 3: try await bench.finish(claim, .retry(at: bench.after(60), Sample.failure), uncertain: true)
            case 5: try await bench.finish(claim, .retry(at: bench.after(60), Sample.failure))
            default: try await bench.finish(claim, .done(Sample.receipt))
            }
        }
        #expect(
            try await bench.store.writes(to: subjects, since: bench.now) == [
                Sample.subject(1): [OwnWrite(hop: 1)], Sample.subject(2): [OwnWrite(hop: 3)],
            ])
        #expect(try await bench.claim().map(\.delivery.hop) == [2])
        #expect(try await bench.store.writes(to: subjects, since: bench.after(1)) == [Sample.subject(1): [OwnWrite(hop: 2)]])
    }
}
