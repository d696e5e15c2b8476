import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures `bellhop explain`.
enum ExplainBenchmarks {
    static let all = [
        Benchmark(
            name: "explain.task",
            summary: "explaining a task with 10,000 events and 100 rules, of which 20 wait, count or gather", run: run),
        Benchmark(
            name: "explain.records", summary: "T2 with the records of why rules stopped, beside T2 without them", run: records),
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
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals())
        let shelf = RuleShelf()
        try await shelf.install(try rules.book(), in: context)
        try await store.append(events)
        _ = try await Router(context, shelf: shelf, batch: 1000).routePending()
        let book = try RuleBook.loadToExplain(rules.files, context: RuleSet.context)
        var measurements: [Measurement] = []
        for (name, limit) in [("explain.task", 50), ("explain.long-story", 1000)] {
            var times: [Double] = []
            for _ in 0..<bench.repetitions {
                times.append(
                    try await Stopwatch.seconds {
                        let history = try await store.history(HistoryQuery(task: subject, limit: limit))
                        let explanation = Explanation(ExplanationFacts(history), by: book, at: SystemClock().now)
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

    // MARK: The cost of records

    private static let batch = 1000

    private static func records(_ bench: Bench) async throws -> [Measurement] {
        let few = try await cost(of: .everyFifth, bench)
        let many = try await cost(of: .all, bench)
        return [
            Measurement(
                "explain.records", .time(few.with), beside: .init(name: "without records", quantity: .time(few.without)),
                aim: .ratio(atMost: 1.05),
                remark:
                    "T2 of an event through 100 rules, of which 20 have a `throttle`: read, matched, decided, stored. Only the records are not stored. One event in ten fits a "
                    + "rule, one in fifty is stopped. If all rules have one, so that one in ten is stopped, the ratio is "
                    + "\(Quantity.figures(many.with / many.without))."),
            Measurement(
                "explain.record-bytes", .memory(many.bytes, per: "event"), aim: .figure(atMost: 64),
                remark: "What the file grows by for them if one event in ten is stopped, indexes included."),
        ]
    }

    /// The seconds that T2 takes for an event, with records and without, and the bytes that the records of an event take.
    private static func cost(
        of throttled: RuleSet.Throttled, _ bench: Bench
    ) async throws -> (with: Double, without: Double, bytes: Double) {
        let count = bench.size(100_000)
        var rules = RuleSet(count: 100)
        rules.throttled = throttled
        let book = try rules.book()
        let events = rules.events(count, seed: 11, at: SystemClock().now)
        var (with, without): ([Double], [Double]) = ([], [])
        var bytes = 0
        for round in 0..<(bench.repetitions + 2) {
            bench.say("round \(round + 1)")
            let (own, plain) = ("\(bench.folder)/\(throttled)-\(round).db", "\(bench.folder)/\(throttled)-\(round)-plain.db")
            // They alternate, so that neither profits from its place.
            for isRecorded in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let time = try await route(events, book, isRecorded ? own : plain, isRecorded: isRecorded)
                if isRecorded { with.append(time) } else { without.append(time) }
            }
            bytes = try Files.size(of: own) - Files.size(of: plain)
        }
        let each = 1 / Double(count)
        return (with.median * each, without.median * each, Double(bytes) * each)
    }

    /// The seconds in which all of these events are routed.
    private static func route(_ events: [Event], _ book: RuleBook, _ path: String, isRecorded: Bool) async throws -> Double {
        let store = try Stores.open(path)
        _ = try await store.register(book.registrations(at: SystemClock().now), at: SystemClock().now)
        try await store.append(events, inBatchesOf: 10_000)
        var records = 0
        let time = try await Stopwatch.seconds {
            while true {
                let first = try await store.unrouted(limit: batch)
                if first.isEmpty { break }
                let matches = book.match(first, since: [:])
                var facts = RoutingFacts()
                facts.add(
                    matches.needs, state: try await store.state(for: Array(matches.needs.state)), tasks: [:], events: [],
                    present: [:])
                var routing = book.decide(matches, facts, at: SystemClock().now).complete
                records += routing.decisions.count
                if !isRecorded { routing.decisions = [] }
                guard !routing.routed.isEmpty, case .stored = try await store.route(routing) else {
                    throw BenchError("a batch was not stored")
                }
            }
        }
        guard records > events.count / 100 else { throw BenchError("only \(records) records") }
        try await store.close()
        return time
    }
}
