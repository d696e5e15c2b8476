import BellhopCore
import Testing

/// The period of which the store has no record, as after restoring a backup: an attempt must look for earlier results in it.
@Suite struct `Periods without records` {
    private func start(_ bench: Bench) async throws { try await bench.store.start(.only, at: bench.now) }

    /// Claims the only due delivery, and returns the period in which it may already have been performed.
    private func claimed(_ bench: Bench) async throws -> Range<Timestamp>? {
        let claims = try await bench.claim()
        #expect(claims.count == 1)
        for claim in claims { try await bench.finish(claim, .done(Sample.receipt)) }
        return claims.first?.attempt.mayRepeat
    }

    @Test(arguments: Benches())
    func `a delivery due before or soon after a downtime may have been performed without a record`(_ bench: Bench) async throws {
        try await start(bench)
        try await bench.enqueue([Sample.delivery(1, at: bench.now)])
        #expect(try await claimed(bench) == nil)
        let last = bench.now
        try await bench.enqueue([Sample.delivery(2, at: bench.now)])
        await bench.clock.pass(600)
        let again = bench.now
        try await start(bench)
        // Created before the downtime, and not performed as far as the store knows.
        #expect(try await claimed(bench) == last..<again)
        await bench.clock.pass(30)
        // A restart right afterwards keeps the period.
        try await start(bench)
        try await bench.enqueue([Sample.delivery(3, at: bench.now)])
        #expect(try await claimed(bench) == last..<again)
        await bench.clock.pass(3600)
        try await bench.enqueue([Sample.delivery(4, at: bench.now)])
        #expect(try await claimed(bench) == nil)
    }

    @Test(arguments: Benches())
    func `another restart soon after a downtime does not shorten the period in which a delivery may have been performed`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Sample.delivery(1, at: bench.now)])
        #expect(try await claimed(bench) == nil)
        let last = bench.now
        await bench.clock.pass(600)
        try await start(bench)
        // For an event of the downtime, but not performed before the next restart.
        try await bench.enqueue([Sample.delivery(2, at: bench.now)])
        await bench.clock.pass(300)
        try await start(bench)
        #expect(try await claimed(bench) == last..<bench.now)
    }

    @Test(arguments: Benches())
    func `restarts every half hour do not extend the period without end`(_ bench: Bench) async throws {
        var starts: [Timestamp] = []
        for number in 1...5 {
            starts.append(bench.now)
            try await bench.enqueue([Sample.delivery(number, at: bench.now)])
            // The downtimes that ended within the last hour count.
            #expect(try await claimed(bench) == (number == 1 ? nil : starts[max(number - 3, 0)]..<bench.now))
            await bench.clock.pass(2000)
            try await start(bench)
        }
    }

    @Test(arguments: Benches())
    func `the retry of a possibly received delivery knows when its last attempt began`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1, at: bench.now)])
        let began = bench.now
        try await bench.finish(try await bench.claim()[0], .retry(at: bench.after(5), Sample.failure), uncertain: true)
        await bench.clock.pass(600)
        try await start(bench)
        let attempt = try await bench.claim()[0].attempt
        #expect(attempt.lastUncertain == began)
        #expect(attempt.mayRepeat == nil)
    }
}
