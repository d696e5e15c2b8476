import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite struct LoopTurnsTests {
    @Test func `a loop counts as hanging while one turn lasts more than five minutes`() {
        let turns = LoopTurns()
        turns.begin(.router, at: .seconds(10))
        turns.begin(.dispatcher, at: .seconds(200))
        #expect(turns.hanging(at: .seconds(310)) == [])
        #expect(turns.hanging(at: .seconds(311)) == [.router])
        #expect(turns.hanging(at: .seconds(600)) == [.router, .dispatcher])
        turns.begin(.router, at: .seconds(600))
        turns.end(.dispatcher)
        #expect(turns.hanging(at: .seconds(601)) == [])
    }

    @Test(.timeLimit(.minutes(5))) func `an engine that waits for work does not count as hanging`() async throws {
        // The clock moves only while the poller, the timers and the maintenance sleep, so a slow machine moves it no sooner.
        let bench = try Bench(clock: TestClock(settlingYields: 1))
        let source = bench.source()
        let shelf = try await bench.shelf("rule: daily\non: {every: 1d}\ndo: [{log: hello}]", sources: [source])
        let engine = bench.engine(shelf: shelf, sources: [source])
        let running = Task { try await engine.run() }
        try await bench.clock.run(until: bench.now + .seconds(3600), awaiting: 3)
        // A loop that was just woken may be in the middle of a turn. A waiting loop that counts as hanging would stay so.
        try await waitUntil { engine.hangingLoops == [] }
        running.cancel()
        _ = await running.result
    }

    @Test(.timeLimit(.minutes(5))) func `loops that retry while the store refuses changes do not count as hanging`() async throws
    {
        let bench = try Bench(clock: TestClock(settlingYields: 1))
        let source = bench.source()
        let shelf = try await bench.shelf("rule: new\non: task_created\ndo: [{log: hello}]", sources: [source])
        try await bench.store.append([.created(1, at: bench.now)])
        bench.store.fail { $0 == .route || $0 == .register ? .before : nil }
        let engine = bench.engine(shelf: shelf, sources: [source])
        let running = Task { try await engine.run() }
        // The poller, the maintenance and the router, which waits for its next try.
        try await bench.clock.run(until: bench.now + .seconds(900), awaiting: 3)
        #expect(engine.hangingLoops == [])
        bench.store.stopFailing()
        running.cancel()
        _ = await running.result
    }

    @Test(.timeLimit(.minutes(5))) func `maintenance that deletes very many rows does not count as hanging`() async throws {
        let bench = try Bench()
        bench.store.interrupt(.prune) { try? await bench.clock.sleep(for: .seconds(900)) }
        let maintaining = Task { await Maintenance(bench.context, retention: Retention()).run() }
        try await bench.clock.run(until: bench.now + .seconds(600), awaiting: 1)
        #expect(bench.context.turns.hanging(at: bench.clock.elapsed) == [])
        await maintaining.stop()
    }
}
