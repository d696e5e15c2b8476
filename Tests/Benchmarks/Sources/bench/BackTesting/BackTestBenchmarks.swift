import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures `bellhop backtest`.
enum BackTestBenchmarks {
    static let all = [
        Benchmark(
            name: "backtest.events", summary: "1,000,000 stored events shown to 100 rules, of which 20 wait, count or gather",
            run: run)
    ]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1_000_000)
        let rules = RuleSet(count: 100, hasWaits: true)
        let book = try rules.book()
        let start = SystemClock().now - .seconds(7 * 86_400)
        let store = try Stores.open("\(bench.folder)/history.db")
        for first in stride(from: 0, to: count, by: 10_000) {
            var events = rules.events(min(10_000, count - first), seed: UInt64(first + 9), at: start)
            // Spread over a week.
            for place in events.indices { events[place].time = start + .milliseconds(600 * (first + place)) }
            try await store.append(events)
        }
        var report: BackTestReport?
        var time = 0.0
        var reading = 0.0
        reading = try await Stopwatch.seconds {
            var after: Int64 = 0
            while let end = try await store.events(EventQuery(after: after, limit: 1000)).end, end > after { after = end }
        }
        time = try await Stopwatch.seconds {
            report = try await BackTestRun.report(store, book, from: start, to: start + .seconds(8 * 86_400))
        }
        guard let report, report.events == count, report.deliveries.count > 0 else { throw BenchError("events are missing") }
        try await store.close()
        return [
            Measurement(
                "backtest.events", .time(time), beside: .init(name: "reading these events, alone", quantity: .time(reading)),
                aim: .figure(atMost: 60),
                remark: "\(report.deliveries.count) deliveries; one in ten events matches a rule, one in fifty a rule that waits."
            )
        ]
    }
}
