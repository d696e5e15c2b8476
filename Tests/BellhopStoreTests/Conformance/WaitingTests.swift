import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Deliveries that wait for others` {
    private let stopped = Failure(.stopped, .giveUp, "An earlier step of the rule is dead or was dropped.")

    private func ids(_ numbers: Int...) -> [Delivery.ID] { numbers.map { Sample.delivery($0).id } }

    private func claimed(_ bench: Bench) async throws -> [Delivery.ID] { try await bench.claim().map(\.delivery.id) }

    @Test(arguments: Benches())
    func `a delivery waits until all those before it are done, and is then due at once`(_ bench: Bench) async throws {
        let waiting = Sample.delivery(3, after: [1, 2])
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2), waiting])
        #expect(try await bench.store.deliveries(DeliveryQuery(states: [.waiting])).map(\.delivery) == [waiting])
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery.id) == ids(1, 2))
        try await bench.finish(claims[0], .done(Sample.receipt))
        try await bench.finish(claims[1], .retry(at: bench.after(30), Sample.failure))
        #expect(try await bench.states() == [.done, .available, .waiting])
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(30))
        await bench.clock.pass(30)
        try await bench.finish(try await bench.claim()[0], .done(Sample.receipt))
        #expect(try await bench.store.nextDue(excluding: []) == bench.now)
        let freed = try await bench.claim()
        #expect(freed.map(\.delivery.id) == ids(3))
        #expect(freed[0].delivery.after == ids(1, 2))
        #expect(freed[0].delivery.runAt == bench.now)
        #expect(freed[0].attempt.number == 1)
    }

    @Test(arguments: Benches())
    func `a dead delivery drops all deliveries behind it, with the reason`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2), Sample.delivery(3, after: [1, 2]), Sample.delivery(4, after: [3]),
            Sample.delivery(5),
        ])
        let claims = try await bench.claim()
        await bench.clock.pass(1)
        try await bench.finish(claims[0], .dead(Sample.failure))
        #expect(try await bench.states() == [.dead, .running, .dropped, .dropped, .running])
        let records = try await bench.store.deliveries(DeliveryQuery(states: [.dropped]))
        #expect(records.map(\.failure) == [stopped, stopped])
        #expect(records.map(\.finishedAt) == [bench.now, bench.now])
        try await bench.finish(claims[1], .done(Sample.receipt))
        #expect(try await bench.states() == [.dead, .done, .dropped, .dropped, .running])
        #expect(try await bench.store.status().deliveries == [.dead: 1, .done: 1, .dropped: 2, .running: 1])
    }

    @Test(arguments: Benches())
    func `retrying all dead deliveries of a run completes it`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2), Sample.delivery(3, after: [1, 2]), Sample.delivery(4, after: [3]),
        ])
        for claim in try await bench.claim() { try await bench.finish(claim, .dead(Sample.failure)) }
        // As long as one of them is dead, the others keep waiting.
        #expect(try await bench.store.apply(.retry, to: ids(1, 3), at: bench.now) == 1)
        #expect(try await bench.states() == [.available, .dead, .dropped, .dropped])
        #expect(try await bench.store.apply(.retry, to: ids(2), at: bench.now) == 1)
        #expect(try await bench.states() == [.available, .available, .waiting, .waiting])
        #expect(try await bench.store.deliveries(DeliveryQuery(states: [.waiting])).map(\.failure) == [nil, nil])
        #expect(try await bench.store.deliveries(DeliveryQuery(states: [.waiting])).map(\.finishedAt) == [nil, nil])
        // A waiting delivery cannot be retried before those it waits for.
        #expect(try await bench.store.apply(.retry, to: ids(3, 4), at: bench.now) == 0)
        for expected in [ids(1, 2), ids(3), ids(4), []] {
            let claims = try await bench.claim()
            #expect(claims.map(\.delivery.id) == expected)
            for claim in claims { try await bench.finish(claim, .done(Sample.receipt)) }
        }
        #expect(try await bench.states() == [.done, .done, .done, .done])
    }

    @Test(arguments: Benches())
    func `dropping a delivery drops the deliveries behind it for good`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2, after: [1]), Sample.delivery(3, after: [2]),
            Sample.delivery(4, after: [1]),
        ])
        #expect(try await bench.store.apply(.drop, to: ids(2), at: bench.now) == 1)
        #expect(try await bench.states() == [.available, .dropped, .dropped, .waiting])
        let records = try await bench.store.deliveries(DeliveryQuery(states: [.dropped]))
        #expect(records.map(\.failure) == [nil, stopped])
        try await bench.finish(try await bench.claim()[0], .dead(Sample.failure))
        #expect(try await bench.states() == [.dead, .dropped, .dropped, .dropped])
        _ = try await bench.store.apply(.retry, to: ids(1), at: bench.now)
        #expect(try await bench.states() == [.available, .dropped, .dropped, .waiting])
        #expect(try await bench.store.apply(.drop, to: ids(1), at: bench.now) == 1)
        #expect(try await bench.states() == [.dropped, .dropped, .dropped, .dropped])
        #expect(try await bench.store.apply(.retry, to: ids(1, 2, 3, 4), at: bench.now) == 0)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `deliveries behind a held one wait until a person decides`(_ kind: StoreUnderTest) async throws {
        for decision in [DeliveryCommand.retry, .drop] {
            let bench = Bench(kind)
            try await bench.enqueue([Sample.delivery(1), Sample.delivery(2, after: [1])])
            try await bench.finish(try await bench.claim()[0], .held(Sample.failure))
            #expect(try await bench.states() == [.held, .waiting])
            _ = try await bench.store.prune(Retention(deliveries: .zero), at: bench.after(9))
            #expect(try await bench.store.apply(decision, to: ids(1), at: bench.now) == 1)
            #expect(try await bench.states() == (decision == .retry ? [.available, .waiting] : [.dropped, .dropped]))
        }
    }

    @Test(arguments: Benches())
    func `the first state of a delivery depends on those it waits for`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1, initial: .dead(Sample.failure)), Sample.delivery(2, after: [1]),
            Sample.delivery(3, after: [2]),
            Sample.delivery(4, initial: .shadow), Sample.delivery(5, after: [4]), Sample.delivery(6, after: [99]),
            Sample.delivery(7, after: [6], initial: .shadow), Sample.delivery(8, after: [6], initial: .dead(Sample.failure)),
        ])
        #expect(try await bench.states() == [.dead, .dropped, .dropped, .shadow, .available, .available, .shadow, .dead])
        #expect(try await bench.store.deliveries(DeliveryQuery(states: [.dropped])).map(\.finishedAt) == [bench.now, bench.now])
        for claim in try await bench.claim() { try await bench.finish(claim, .done(Sample.receipt)) }
        // A done delivery is not waited for; creating it again changes nothing.
        try await bench.enqueue([Sample.delivery(9, after: [5]), Sample.delivery(5), Sample.delivery(2, after: [6])])
        #expect(try await claimed(bench) == ids(9))
        _ = try await bench.store.apply(.retry, to: ids(1), at: bench.now)
        #expect(try await bench.states() == [.available, .waiting, .waiting, .shadow, .done, .done, .shadow, .dead, .running])
    }

    @Test(arguments: Benches())
    func `a waiting delivery keeps its place in its rule and blocks no other rule`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2, lane: "a", after: [1])])
        try await bench.enqueue([
            Sample.delivery(3, lane: "a"), Sample.delivery(4, lane: "a", rule: "other"),
            Sample.delivery(5, lane: "a", rule: "other"),
        ])
        let claims = try await bench.claim().sorted { $0.delivery.id.rule > $1.delivery.id.rule }
        let other = Sample.delivery(4, rule: "other").id
        try #require(claims.map(\.delivery.id) == [Sample.delivery(1).id, other])
        try await bench.finish(claims[0], .done(Sample.receipt))
        #expect(try await claimed(bench) == [])
        try await bench.finish(claims[1], .done(Sample.receipt))
        for expected in [Sample.delivery(2).id, Sample.delivery(3).id, Sample.delivery(5, rule: "other").id] {
            let claims = try await bench.claim()
            #expect(claims.map(\.delivery.id) == [expected])
            try await bench.finish(claims[0], .done(Sample.receipt))
        }
    }

    @Test(arguments: Benches())
    func `a delivery behind a held one blocks no others, and later takes its place again`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2, after: [1]), Sample.delivery(3, lane: "a", after: [2]),
            Sample.delivery(4, lane: "a"), Sample.delivery(5, lane: "a"), Sample.delivery(6, lane: "a"),
        ])
        let claims = try await bench.claim()
        #expect(claims.map(\.delivery.id) == ids(1))
        try await bench.finish(claims[0], .held(Sample.failure))
        let fourth = try await bench.claim()
        #expect(fourth.map(\.delivery.id) == ids(4))
        _ = try await bench.store.apply(.retry, to: ids(1), at: bench.now)
        try await bench.finish(fourth[0], .done(Sample.receipt))
        let again = try await bench.claim()
        #expect(again.map(\.delivery.id) == ids(1))
        try await bench.finish(again[0], .dead(Sample.failure))
        #expect(try await claimed(bench) == ids(5))
    }

    @Test(arguments: Benches())
    func `deliveries of one lane are done in order if one waits for another`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1, lane: "a"), Sample.delivery(2, lane: "a", after: [1]), Sample.delivery(3, lane: "a"),
        ])
        for number in 1...3 {
            let claims = try await bench.claim()
            #expect(claims.map(\.delivery.id) == ids(number))
            try await bench.finish(claims[0], .done(Sample.receipt))
        }
    }

    @Test(arguments: Benches())
    func `a freed delivery is not claimed before its own time`(_ bench: Bench) async throws {
        var later = Sample.delivery(2, after: [1])
        later.runAt = bench.after(60)
        try await bench.enqueue([Sample.delivery(1), later])
        try await bench.finish(try await bench.claim()[0], .done(Sample.receipt))
        #expect(try await claimed(bench) == [])
        #expect(try await bench.store.nextDue(excluding: []) == bench.after(60))
    }

    @Test(arguments: Benches())
    func `deleting a delivery deletes its waits`(_ bench: Bench) async throws {
        try await bench.enqueue([
            Sample.delivery(1), Sample.delivery(2), Sample.delivery(3, after: [1, 2]), Sample.delivery(4, after: [3]),
        ])
        let claims = try await bench.claim()
        try await bench.finish(claims[0], .held(Sample.failure))
        try await bench.finish(claims[1], .dead(Sample.failure))
        #expect(try await bench.states() == [.held, .dead, .dropped, .dropped])
        #expect(try await bench.store.prune(Retention(deliveries: .zero), at: bench.after(1)) == 3)
        #expect(try await bench.states() == [.held])
        // Their row ids are used again, by deliveries that wait for no others.
        try await bench.enqueue([Sample.delivery(5), Sample.delivery(6), Sample.delivery(7)])
        _ = try await bench.store.apply(.drop, to: ids(1), at: bench.now)
        #expect(try await claimed(bench) == ids(5, 6, 7))
    }

    @Test(arguments: Benches())
    func `an unreadable delivery is dead, and those behind it are dropped`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(2, after: [1])])
        try await bench.tested.corrupt(Sample.delivery(1).id)
        #expect(try await claimed(bench) == [])
        #expect(try await bench.states() == [.dead, .dropped])
        let notice = try #require(try await bench.store.unrouted(limit: 9).first?.event)
        #expect(notice.type == .deliveryDead)
        #expect(notice.data["delivery"]?["id"]?.asString == Sample.delivery(1).id.text)
    }
}
