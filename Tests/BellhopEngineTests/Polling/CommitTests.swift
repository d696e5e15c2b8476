import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Committing a poll: as a whole or not at all, and once (T1).
@Suite struct `Committing a poll` {
    /// A bench with a source in which one task appeared, one changed and one left since the baseline.
    private func changed() async throws -> (bench: Bench, source: ScriptedSource) {
        let (bench, source, _) = try await Bench.polled(tasks(0..<3))
        source.put(task("new"))
        source.put(task("t1", "another title"))
        source.remove("t0", because: .closed)
        return (bench, source)
    }

    private let all = [
        "task_created new", #"task_changed t1 title: "printer on fire" → "another title""#, "task_removed t0 closed",
    ]

    @Test func `whichever statement fails, a poll is stored completely or not at all`() async throws {
        for count in 1...200 {
            let (bench, source) = try await changed()
            var poller = bench.poller(source)
            bench.fail(statement: count)
            do {
                _ = try await poller.pollOnce()
                #expect(!bench.stopFailing())
                #expect(try await bench.eventLines() == all)
                #expect(count > 10)
                return
            } catch {
                bench.stopFailing()
                #expect(try await bench.eventLines() == [], "statement \(count) left something behind")
            }
            // Neither the same poller nor one after a restart loses or doubles an event.
            if count.isMultiple(of: 2) { poller = bench.poller(source) }
            for _ in 0..<2 { _ = try await poller.pollOnce() }
            #expect(try await bench.eventLines() == all)
        }
        #expect(Bool(false), "no run completed without a failing statement")
    }

    @Test(arguments: [FaultyStore.Call.open, .remembered, .writes, .commit], [FaultyStore.Moment.before, .after])
    func `a poll whose store fails or loses its answer reports each change once, with the same poller or after a restart`(
        _ call: FaultyStore.Call, _ moment: FaultyStore.Moment
    ) async throws {
        for isRestarted in [true, false] {
            let (bench, source) = try await changed()
            var poller = bench.poller(source)
            bench.store.failOnce(call, moment)
            await #expect(throws: StoreError.self) { _ = try await poller.pollOnce() }
            if isRestarted { poller = bench.poller(source) }
            for _ in 0..<3 { _ = try await poller.pollOnce() }
            #expect(try await bench.eventLines() == all)
        }
    }

    @Test func `a failure to read details fails the whole poll, and none of it is stored`() async throws {
        let (bench, source) = try await changed()
        var poller = bench.poller(source)
        source.edit { $0.details = [Failure(.cut, .retry(after: nil), "cut")] }
        #expect(try await poller.pollOnce().isFailed)
        #expect(try await bench.eventLines() == [])
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == all)
    }

    @Test func `a poll based on an outdated state is dropped, and the next one starts from the current state`() async throws {
        let (bench, source) = try await changed()
        var slow = bench.poller(source)
        #expect(try await slow.pollOnce().events == 3)
        source.put(task("newer"))
        var other = bench.poller(source)
        #expect(try await other.pollOnce().events == 1)
        source.put(task("newest"))
        #expect(try await slow.pollOnce().isSuperseded)
        #expect(bench.recorder.count("source.superseded") == 1)
        #expect(try await bench.eventLines() == all + ["task_created newer"])
        #expect(try await slow.pollOnce().events == 1)
        #expect(try await bench.eventLines() == all + ["task_created newer", "task_created newest"])
    }

    @Test func `an answer equal to the one before is not processed further`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(3600)))
        var (bench, source, poller) = try await Bench.polled(tasks(0..<3), plan)
        bench.store.fail { [.commit, .setHealth, .remembered].contains($0) ? .before : nil }
        for _ in 0..<3 { #expect(try await poller.pollOnce().isUnchanged) }
        #expect(source.requests.details.count == 1)
    }

    @Test func `the source's cursor is stored with the poll`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        source.edit { $0.cursor = Cursor(["from": 1]) }
        var poller = try await bench.polled(source)
        source.edit { $0.cursor = Cursor(["from": 2]) }
        _ = try await poller.pollOnce()
        _ = try await bench.polled(source)
        #expect(source.requests.cursors == [nil, Cursor(["from": 1]), Cursor(["from": 2])])
    }
}
