import BellhopCore
import Testing

@Suite struct `Stored replays` {
    private static func prepared(_ bench: Bench) async throws -> [StoredEvent] {
        try await bench.store.append((1...3).map { Sample.event($0) } + [Sample.event(9, at: bench.after(500))])
        try await bench.store.route(Routing(routed: [1, 2, 3, 4]))
        return Array(try await bench.store.events(EventQuery()).prefix(2))
    }

    @Test(arguments: Benches())
    func `a replay waits until it is routed, and is routed once`(_ bench: Bench) async throws {
        let events = try await Self.prepared(bench)
        #expect(try await bench.store.replay(events, rule: "a", isForced: true, at: bench.now) == 2)
        // The same request at the same time is the same replay.
        #expect(try await bench.store.replay(events, rule: "a", isForced: true, at: bench.now) == 0)
        let waiting = try await bench.store.replays(limit: 9)
        #expect(waiting.map(\.event) == events)
        #expect(waiting.allSatisfy { $0.rule == "a" && $0.isForced && $0.at == bench.now })
        var routing = Routing(deliveries: [Sample.delivery(1)])
        routing.replayed = waiting[0].id
        #expect(try await bench.store.route(routing) == .stored)
        routing.deliveries = [Sample.delivery(2)]
        #expect(try await bench.store.route(routing) == .alreadyRouted)
        #expect(try await bench.store.deliveries(DeliveryQuery()).count == 1)
        #expect(try await bench.store.replays(limit: 9).map(\.id) == [waiting[1].id])
    }

    @Test(arguments: Benches())
    func `an event that is to be replayed is not pruned`(_ bench: Bench) async throws {
        let events = try await Self.prepared(bench)
        try await bench.store.replay([events[1]], rule: nil, isForced: false, at: bench.now)
        let retention = Retention(events: .seconds(100), deliveries: .seconds(100), forgotten: .seconds(200))
        _ = try await bench.store.prune(retention, at: bench.after(400))
        #expect(try await bench.store.events(EventQuery()).map(\.sequence) == [2, 4])
        #expect(try await bench.store.replays(limit: 9).map(\.event) == [events[1]])
        // An event that is gone cannot be replayed.
        #expect(try await bench.store.replay([events[0]], rule: nil, isForced: false, at: bench.now) == 0)
    }

    @Test(arguments: Benches())
    func `the attempt of a replay knows since when a comment would be a repetition`(_ bench: Bench) async throws {
        let events = try await Self.prepared(bench)
        var delivery = Sample.delivery(1)
        delivery.id.occasion = Occasion.replay(of: events[0].event.id, at: bench.after(60)).id
        try await bench.enqueue([delivery, Sample.delivery(2)])
        let claims = try await bench.claim()
        #expect(claims.map(\.attempt.replayOf) == [events[0].event.time, nil])
    }
}
