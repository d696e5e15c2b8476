import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Empty lists of sources whose tasks still exist.
@Suite struct `Falsely empty lists` {
    private func types(_ bench: Bench) async throws -> [String] {
        try await bench.eventLines().map { String($0.prefix { $0 != " " }) }
    }

    // MARK: With known tasks

    @Test(arguments: [1, 15, 40])
    func `a falsely empty list removes no task whose own record exists, however long it stays empty`(_ count: Int) async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<count))
        source.edit { $0.lists = Array(repeating: .empty, count: 100) }
        for _ in 0..<20 {
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        source.edit { $0.lists = [] }
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await types(bench) == (count >= 20 ? ["source_held"] : []))
        #expect(bench.recorder.count("source.notice") == 1)
        #expect(try await bench.store.tasks(in: [source.scope.id])[source.scope.id]?.count == count)
    }

    @Test func `an empty list removes the tasks whose own records show that they left`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<15))
        source.set(tasks(3..<15))
        source.edit { state in
            state.lists = [.empty, .empty]
            state.departures = [TaskKey("t0"): .closed, TaskKey("t1"): .leftQuery]
        }
        #expect(try await poller.pollOnce().events == 3)
        #expect(try await bench.eventLines() == ["task_removed t0 closed", "task_removed t1 left_query", "task_removed t2 gone"])
        #expect(try await poller.pollOnce().isUnchanged)
    }

    @Test(arguments: [(2, false), (15, false), (40, false), (15, true)])
    func `an empty list that no record explains is accepted if it is still empty after five minutes`(
        _ count: Int, _ hasRecords: Bool
    ) async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<count))
        source.edit { $0.hasRecords = hasRecords }
        source.set([])
        for _ in 0..<5 {
            #expect(try await poller.pollOnce().isHeld)
            await bench.clock.advance(by: .seconds(60))
            poller = bench.poller(source)  // a restart changes nothing
        }
        #expect(try await poller.pollOnce().events == count)
        #expect(try await types(bench) == ["source_held"] + Array(repeating: "task_removed", count: count))
    }

    @Test func `an empty list that no record explains leaves no events once the tasks are back`() async throws {
        var (bench, source, poller) = try await Bench.polled(tasks(0..<15))
        source.edit { state in
            state.hasRecords = false
            state.lists = Array(repeating: .empty, count: 4)
        }
        for _ in 0..<3 {
            #expect(try await poller.pollOnce().isHeld)
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await types(bench) == ["source_held"])
    }

    @Test func `an empty list is checked again after five minutes, however long the poll interval`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        source.edit { $0.hasRecords = false }
        let clock = bench.clock
        try await bench.whilePolling(source, PollPlan(cadence: .every(.seconds(3600)))) {
            try await clock.waitForSleepers(1)
            source.set([])
            try await clock.run(until: clock.now + .seconds(3600 + 300), awaiting: 1)
        }
        #expect(try await types(bench) == ["source_held", "task_removed", "task_removed", "task_removed"])
    }

    @Test func `the records of missing tasks are read in portions, each task once`() async throws {
        let bench = try Bench()
        let source = ScriptedSource(tasks: tasks(0..<30), clock: bench.clock, maxDepartures: 10)
        source.edit { $0.reason = .closed }
        var poller = try await bench.polled(source)
        source.set(tasks(0..<5))
        #expect(try await poller.pollOnce().isHeld)
        let before = source.requests.details.count
        #expect(try await poller.pollOnce().events == 10)
        #expect(try await poller.pollOnce().events == 10)
        #expect(try await poller.pollOnce().events == 5)
        let left = Set((5..<30).map { TaskKey("t\($0)") })
        let portions = source.requests.details.dropFirst(before).map { keys in keys.count { left.contains($0) } }
        #expect(portions == [10, 10, 5])
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await types(bench) == ["source_held"] + Array(repeating: "task_removed", count: 25))
    }

    // MARK: At the first poll

    @Test func `old tasks behind a falsely empty first list are the baseline, not new tasks`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<8))
        source.edit { $0.lists = [.empty] }
        var first = bench.poller(source)
        #expect(try await first.pollOnce().isBaseline)
        await bench.clock.advance(by: .seconds(60))
        var poller = bench.poller(source)  // a restart changes nothing
        guard case .baseline(8) = try await poller.pollOnce() else { Issue.record("the poll was no baseline"); return }
        #expect(try await bench.eventLines() == [])
        #expect(bench.recorder.count("source.notice") == 1)
        source.set(tasks(0..<12))
        #expect(try await poller.pollOnce().events == 4)
    }

    @Test func `an empty first list is confirmed if it is still empty minutes later`() async throws {
        let (bench, source) = try Bench.with()
        var poller = bench.poller(source)
        for _ in 0..<6 {
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        poller = bench.poller(source)
        source.set(tasks(0..<8))
        #expect(try await poller.pollOnce().events == 8)
        #expect(bench.recorder.count("source.baseline") == 1)
    }

    @Test func `after an empty first list, a few tasks or tasks created later are reported as new`() async throws {
        var (bench, source, poller) = try await Bench.polled()
        await bench.clock.advance(by: .seconds(60))
        let made = JSON.string((bench.now - .seconds(1)).rfc3339)
        source.set((0..<200).map { task("t\($0)", "new", ["created": made]) } + tasks(200..<205))
        #expect(try await poller.pollOnce().events == 205)
    }

    @Test func `an empty first list is checked again after five minutes, however long the poll interval`() async throws {
        let (bench, source) = try Bench.with()
        let clock = bench.clock
        let start = clock.now
        try await bench.whilePolling(source, PollPlan(cadence: .every(.seconds(3600)))) {
            try await clock.run(until: clock.now + .seconds(600), awaiting: 1)
        }
        #expect(source.requests.lists.map { $0 - start } == [.zero, .seconds(300)])
    }

    @Test func `an empty first list is accepted at once without storm protection or with initial: emit`() async throws {
        for plan in [
            PollPlan(cadence: .every(.seconds(60)), storms: StormGuard(mayHold: false)),
            PollPlan(cadence: .every(.seconds(60)), emitsInitial: true),
        ] {
            var (_, source, poller) = try await Bench.polled([], plan)
            source.set(tasks(0..<8))
            #expect(try await poller.pollOnce().events == 8)
        }
    }
}
