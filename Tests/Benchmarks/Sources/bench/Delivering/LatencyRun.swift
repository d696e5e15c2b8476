import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore
import Synchronization

/// The path of one new task: scanned, compared, stored (T1), routed (T2), claimed (T3), posted.
enum LatencyRun {
    static func run(_ bench: Bench) async throws -> [Measurement] {
        let rounds = bench.isQuick ? 20 : 200
        let receiver = LocalReceiver()
        let address = try await receiver.start()
        let clock = SystemClock()
        let store = try Stores.open(bench.folder + "/latency.db")
        let context = EngineContext(store: store, clock: clock, signals: Signals())
        let shelf = RuleShelf()
        try await shelf.install(try rules(address), in: context)
        let http = try HTTPConnection(.init(name: "local"), clock: clock)
        let action = WebhookAction(over: http, guarded: http)
        let dispatcher = Dispatcher(context) { _ in action }
        let router = Router(context, shelf: shelf)
        try await fill(store, bench.size(20_000), at: clock.now)
        try await router.routePending()
        let source = GrowingSource(tasks: 1000)
        var times: [Double] = []
        var syncs: [Double] = []
        let stop = StopFlag()
        async let dispatching: Void = dispatcher.run(until: stop)
        let routing = Task { await router.run() }
        var poller = Poller(source, plan: PollPlan(cadence: .every(.seconds(60))), in: context)
        _ = try await poller.pollOnce()
        for round in 0..<rounds + 5 {
            if round % 20 == 0 { syncs.append(try Machine.syncTime(in: bench.folder, count: 20)) }
            _ = receiver.takeFirstByte()
            source.grow()
            guard case .changed = try await poller.pollOnce() else { throw BenchError("a poll did not see the new task") }
            let arrival = try await firstByte(at: receiver)
            // The first few runs open connections and fill caches.
            if round >= 5 { times.append((arrival - source.lastByte).inSeconds) }
            // Wait until it is marked as done, so that it does not disturb the next run.
            while dispatcher.inFlight > 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        stop.raise()
        context.bells.dispatcher.ring()
        routing.cancel()
        await dispatching
        await routing.value
        try await http.shutdown()
        try await store.close()
        try await receiver.stop()
        let sync = syncs.median
        return [
            Measurement(
                "webhook.latency", .time(max(0, times.median - 3 * sync)),
                beside: .init(name: "three times a page to disk", quantity: .time(3 * sync)), aim: .figure(atMost: 0.005),
                remark: "From the last byte of a poll of 1,000 tasks to the first byte of the webhook for the new one: "
                    + "\(Quantity.time(times.median)) at the median, \(Quantity.time(times.quantile(0.99))) at the 99th percentile of "
                    + "\(times.count); the figure is the median without three fdatasync of one page.")
        ]
    }

    /// Adds events that match no rule. The write-ahead log then has its full length, as after some hours of use: commits that make it
    /// longer take longer.
    private static func fill(_ store: any Store, _ count: Int, at now: Timestamp) async throws {
        let events = Tasks.keys(count, seed: 8).enumerated().map {
            Tasks.event(.taskChanged, Tasks.snapshot($0.offset, key: $0.element), at: now)
        }
        try await store.append(events, inBatchesOf: 1000)
    }

    private static func rules(_ address: String) throws -> RuleBook {
        try RuleSet.book(
            """
            rule: alert
            on: task_created
            do:
              - webhook: {url: "\(address)", json: {number: "${{ task.number }}", title: "${{ task.title }}"}}

            """)
    }

    private static func firstByte(at receiver: LocalReceiver) async throws -> ContinuousClock.Instant {
        // The receiver records the time, so rare checks do not change the result.
        for _ in 0..<10_000 {
            try await Task.sleep(for: .milliseconds(2))
            if let instant = receiver.takeFirstByte() { return instant }
        }
        throw BenchError("no webhook arrived")
    }
}

/// A source that adds a task on request and records when its answer was complete.
///
/// A class with a mutex, because the benchmark changes it between the polls of a poller that holds it.
private final class GrowingSource: Source {
    private struct State {
        var body: [UInt8]
        var random = SeededRandom(seed: 7)
        var count: Int
        var lastByte = ContinuousClock.now
    }

    private let state: Mutex<State>
    let name = Tasks.source
    let scope = Tasks.scope
    let schema = Tasks.schema

    init(tasks count: Int) { state = Mutex(State(body: TrackerAnswer.body(tasks: count, seed: 6), count: count)) }

    var lastByte: ContinuousClock.Instant { state.withLock { $0.lastByte } }

    /// Adds a task to the answer's last group.
    func grow() {
        state.withLock { state in
            state.body.removeLast("]}} ".utf8.count)
            state.body.append(UInt8(ascii: ","))
            TrackerAnswer.append(state.count, table: "change_request", sysID: state.random.hex(), to: &state.body)
            state.body += Array("]}} ".utf8)
            state.count += 1
        }
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        let body = state.withLock { state in
            state.lastByte = .now
            return state.body
        }
        return try Answer(tracker: body)
    }

    /// The new task as listed, without the Table API's details, whose cost is network time.
    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        for entry in listing.search(for: keys).found {
            let record = listing.record(of: entry)
            details.snapshots[entry.key] = Snapshot(
                key: entry.key, number: record["number"]?.asString ?? "", title: record["short_desc"]?.asString ?? "",
                type: "Change Request", className: "change_request", fields: ["priority": 3, "state": 1])
        }
        return details
    }
}
