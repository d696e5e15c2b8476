import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// The current activity of sources, and the time of their last good poll.
@Suite(.timeLimit(.minutes(5))) struct `Polls in progress` {
    @Test func `a source that is preparing or being polled is listed with its start time until that ends`() async throws {
        let bench = try Bench()
        let start = bench.now
        let preparing = ScriptedSource("preparing", instance: "https://a.example", clock: bench.clock, preparation: .days(1))
        let polled = ScriptedSource(
            "polled", tasks: tasks(0..<2), instance: "https://b.example", clock: bench.clock, delay: .seconds(300))
        let quick = bench.source(tasks(0..<2))
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let engine = bench.engine(shelf: shelf, sources: [preparing, polled, quick])
        let service = runAsService(engine)
        try await waitUntil { bench.recorder.count("source.baseline") != 0 }
        await bench.run(until: start + .seconds(30))
        #expect(
            engine.underway == [
                "preparing": SourceActivity(kind: .preparing, since: start),
                "polled": SourceActivity(kind: .polling, since: start),
            ])
        await bench.run(until: start + .seconds(301))
        #expect(engine.underway["polled"] == SourceActivity(kind: .polling, since: start + .seconds(300)), "its next poll")
        try await service.stop()
        #expect(engine.underway.isEmpty)
    }

    @Test func `the time of the last good poll is stored when the agent stops`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let service = runAsService(bench.engine(shelf: shelf, sources: [source]))
        await bench.run(until: bench.now + .seconds(301))
        let last = try #require(source.requests.lists.last)
        #expect(source.requests.lists.count > 4)
        try await service.stop()
        #expect(try await bench.store.status().sources.first?.health.lastSuccess == last)
    }

    @Test func `a single pass stores the time of its poll even without changes`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let engine = bench.engine(shelf: shelf, sources: [source])
        _ = try await engine.runOnce()
        await bench.clock.advance(by: .seconds(90))
        _ = try await engine.runOnce()
        #expect(try await bench.store.status().sources.first?.health.lastSuccess == bench.now)
    }

    @Test func `polls without changes store their time every ten minutes`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        let start = bench.now
        try await bench.whilePolling(source) {
            await bench.run(until: start + .seconds(590))
            #expect(try await bench.store.status().sources.first?.health.lastSuccess == start)
            await bench.run(until: start + .seconds(1190))
            let kept = try #require(try await bench.store.status().sources.first?.health.lastSuccess)
            #expect(kept >= start + .seconds(600) && kept <= start + .seconds(660))
        }
    }
}
