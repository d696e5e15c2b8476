import BellhopCore
import BellhopStore
import Testing

/// What an attempt hears of a time of which the store knows nothing, as after it was put back from a copy.
@Suite struct `Times without a record` {
    private func start(_ bench: Bench) async throws { try await bench.store.rescue(everything: true, at: bench.now) }

    /// The time that the only delivery that is due may have been done in.
    private func claimed(_ bench: Bench) async throws -> Range<Timestamp>? {
        let claims = try await bench.claim()
        #expect(claims.count == 1)
        for claim in claims { try await bench.finish(claim, .done(Sample.receipt)) }
        return claims.first?.attempt.mayRepeat
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a delivery that is due after a downtime may have been done in it, until the missed time is caught up on`(
        _ kind: StoreUnderTest
    ) async throws {
        let bench = try kind.make()
        try await start(bench)
        try await bench.store.route(Routing(deliveries: [Sample.delivery(1, at: bench.now)]))
        #expect(try await claimed(bench) == nil)
        let last = bench.now
        try await bench.store.route(Routing(deliveries: [Sample.delivery(2, at: bench.now)]))
        await bench.clock.pass(600)
        let again = bench.now
        try await start(bench)
        // Made before it, and not done then as far as the store knows.
        #expect(try await claimed(bench) == last..<again)
        await bench.clock.pass(30)
        // A restart right after forgets nothing of it.
        try await start(bench)
        try await bench.store.route(Routing(deliveries: [Sample.delivery(3, at: bench.now)]))
        #expect(try await claimed(bench) == last..<again)
        await bench.clock.pass(3600)
        try await bench.store.route(Routing(deliveries: [Sample.delivery(4, at: bench.now)]))
        #expect(try await claimed(bench) == nil)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a delivery that may have been received carries the time since when to look for it`(_ kind: StoreUnderTest) async throws
    {
        let bench = try kind.make()
        try await bench.store.route(Routing(deliveries: [Sample.delivery(1, at: bench.now)]))
        let began = bench.now
        try await bench.finish(try await bench.claim()[0], .retry(at: bench.after(5), Sample.failure), uncertain: true)
        await bench.clock.pass(600)
        try await start(bench)
        let attempt = try await bench.claim()[0].attempt
        #expect(attempt.lastUncertain == began)
        #expect(attempt.mayRepeat == nil)
    }
}
