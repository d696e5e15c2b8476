import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@Suite struct `The same change in many tasks` {
    @Test func `the same change in over a hundred tasks is held until the next poll shows it again, and reported once`()
        async throws
    {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<300))
        source.set(tasks(0..<300, "upgraded"))
        #expect(try await poller.pollOnce().isHeld)
        let event = try #require(try await bench.store.events(EventQuery()).map(\.event).last)
        #expect(event.type == .sourceHeld)
        #expect(event.data["fields"] == ["title"])
        #expect(event.data["counts"]?["changed"] == 300)
        await bench.clock.advance(by: .seconds(60))
        var restarted = bench.poller(source)
        #expect(try await restarted.pollOnce().events == 300)
        #expect(try await restarted.pollOnce().isUnchanged)
        #expect(try await bench.eventLines().count { $0.hasPrefix("source_held") } == 1)
    }

    @Test func `a held change that was a fault leaves no events`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<300))
        source.set(tasks(0..<300, ""))
        #expect(try await poller.pollOnce().isHeld)
        source.set(tasks(0..<300))
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await bench.eventLines().count == 1)
    }

    @Test func `a change that spreads from poll to poll is accepted at the second poll`() async throws {
        var (_, source, poller) = try await Bench.polled(tasks(0..<400))
        source.set(tasks(0..<150, "moved") + tasks(150..<400))
        #expect(try await poller.pollOnce().isHeld)
        source.set(tasks(0..<300, "moved") + tasks(300..<400))
        #expect(try await poller.pollOnce().events == 300)
    }

    @Test func `the same change in a hundred tasks, or different changes, are accepted at once`() async throws {
        var (_, source, poller) = try await Bench.polled(tasks(0..<300))
        source.set(tasks(0..<100, "upgraded") + tasks(100..<300))
        #expect(try await poller.pollOnce().events == 100)
        source.set(
            tasks(0..<100, "upgraded") + (100..<200).map { task("t\($0)", "other") }
                + (200..<300).map { task("t\($0)", "other", ["priority": 1]) })
        #expect(try await poller.pollOnce().events == 200)
    }

    @Test func `without storm protection the same change, and a mostly different list, are accepted at once`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), storms: StormGuard(mayHold: false))
        var (bench, source, poller) = try await Bench.polled(tasks(0..<300), plan)
        source.set(tasks(0..<300, "upgraded"))
        #expect(try await poller.pollOnce().events == 300)
        source.set(tasks(0..<10, "upgraded"))
        #expect(try await poller.pollOnce().events == 290)
        #expect(try await bench.eventLines().count { $0.hasPrefix("source_held") } == 0)
    }
}
