import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopStore
import Synchronization

/// The rate of ten receivers beside one that hangs and one that answers 429 with `Retry-After: 5`, compared with ten alone.
enum TroubledReceivers {
    static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(1000)
        var (troubled, alone): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            troubled.append(try await deliver(count, troubles: [.silent, .busy], store: "\(bench.folder)/troubled-\(round).db"))
            alone.append(try await deliver(count, troubles: [], store: "\(bench.folder)/alone-\(round).db"))
        }
        return [
            Measurement(
                "webhook.troubled", .rate(Double(10 * count) / troubled.median, of: "webhooks"),
                beside: .init(name: "the ten alone", quantity: .rate(Double(10 * count) / alone.median, of: "webhooks")),
                aim: .ratio(atLeast: 0.9),
                remark:
                    "\(count) deliveries for each of twelve receivers; one never answers, one answers 429 with Retry-After 5. "
                    + "The rate is that of the other ten.")
        ]
    }

    /// The seconds until ten receivers have all their deliveries.
    private static func deliver(_ count: Int, troubles: [LocalReceiver.Behaviour], store path: String) async throws -> Double {
        let healthy = (0..<10).map { _ in LocalReceiver() }
        let others = troubles.map { LocalReceiver($0) }
        let clock = SystemClock()
        let store = try Stores.open(path)
        var addresses: [String] = []
        for receiver in others + healthy { addresses.append(try await receiver.start()) }
        for address in addresses {
            try await store.route(
                Routing(deliveries: WebhookBenchmarks.deliveries(count, ["number": 1], to: address, at: clock.now)))
        }
        let http = try HTTPConnection(.init(name: "local", timeout: .seconds(3)), clock: clock)
        let action = WebhookAction(over: http, guarded: http)
        let done = Mutex(0)
        let (stop, bells) = (StopFlag(), Bells())
        let signals = Signals([
            { signal in
                guard case .delivered = signal else { return }
                let isLast = done.withLock { done in
                    done += 1
                    return done == 10 * count
                }
                if isLast {
                    stop.raise()
                    bells.dispatcher.ring()
                }
            }
        ])
        let context = EngineContext(store: store, clock: clock, bells: bells, signals: signals)
        let dispatcher = Dispatcher(context) { _ in action }
        let began = ContinuousClock.now
        async let running: Void = dispatcher.run(until: stop)
        while !stop.isRaised { try await Task.sleep(for: .milliseconds(1)) }
        let ended = ContinuousClock.now
        await running
        try await http.shutdown()
        try await store.close()
        for receiver in others + healthy { try await receiver.stop() }
        return (ended - began).inSeconds
    }
}
