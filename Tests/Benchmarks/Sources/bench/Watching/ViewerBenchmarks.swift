import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures how much viewers of the console slow the agent.
enum ViewerBenchmarks {
    static let all = [
        Benchmark(name: "console.viewers", summary: "routing while 1,000 people watch the events as they come", run: run)
    ]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let (people, count) = (bench.size(1000), bench.size(20_000))
        let rules = RuleSet(count: 100)
        let book = try rules.book()
        let store = try Stores.open("\(bench.folder)/viewers.db")
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals([]))
        let shelf = RuleShelf()
        try await shelf.install(book, in: context)
        let router = Router(context, shelf: shelf, batch: 1000)
        var seed: UInt64 = 100
        /// The seconds for new events, from storing them until they are routed.
        func route(_ count: Int) async throws -> Double {
            seed += 1
            let events = rules.events(count, seed: seed, at: SystemClock().now)
            return try await Stopwatch.seconds {
                for start in stride(from: 0, to: count, by: 1000) {
                    try await store.append(Array(events[start..<min(start + 1000, count)]))
                    context.bells.router.ring()
                    _ = try await router.routePending()
                }
            }
        }
        let measured = try await ConsoleUnderTest.serving(context, book) { console in
            /// Connects viewers, and shows by an event for each that all watch.
            func connected() async throws -> Viewers {
                let viewers = try Viewers(people, port: console.port)
                while viewers.events.fewest == 0 {
                    _ = try await route(10)
                    try await Task.sleep(for: .milliseconds(200))
                }
                return viewers
            }
            // Storing becomes slower while the store grows from nothing.
            bench.say("\(10 * count) events before")
            for _ in 0..<10 { _ = try await route(count) }
            var (alone, watched): ([Double], [Double]) = ([try await route(count)], [])
            var sent = 0
            for round in 0..<bench.repetitions * 2 {
                bench.say("\(people) viewers connect, round \(round + 1)")
                let viewers = try await connected()
                let before = viewers.events.all
                watched.append(try await route(count))
                sent += viewers.events.all - before
                try await viewers.stop()
                try await Task.sleep(for: .seconds(1))
                alone.append(try await route(count))
            }
            bench.say("how late the last viewer sees an event")
            let viewers = try await connected()
            try await Task.sleep(for: .seconds(3))
            let before = viewers.events.fewest
            let late = try await Stopwatch.seconds {
                _ = try await route(10)
                try await viewers.waitUntilEach(has: before + 10, atMost: 60)
            }
            try await viewers.stop()
            // Each round beside those just before and after it.
            let beside = watched.indices.map { (alone[$0] + alone[$0 + 1]) / 2 }
            let slowing = zip(watched, beside).map { $0 / $1 }.median
            return (beside.median, beside.median * slowing, sent / watched.count, late)
        }
        try await store.close()
        let (alone, watched, sent, late) = measured
        return [
            Measurement(
                "console.viewers", .rate(Double(count) / watched, of: "events"),
                beside: .init(name: "the same without viewers", quantity: .rate(Double(count) / alone, of: "events")),
                aim: .ratio(atLeast: 0.95),
                remark:
                    "\(people) viewers on this machine; \(count) events at once, stored and routed through 100 rules, each time beside the same "
                    + "without viewers. Meanwhile \(Quantity.grouped(Double(sent))) events were sent, and the rest later."),
            Measurement(
                "console.late", .time(late), aim: .figure(atMost: 2),
                remark: "From storing 10 events until the last of \(people) viewers has all of them."),
        ]
    }
}
