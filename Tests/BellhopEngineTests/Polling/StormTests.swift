import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Holding back results with very many changes until the next poll confirms them.
@Suite struct `The storm guard` {
    @Test(arguments: [0..<14, 0..<70, 30..<60])
    func `a result with mostly changes is held, and accepted when the next poll confirms it`(_ next: Range<Int>) async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<30))
        source.set(tasks(next))
        #expect(try await poller.pollOnce().isHeld)
        #expect(try await bench.eventLines().map { $0.prefix(11) } == ["source_held"])
        let expected = Set(0..<30).symmetricDifference(next).count
        #expect(try await poller.pollOnce().events == expected)
        #expect(try await bench.eventLines().count == expected + 1)
        #expect(try await poller.pollOnce().isUnchanged)
    }

    @Test func `a held result that was a fault leaves no events`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<30))
        source.set(tasks(0..<5))
        #expect(try await poller.pollOnce().isHeld)
        source.set(tasks(0..<30))
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await bench.eventLines().count == 1)
        // The same result counts as new if it comes again later.
        await bench.clock.advance(by: .seconds(60))
        source.set(tasks(0..<5))
        #expect(try await poller.pollOnce().isHeld)
        #expect(try await bench.eventLines().count == 2)
    }

    @Test func `a held result survives a restart`() async throws {
        let (bench, source, _) = try await Bench.polled(tasks(0..<30))
        source.set(tasks(0..<5))
        var first = bench.poller(source)
        #expect(try await first.pollOnce().isHeld)
        var second = bench.poller(source)
        #expect(try await second.pollOnce().events == 25)
    }

    @Test func `a failing poll between two equal results does not prevent the confirmation`() async throws {
        var (_, source, poller) = try await Bench.polled(tasks(0..<30))
        source.set(tasks(0..<5))
        #expect(try await poller.pollOnce().isHeld)
        source.edit { $0.lists = [.failure(Failure(.gateway, .retry(after: nil), "502"))] }
        #expect(try await poller.pollOnce().isFailed)
        #expect(try await poller.pollOnce().events == 25)
    }

    @Test func `a source that keeps changing is accepted after five polls, and reported as held once`() async throws {
        let (bench, source, _) = try await Bench.polled(tasks(0..<30))
        for poll in 1...4 {
            source.set(tasks(100..<150 + poll))
            var poller = bench.poller(source)  // a restart between polls changes nothing
            #expect(try await poller.pollOnce().isHeld)
            await bench.clock.advance(by: .seconds(60))
        }
        source.set(tasks(100..<160))
        var poller = bench.poller(source)
        #expect(try await poller.pollOnce().events == 30 + 60)
        #expect(try await bench.eventLines().count { $0.hasPrefix("source_held") } == 1)
        #expect(bench.recorder.count("source.held") == 4)
    }

    @Test func `a suddenly empty list is read a second time at once`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<3))
        source.edit { $0.lists = [.empty, .currentTasks] }
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(source.requests.lists.count == 3)
        #expect(try await bench.eventLines() == [])
        source.edit { $0.reason = .closed }
        source.set([])
        #expect(try await poller.pollOnce().events == 3)
        #expect(source.requests.lists.count == 5)
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(source.requests.lists.count == 6)
    }

    @Test func `an empty list of many tasks is held even if its second reading is empty too`() async throws {
        var (_, source, poller) = try await Bench.polled(tasks(0..<30))
        source.edit { $0.reason = .closed }
        source.set([])
        #expect(try await poller.pollOnce().isHeld)
        #expect(source.requests.lists.count == 3)
        #expect(try await poller.pollOnce().events == 30)
    }

    @Test func `a source whose failure ends with a held result has recovered`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<30))
        source.edit { $0.lists = Array(repeating: .failure(Failure(.gateway, .retry(after: nil), "502")), count: 3) }
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        source.set(tasks(0..<5))
        #expect(try await poller.pollOnce().isHeld)
        #expect(
            try await bench.eventLines().map { $0.split(separator: " ")[0] } == [
                "source_failing", "source_held", "source_recovered",
            ])
    }
}
