import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures what `bellhop explain` reads and judges.
enum ExplainBenchmarks {
    static let all = [
        Benchmark(
            name: "explain.task",
            summary: "explaining a task with 10,000 events and 100 rules, of which 20 wait, count or gather",
            run: run)
    ]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(10_000)
        let rules = RuleSet(count: 100, hasWaits: true)
        let subject = "\(Tasks.scope.instance)/task"
        let events = rules.events(count, seed: 8, at: SystemClock().now).map { event in
            var event = event
            event.subject = subject
            return event
        }
        let store = try Stores.open("\(bench.folder)/explain.db")
        let surroundings = Surroundings(store: store, clock: SystemClock(), signals: Signals())
        let shelf = RuleShelf()
        try await shelf.install(try rules.book(), in: surroundings)
        try await store.append(events)
        _ = try await Router(surroundings, shelf: shelf, batch: 1000).routePending()
        let book = try RuleBook.loadToExplain(rules.files, surroundings: RuleSet.surroundings)
        var measurements: [Measurement] = []
        for (name, limit) in [("explain.task", 50), ("explain.long-story", 1000)] {
            var times: [Double] = []
            for _ in 0..<bench.repetitions {
                times.append(
                    try await Stopwatch.seconds {
                        let history = try await store.history(HistoryQuery(task: subject, limit: limit))
                        let explanation = Explanation(ExplanationFacts(history), by: book)
                        guard explanation.events.count == min(limit, count) else { throw BenchError("events are missing") }
                    })
            }
            measurements.append(
                Measurement(
                    name, .time(times.median), aim: limit == 50 ? .figure(atMost: 0.3) : nil,
                    remark: limit == 50 ? "The newest 50 of its events, as by default." : "The newest 1,000 of them."))
        }
        try await store.close()
        return measurements
    }
}
