import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore

/// Measures how fast pages of the console open over a full store.
enum PageBenchmarks {
    static let all = [Benchmark(name: "console.pages", summary: "pages of the console over 1,000,000 stored events", run: run)]

    private static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1_000_000)
        let rules = RuleSet(count: 100)
        let book = try rules.book()
        let store = try Stores.open("\(bench.folder)/pages.db")
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals([]))
        let shelf = RuleShelf()
        try await shelf.install(book, in: context)
        let router = Router(context, shelf: shelf, batch: 1000)
        let start = SystemClock().now - .seconds(7 * 86_400)
        bench.say("\(count) events are stored and routed")
        for first in stride(from: 0, to: count, by: 10_000) {
            var events = rules.events(min(10_000, count - first), seed: UInt64(first + 9), at: start)
            // Spread over a week.
            for place in events.indices {
                events[place].time = start + .microseconds(Int64(first + place) * (7 * 86_400_000_000 / Int64(count)))
            }
            try await store.append(events)
            _ = try await router.routePending()
        }
        let event = try await store.events(EventQuery(through: Int64(count / 2), limit: 1)).events.last
        let measured = try await ConsoleUnderTest.serving(context, book) { console in
            let cookie = try await console.logIn()
            let rounds = 4 * bench.repetitions + 1
            func times(_ path: String, status: UInt = 200, shows: String = "") async throws -> Double {
                var times: [Double] = []
                for _ in 0...rounds {
                    let (text, time) = try await console.open(path, cookie: cookie, status: status)
                    guard shows.isEmpty || text.contains(shows) else { throw BenchError("\(path) does not show \(shows)") }
                    times.append(time)
                }
                // The first one fills caches.
                return times.dropFirst().map(\.self).median
            }
            let bare = try await times("/nothing", status: 404)
            let pages: [(String, String, String, Bool)] = [
                ("overview", "/", "\(count >= 1000 ? "aria-label" : "")", true), ("events", "/events", "task_created", true),
                ("older-events", "/events?before=\(count / 2)", "task_created", true),
                ("search", "/events?where=task.priority%20%3D%3D%201", "task_created", true),
                ("search-in-vain", "/events?where=task.title.contains(%22no%20such%20words%22)", "Older", true),
                ("event", "/events/\(event?.event.id.text ?? "")", event?.event.task?.number ?? "", false),
                ("rules", "/rules", "team-1", true), ("rule", "/rules/team-1", "team-1", false),
                ("deliveries", "/deliveries", "team-", true),
                ("task", "/tasks/\(event?.event.task?.number ?? "")", event?.event.type.name ?? "", false),
            ]
            var found: [(String, String, Double, Bool)] = []
            for (name, path, shown, isJudged) in pages {
                bench.say(path)
                // Small stores have no older page.
                let isSmall = count <= 20_000 && name == "search-in-vain"
                found.append((name, path, try await times(path, shows: isSmall ? "" : shown), isJudged))
            }
            return (bare, found)
        }
        try await store.close()
        let (bare, pages) = measured
        return pages.map { name, path, time, isJudged in
            Measurement(
                "console.\(name)", .time(time),
                beside: .init(name: "a page that reads nothing, same client", quantity: .time(bare)),
                aim: isJudged ? .figure(atMost: 0.1) : nil,
                remark: "`\(path.prefix(60))`, from the request to the end of the answer.")
        }
    }
}
