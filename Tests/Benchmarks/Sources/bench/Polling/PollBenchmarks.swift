import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopStore

/// Measures a poll of a million tasks without changes: scan and compare.
enum PollBenchmarks {
    static let all = [Benchmark(name: "poll", summary: "unchanged polls of 1,000,000 tasks, and their memory", run: run)]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1_000_000)
        let source = BodySource(TrackerAnswer.body(tasks: count))
        let size = source.look { $0.count }
        bench.say("\(count) tasks, \(size / 1_000_000) MB; storing them")
        let path = bench.folder + "/poll.db"
        try await remember(source, in: path)
        let store = try Stores.open(path)
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals())
        Machine.giveBackMemory()
        try Machine.resetPeak()
        let before = Machine.memory("VmRSS") ?? 0
        var poller = Poller(source, plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        let first = try await Stopwatch.seconds { try await poll(&poller) }
        let opening = (Machine.memory("VmHWM") ?? 0) - before
        try Machine.resetPeak()

        // The processor time of all threads, which other processes hardly affect, and the elapsed time.
        var (loop, hash, changed, same): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        var (fast, waits): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            loop.append(Stopwatch.processorSeconds { source.look { keep(StructuralLoop.plain($0)) } })
            fast.append(Stopwatch.processorSeconds { source.look { keep(StructuralLoop.branchFree($0)) } })
            hash.append(
                Stopwatch.processorSeconds { source.look { keep(Int(truncatingIfNeeded: Fingerprint(content: $0).low)) } })
            source.touch()
            var start = Machine.processorTime
            waits.append(try await Stopwatch.seconds { try await poll(&poller) })
            changed.append(Machine.processorTime - start)
            start = Machine.processorTime
            try await poll(&poller)
            same.append(Machine.processorTime - start)
        }
        let peak = (Machine.memory("VmHWM") ?? 0) - before
        try await store.close()
        let yardstick = Measurement.Yardstick(
            name: "a loop that finds each of \"{}[]:,", quantity: .throughput(Double(size) / loop.median))
        return [
            Measurement(
                "poll.unchanged", .throughput(Double(size) / changed.median), beside: yardstick, aim: .ratio(atLeast: 0.5),
                remark:
                    "\(count) tasks in \(size / 1_000_000) MB, of which one byte differs from the last answer; whole polls of the "
                    + "agent's poller over a body in memory, without HTTP: \(Quantity.time(changed.median)) of processor and \(Quantity.time(waits.median)) in all "
                    + "each, \(Quantity.time(first)) with reading the store first."),
            Measurement(
                "poll.unchanged-fast", .throughput(Double(size) / changed.median),
                beside: .init(name: "the same without branches", quantity: .throughput(Double(size) / fast.median))),
            Measurement(
                "poll.same-bytes", .throughput(Double(size) / same.median), beside: yardstick, aim: .ratio(atLeast: 0.5),
                remark: "The answer has the last one's fingerprint: \(Quantity.time(same.median)); the fingerprint alone takes "
                    + "\(Quantity.time(hash.median))."),
            Measurement(
                "poll.memory", .memory(Double(max(opening, peak)) / Double(count), per: "task"),
                beside: .init(name: "the body itself", quantity: .memory(Double(size) / Double(count), per: "task")),
                aim: .figure(atMost: 200),
                remark:
                    "The peak besides the body, which is already in memory and was not received over HTTP: \(Quantity.memory(Double(opening) / Double(count), per: "task")) in the first poll, which "
                    + "reads the store, \(Quantity.memory(Double(peak) / Double(count), per: "task")) in later polls."),
        ]
    }

    private static func poll(_ poller: inout Poller) async throws {
        let outcome = try await poller.pollOnce()
        guard case .unchanged = outcome else { throw BenchError("the poll found changes: \(outcome)") }
    }

    /// Stores the tasks of an answer, as a first poll would.
    private static func remember(_ source: BodySource, in path: String) async throws {
        let store = try Stores.open(path)
        let now = SystemClock().now
        var turn = try await store.open(Tasks.scope, source: Tasks.source, at: now).turn
        let listing = try await source.list(from: LastPoll()).listing
        var next = listing.entries.startIndex
        while next < listing.entries.endIndex {
            let end = min(next + 20_000, listing.entries.endIndex)
            let present = listing.entries[next..<end].map { entry in
                PollCommit.PresentTask(
                    text: SnapshotText(Snapshot(key: entry.key)), listed: entry.fingerprint, content: entry.fingerprint,
                    generation: 1, refreshed: now)
            }
            let commit = PollCommit(
                scope: Tasks.scope.id, source: Tasks.source, expectedTurn: turn, at: now,
                answer: Fingerprint(content: "another"), present: present, health: SourceHealth(lastSuccess: now))
            guard case .committed(let committed, _) = try await store.commit(commit) else {
                throw BenchError("a poll was superseded")
            }
            turn = committed
            next = end
        }
        try await store.close()
    }

    /// Keeps the optimiser from removing a result.
    @inline(never)
    private static func keep(_ value: Int) {}
}
