import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopStore
import Logging
import ServiceLifecycle

/// Measures requests from other systems.
enum InboundBenchmarks {
    static let all = [
        Benchmark(
            name: "inbound", summary: "requests from outside, each event on disk before its answer, 8 connections", run: rate)
    ]

    private static let connections = 8

    private static func rate(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(100_000)
        let receiver = LocalReceiver(.accepted)
        let bare = try await receiver.start()
        var (ours, yardstick): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            ours.append(try await measure(count, store: "\(bench.folder)/inbound-\(round).db"))
            yardstick.append(try await post(to: bare, count: count))
        }
        try await receiver.stop()
        return [
            Measurement(
                "inbound", .rate(Double(count) / ours.median, of: "requests"),
                beside: .init(
                    name: "a bare server that answers 202, same client",
                    quantity: .rate(Double(count) / yardstick.median, of: "requests")), aim: .figure(atLeast: 20_000),
                remark:
                    "\(count) requests over \(connections) connections, one in flight on each: token compared, JSON read as an event, event "
                    + "on disk, answered. Server and client share the machine.")
        ]
    }

    private static func post(to address: String, count: Int) async throws -> Double {
        let client = RawClient(
            address: address, body: #"{"service": "mail", "ok": false, "log": "https://ci.example.com/jobs/4711/log"}"#)
        // Connects, and warms up the server, before measuring.
        try await client.post(count: connections * 4, connections: connections)
        return try await Stopwatch.seconds { try await client.post(count: count, connections: connections) }
    }

    /// The seconds that the agent's own server takes, with a store on disk.
    private static func measure(_ count: Int, store path: String) async throws -> Double {
        let store = try Stores.open(path)
        let context = EngineContext(store: store, clock: SystemClock(), signals: Signals([]))
        let intake = Intake(context)
        let definition = EventDefinition(
            EventType("deploy_finished"), "", from: .outside,
            [Setting("service", .text, ""), Setting("ok", .boolean, ""), Setting("log", .text, "")])
        let endpoint = InboundEndpoint(
            path: "/hook", key: .bearer(["token"]), purpose: .events(EventReading(source: "deploys", definition: definition)),
            rate: Rate(count: 100_000_000, per: .seconds(60)))
        let handler = InboundHandler(
            [endpoint], clock: context.clock,
            storeEvents: { events throws(StoreError) in try await intake.emit(events) },
            storeTasks: { _, _ in }, poll: { _ in },
            unique: { "\(UInt64.random(in: .min ... .max))" })
        let (ports, port) = AsyncStream<Int>.makeStream()
        let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        let server = InboundServer(
            at: .init(host: "127.0.0.1", port: 0), handler: handler, logger: logger, isListening: { port.yield($0) })
        let group = ServiceGroup(services: [server], logger: logger)
        let time = try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var time = 0.0
            for await number in ports {
                time = try await post(to: "http://127.0.0.1:\(number)/hook", count: count)
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return time
        }
        let stored = try await store.status(at: SystemClock().now).events
        try await store.close()
        guard stored == count + connections * 4 else { throw BenchError("\(stored) events are on disk instead of \(count)") }
        return time
    }
}
