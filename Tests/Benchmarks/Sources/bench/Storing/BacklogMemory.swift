import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopStore
import Synchronization

/// The memory of a dispatcher that makes a thousand deliveries while others wait for a receiver that never answers.
enum BacklogMemory {
    static func run(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        // The first run includes one-time allocations, and is not counted.
        _ = try await growth(beside: 1000, in: "first", bench)
        let few = try await growth(beside: 1000, in: "few", bench)
        let many = try await growth(beside: count, in: "many", bench)
        return [
            Measurement(
                "store.backlog.memory", .memory(Double(many), per: nil),
                beside: .init(name: "beside 1,000 waiting", quantity: .memory(Double(max(few, 1)), per: nil)),
                aim: .figure(atMost: 16_000_000),
                remark:
                    "`RssAnon` that a newly opened store and its dispatcher need for 1,000 deliveries beside \(count) waiting.")
        ]
    }

    private static func growth(beside waiting: Int, in name: String, _ bench: Bench) async throws -> Int {
        let path = "\(bench.folder)/\(name).db"
        let clock = SystemClock()
        try await fill(path, waiting, at: clock.now)
        Machine.giveBackMemory()
        guard let before = Machine.memory("RssAnon") else { throw BenchError("/proc/self/status cannot be read") }
        let store = try Stores.open(path)
        let (stop, bells) = (StopFlag(), Bells())
        let left = Mutex(1000)
        let signals = Signals([
            { signal in
                guard case .delivered = signal else { return }
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                guard isLast else { return }
                stop.raise()
                bells.dispatcher.ring()
            }
        ])
        let context = EngineContext(store: store, clock: clock, bells: bells, signals: signals)
        let dispatcher = Dispatcher(context) { Receiver(answers: $0.id.receiver == "free") }
        var after = before
        let deadline = ContinuousClock.now + .seconds(300)
        try await withThrowingTaskGroup { group in
            group.addTask { await dispatcher.run(until: stop) }
            while !stop.isRaised {
                guard ContinuousClock.now < deadline else {
                    throw BenchError("\(left.withLock(\.self)) deliveries were not made in 5 minutes")
                }
                try await Task.sleep(for: .milliseconds(1))
            }
            after = Machine.memory("RssAnon") ?? .max
            group.cancelAll()
        }
        try await store.close()
        return max(after - before, 0)
    }

    private static func fill(_ path: String, _ waiting: Int, at now: Timestamp) async throws {
        let store = try Stores.open(path)
        for (count, receiver) in [(waiting, "busy"), (1000, "free")] {
            try await store.route(Routing(deliveries: WebhookBenchmarks.deliveries(count, ["n": 1], to: receiver, at: now)))
        }
        try await store.close()
    }

    /// A receiver that never answers keeps each delivery until it is cancelled.
    private struct Receiver: Action {
        let answers: Bool

        func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
            if !answers { try? await Task.sleep(for: .seconds(3600)) }
            return Receipt("200")
        }
    }
}
