import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures events through rules to deliveries.
enum RoutingBenchmarks {
    static let all = [
        Benchmark(name: "route.durable", summary: "events from the store through 100 rules to delivery rows (T2)", run: durable),
        Benchmark(name: "route.memory", summary: "routing alone, in memory, through 100, 10 and 1,000 rules", run: memory),
    ]

    private static let batch = 1000

    // MARK: From the store to the store

    private static func durable(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let rules = RuleSet(count: 100)
        let book = try rules.book()
        let events = rules.events(count, seed: 3, at: SystemClock().now)
        var (ours, processor, plain): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            let path = "\(bench.folder)/route-\(round).db"
            let run = try await route(events, book, path)
            ours.append(run.time)
            processor.append(run.processor)
            plain.append(try insert(from: path, to: "\(bench.folder)/plain-\(round).db", batches: count / batch))
        }
        return [
            Measurement(
                "route.durable", .rate(Double(count) / ours.median, of: "events"),
                beside: .init(
                    name: "plain SQLite inserts of the delivery rows", quantity: .rate(Double(count) / plain.median, of: "events")
                ),
                aim: .figure(atLeast: 30_000),
                remark:
                    "\(count) events, of which one in ten makes a delivery; \(batch) events per transaction, as many as the plain inserts; "
                    + "\(Quantity.figures(processor.median / Double(count) * 1e6)) µs of processor time per event.")
        ]
    }

    private static func route(_ events: [Event], _ book: RuleBook, _ path: String) async throws -> (
        time: Double, processor: Double
    ) {
        let store = try Stores.open(path)
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals())
        let shelf = RuleShelf()
        try await shelf.install(book, in: context)
        try await store.append(events, inBatchesOf: 10_000)
        let router = Router(context, shelf: shelf, batch: batch)
        let before = Machine.processorTime
        let time = try await Stopwatch.seconds {
            let routed = try await router.routePending()
            guard routed == events.count else { throw BenchError("\(routed) of \(events.count) events were routed") }
        }
        let processor = Machine.processorTime - before
        let made = try await store.status(at: SystemClock().now).deliveries.values.reduce(0, +)
        guard made == (events.count + 9) / 10 else { throw BenchError("\(made) deliveries were made of \(events.count) events") }
        try await store.close()
        return (time, processor)
    }

    private static func insert(from store: String, to path: String, batches: Int) throws -> Double {
        let model = try PlainSQLite(store)
        let rows = try model.rows("SELECT * FROM delivery")
        let plain = try PlainSQLite(path)
        for statement in try model.schema(of: ["delivery"]) { try plain.execute(statement) }
        let size = (rows.count + batches - 1) / batches
        return try Stopwatch.seconds {
            for start in stride(from: 0, to: rows.count, by: size) {
                try plain.execute("BEGIN IMMEDIATE")
                try plain.insert(rows[start..<min(start + size, rows.count)], into: "delivery")
                try plain.execute("COMMIT")
            }
        }
    }

    // MARK: In memory

    private static func memory(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(200_000) / Passage.size * Passage.size
        let hundred = try Passage(rules: 100, events: count)
        let (ten, thousand) = (try Passage(rules: 10, events: count), try Passage(rules: 1000, events: count))
        var (ours, bare, few, many): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        // They alternate in each round, so that disturbances affect all of them.
        for _ in 0..<(bench.repetitions + 2) {
            ours.append(try hundred.run())
            bare.append(hundred.runBare())
            few.append(try ten.run())
            many.append(try thousand.run())
        }
        return [
            Measurement(
                "route.memory", .rate(Double(count) / ours.median, of: "events"),
                beside: .init(
                    name: "three dictionary look-ups per event", quantity: .rate(Double(count) / bare.median, of: "events")),
                aim: .figure(atLeast: 1_000_000),
                remark:
                    "\(Quantity.figures(ours.median / Double(count) * 1e9)) ns of processor time per event: matching, and the deliveries of one in ten."
            ),
            Measurement(
                "route.1000-rules", .time(many.median / Double(count)),
                beside: .init(name: "10 rules", quantity: .time(few.median / Double(count))), aim: .ratio(atMost: 2),
                remark: "The processor time per event: \(Quantity.figures(many.median / Double(count) * 1e9)) ns beside "
                    + "\(Quantity.figures(few.median / Double(count) * 1e9)) ns."),
        ]
    }

    /// Events routed through many rules.
    private struct Passage {
        let book: RuleBook
        /// The number of events: as many as the router reads in a batch. They are routed repeatedly, so they are cached, like
        /// events that were just read.
        static let size = batch
        let batches: [[StoredEvent]]
        let passes: Int
        let expected: Int
        let now = SystemClock().now
        let groups: [String: Int]

        init(rules: Int, events count: Int) throws {
            let set = RuleSet(count: rules)
            book = try set.book()
            passes = count / Self.size
            expected = count / 10
            let events = set.events(Self.size, seed: 4, at: now).enumerated().map {
                StoredEvent(sequence: Int64($0 + 1), event: $1)
            }
            batches = stride(from: 0, to: Self.size, by: batch).map { Array(events[$0..<min($0 + batch, Self.size)]) }
            groups = Dictionary(uniqueKeysWithValues: (0..<rules).map { (RuleSet.group($0), $0) })
        }

        /// The seconds for all of them.
        func run() throws -> Double {
            var made = 0
            let time = Stopwatch.processorSeconds {
                for events in repeatElement(batches, count: passes).joined() {
                    let matches = book.match(events, since: [:])
                    made += book.decide(matches, RoutingFacts(state: [:], tasks: [:]), at: now).complete.deliveries.count
                }
            }
            guard made == expected else { throw BenchError("\(made) deliveries instead of \(expected)") }
            return time
        }

        /// The seconds for the unavoidable work: finding the task's group and the rules for it.
        func runBare() -> Double {
            var found = 0
            let time = Stopwatch.processorSeconds {
                for events in repeatElement(batches, count: passes).joined() {
                    for stored in events {
                        guard let fields = stored.event.data["task"]?["fields"] else { continue }
                        if case .string(let group)? = fields["assignment_group"], groups[group] != nil { found += 1 }
                    }
                }
            }
            return found < 0 ? 0 : time
        }
    }
}
