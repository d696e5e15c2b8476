import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopStore
import Glibc
import Logging
import ServiceLifecycle
import Synchronization

/// Measures requests from outside.
enum InboundBenchmarks {
    static let all = [
        Benchmark(
            name: "inbound.rate", summary: "signed requests over 8 connections, each event on disk before its answer", run: rate)
    ]

    private static let connections = 8

    private static func rate(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(80_000)
        var (ours, bare): ([Double], [Double]) = ([], [])
        for round in 0..<bench.repetitions {
            bench.say("round \(round + 1)")
            let store = try Stores.open("\(bench.folder)/inbound-\(round).db")
            let surroundings = Surroundings(store: store, clock: SystemClock(), bells: Bells(), signals: Signals([]))
            let intake = Intake(surroundings)
            ours.append(try await serve(count) { events throws(StoreError) in try await intake.emit(events) })
            let stored = try await store.status().events
            guard stored == count else { throw BenchError("\(stored) events are stored instead of \(count)") }
            try await store.close()
            bare.append(try await serve(count) { _ throws(StoreError) in })
        }
        return [
            Measurement(
                "inbound.rate", .rate(Double(count) / ours.median, of: "requests"),
                beside: .init(
                    name: "the same server that keeps nothing", quantity: .rate(Double(count) / bare.median, of: "requests")),
                aim: .figure(atLeast: 20_000),
                remark:
                    "\(count) requests of 120 bytes over \(connections) connections, one at a time on each: read, their signature (HMAC) checked, "
                    + "stored as an event, committed to the disk, answered. Clients and server share the machine.")
        ]
    }

    /// The seconds for `count` requests.
    private static func serve(_ count: Int, _ keep: @escaping InboundDesk.Keep) async throws -> Double {
        let definition = EventDefinition(EventType("alert"), "", from: .outside, [Setting("name", .text, required: true, "")])
        let endpoint = InboundEndpoint(
            path: "/in/alerts",
            key: .signature(SignatureCheck(keys: [Array("a secret".utf8)], header: "X-Signature", prefix: "sha256=")),
            purpose: .events(EventReading(source: "alerts", definition: definition)), rate: (1_000_000_000, .seconds(1)))
        let number = Atomic(0)
        let desk = InboundDesk(
            [endpoint], clock: SystemClock(), keep: keep, poll: { _ in },
            unique: { "\(number.wrappingAdd(1, ordering: .relaxed).newValue)" })
        let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = InboundServer(
            at: .init(host: "127.0.0.1", port: 0), desk: desk, logger: logger, isListening: { port.yield($0) })
        let group = ServiceGroup(services: [server], logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var time = 0.0
            for await number in ports {
                let client = RawClient(port: UInt16(number), request: request())
                try await client.post(count / 20, connections)
                time = try await Stopwatch.seconds { try await client.post(count - count / 20, connections) }
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return time * Double(count) / Double(count - count / 20)
        }
    }

    private static func request() -> [UInt8] {
        let body =
            #"{"name": "disk full on web-1", "severity": "critical", "value": 97.3, "started": "2026-01-05T09:00:00Z", "n": 12345}"#
        let signature = SignatureCheck.Algorithm.sha256.code(of: Array(body.utf8), key: Array("a secret".utf8))
        let digits = signature.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let head =
            "POST /in/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
            + "X-Signature: sha256=\(digits)\r\n\r\n"
        return Array((head + body).utf8)
    }
}
