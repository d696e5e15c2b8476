import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopStore
import Synchronization

/// Measures webhooks to a receiver on this machine.
enum WebhookBenchmarks {
    static let all = [
        Benchmark(name: "webhook.rate", summary: "webhooks with T3, HTTP and T4, 64 in flight", run: rate),
        Benchmark(
            name: "webhook.troubled", summary: "ten receivers beside one that hangs and one that answers 429",
            run: TroubledReceivers.run),
        Benchmark(name: "webhook.latency", summary: "from a poll's last byte to a webhook's first", run: LatencyRun.run),
    ]

    private static let inFlight = 64

    private static func rate(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(20_000)
        let receiver = LocalReceiver()
        let address = try await receiver.start()
        var (ours, bare): ([Double], [Double]) = ([], [])
        let json: JSON = ["number": "INC1000000", "title": .string(String(repeating: "printer ", count: 12)), "priority": 1]
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            let before = receiver.requests
            ours.append(try await deliver(count, json, to: address, store: "\(bench.folder)/webhook-\(round).db"))
            guard receiver.requests - before == count else {
                throw BenchError("\(receiver.requests - before) requests arrived instead of \(count)")
            }
            bare.append(try await BareClient.post(json.encoded(), to: address, count: count, inFlight: inFlight))
        }
        try await receiver.stop()
        return [
            Measurement(
                "webhook.rate", .rate(Double(count) / ours.median, of: "webhooks"),
                beside: .init(
                    name: "a bare client loop, as many in flight", quantity: .rate(Double(count) / bare.median, of: "webhooks")),
                aim: .ratio(atLeast: 0.25),
                remark:
                    "\(count) deliveries, \(inFlight) in flight: claimed (T3), posted by the agent's client, and their outcome stored (T4), "
                    + "each on disk before the next step. Receiver and clients share the machine.")
        ]
    }

    private static func deliver(_ count: Int, _ json: JSON, to address: String, store path: String) async throws -> Double {
        let clock = SystemClock()
        let store = try Stores.open(path)
        try await store.route(Routing(deliveries: deliveries(count, json, to: address, at: clock.now)))
        let http = try HTTPConnection(.init(name: "local"), clock: clock)
        let action = WebhookAction(over: http, guarded: http)
        let (progress, stop) = (Progress(), StopFlag())
        let bells = Bells()
        let report: SignalListener = { signal in
            switch signal {
            case .delivered: if progress.note() == count { end() }
            case .retrying(_, let failure, _, _), .dead(_, let failure), .held(_, let failure), .paused(_, let failure, _),
                .postponed(_, let failure, _, _):
                progress.fail(failure.message)
                end()
            default: break
            }
            func end() {
                stop.raise()
                bells.dispatcher.ring()
            }
        }
        let context = EngineContext(store: store, clock: clock, bells: bells, signals: Signals([report]))
        let limits = Dispatcher.Limits(inFlight: inFlight, perReceiver: inFlight)
        let dispatcher = Dispatcher(context, limits: limits) { _ in action }
        let time = await Stopwatch.seconds { await dispatcher.run(until: stop) }
        try await http.shutdown()
        try await store.close()
        if let failure = progress.failure { throw BenchError("a delivery failed: \(failure)") }
        return time
    }

    /// Deliveries as made by a rule, each for a different task.
    static func deliveries(_ count: Int, _ json: JSON, to address: String, at now: Timestamp) -> [Delivery] {
        Tasks.keys(count, seed: 5).enumerated().map { number, key in
            let task = Tasks.snapshot(number, key: key)
            let event = Tasks.event(.taskCreated, task, at: now)
            return Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(event.id).id, rule: "alert", step: StepPath(index: 0), receiver: address),
                revision: "1", action: "webhook", arguments: .values(["url": .string(address), "json": json]),
                task: TaskReference(
                    source: Tasks.source, key: key, number: task.number, title: task.title, className: task.className,
                    url: task.url, subject: event.subject), lane: "alert/\(address)/\(event.subject)", createdAt: now)
        }
    }

    /// The number of deliveries that have ended.
    ///
    /// A class with a mutex, because they end in concurrent tasks.
    private final class Progress: Sendable {
        private let state = Mutex<(done: Int, failure: String?)>((0, nil))

        var failure: String? { state.withLock { $0.failure } }

        func note() -> Int {
            state.withLock { state in
                state.done += 1
                return state.done
            }
        }

        func fail(_ message: String) { state.withLock { $0.failure = $0.failure ?? message } }
    }
}
