import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@Suite struct `Refreshing details` {
    @Test func `the details of up to 200 tasks are read at every poll`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<200))
        var poller = bench.poller(source)
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        #expect(source.requests.details.map(\.count) == [200, 200, 200])
    }

    @Test func `the details of more than 200 tasks are read when they are a quarter of an hour old`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<201))
        var poller = bench.poller(source)
        for _ in 0...15 {
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(source.requests.details.map(\.count) == [201])
        await bench.clock.advance(by: .seconds(1))
        _ = try await poller.pollOnce()
        #expect(source.requests.details.map(\.count) == [201, 201])
    }

    @Test func `a configured interval is respected, however few the tasks`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<5))
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(300)))
        var poller = bench.poller(source, plan)
        for _ in 0..<5 {
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(120))
        }
        #expect(source.requests.details.map(\.count) == [5, 5])
    }

    @Test func `one poll refreshes a limited number of tasks, the oldest details first`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(60), batch: 2))
        var (bench, source, poller) = try await Bench.polled(tasks(0..<5), plan)
        await bench.clock.advance(by: .seconds(120))
        for _ in 0..<3 {
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(1))
        }
        #expect(source.requests.details.dropFirst() == [["t0", "t1"], ["t2", "t3"], ["t4"]])
    }

    @Test func `a task that changed in the listing is read at once, with new and missing tasks`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(3600)))
        var (_, source, poller) = try await Bench.polled(tasks(0..<5), plan)
        source.put(task("t3", "another title"))
        source.put(task("new"))
        source.remove("t1")
        _ = try await poller.pollOnce()
        #expect(source.requests.details.dropFirst() == [["new", "t3", "t1"]])
    }

    @Test func `a change in a field that is not listed is found when the details are read again`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(600)))
        var (bench, source, poller) = try await Bench.polled(tasks(0..<5), plan)
        source.put(task("t1", "printer on fire", ["priority": 1]))
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == [])
        // The poll in between finds no change, and our update before it still counts as the cause.
        await bench.clock.advance(by: .seconds(300))
        try await bench.update("t1", ["priority": "1"], hop: 1)
        await bench.clock.advance(by: .seconds(200))
        _ = try await poller.pollOnce()
        await bench.clock.advance(by: .seconds(200))
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == ["task_changed t1 priority: 3 → 1"])
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [2])
    }
}
