import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopTelemetry
import BellhopTesting
import Metrics
import Simulator
import Testing

@testable import BellhopAgent

/// Sending to an OpenTelemetry receiver over HTTP.
@Suite(.timeLimit(.minutes(2)), .closing) struct TelemetryExporterTests {
    private let clock = TestClock()
    private let simulation: Simulation
    private let tracer = Tracer(TraceSampling(1), capacity: 2000)
    private let registry: MetricsRegistry
    /// The names of the signals that were emitted, with the data that they name.
    private let signals = Recording<String>()

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
        registry = MetricsRegistry(clock: clock)
    }

    private func serve() async throws -> String {
        try await untilTestEnds { [simulation] in try await SimulatorServer(simulation).serve($0) }
    }

    private func exporter(_ address: String) throws -> TelemetryExporter {
        let receiver = TelemetryConfiguration.Receiver(
            address: try HTTPAddress(address + "/otlp"), headers: [:], plainHTTP: false, sampling: tracer.sampling,
            sendsMetrics: true)
        // No test waits for an answer that does not come, but on a busy machine an answer may need longer than the usual ten seconds.
        var http = receiver.http
        http.timeout = .seconds(120)
        let telemetry = AgentTelemetry(registry, clock: clock) { [clock] in AgentReading(now: clock.now, started: clock.now) }
        return TelemetryExporter(
            receiver, over: try HTTPConnection(http, clock: clock), tracer: tracer, telemetry: telemetry, clock: clock,
            signals: Signals([{ [signals] in signals.add(Self.text($0)) }]), instance: "test")
    }

    private static func text(_ signal: Signal) -> String {
        switch signal {
        case .telemetryFailed(let data, _, _), .telemetryRecovered(let data): "\(signal.name) \(data.rawValue)"
        default: signal.name
        }
    }

    private func happen(_ events: Int) {
        for number in 0..<events {
            let task = Snapshot(key: TaskKey("k\(number)"), number: "INC\(number)", title: "T", url: "", fields: [:])
            let event = Event(.taskCreated(task, in: "s"), facts: "\(number)", source: "s", subject: "s/k", at: clock.now)
            tracer.stored(event, by: "poll", from: clock.now, to: clock.now, moments: [.init("listed", clock.now)])
        }
    }

    /// How many spans were sent, dropped and refused.
    private var counts: [Int64] {
        let family = registry.snapshot().families.first { $0.instrument == .spans }
        return ["sent", "dropped", "refused"].map { result in
            guard case .count(let count)? = family?.series.first(where: { $0.labels == [result] })?.value else { return 0 }
            return count
        }
    }

    @Test func `spans and metrics arrive in the form of the specification, in several requests if there are many`() async throws {
        let address = try await serve()
        happen(1200)
        Instrument.eventsRouted.counter(in: registry).increment(by: 7)
        Instrument.pollSeconds.timer("s", in: registry).record(duration: .milliseconds(70))
        try await exporter(address).flush()
        #expect(Set(simulation.telemetry.spans.map(\.trace)).count == 1200)
        #expect(simulation.requests.count("POST", path: "/otlp/v1/traces") == 3)
        let metrics = simulation.telemetry.metrics
        #expect(metrics["bellhop_events_routed_total"]?["sum"]?["dataPoints"]?[0]?["asInt"] == "7")
        #expect(metrics["bellhop_poll_seconds"]?["unit"] == "s" && metrics["bellhop_ready"]?["gauge"] != nil)
        #expect(counts == [1200, 0, 0])
    }

    /// Runs an exporter until its first request, with three spans, meets the fault.
    private func runToFirstRequest(_ address: String, meeting fault: Fault) async throws -> Task<Void, any Error> {
        simulation.faults.add(fault, path: "/otlp/v1/traces")
        happen(3)
        let exporter = try exporter(address)
        let running = Task { try await exporter.run() }
        try await clock.waitForSleepers(2)
        await clock.advance(by: TelemetryExporter.spanPeriod)
        try await until { simulation.requests.count(path: "/otlp/v1/traces") == 1 }
        return running
    }

    @Test func `a request to a busy receiver is retried after its Retry-After, and nothing is lost`() async throws {
        let address = try await serve()
        let running = try await runToFirstRequest(address, meeting: .unavailable(.seconds(7)))
        try await clock.waitForSleepers(2)
        #expect(clock.nextDeadline.map { $0 - clock.now } == .seconds(7))
        #expect(simulation.telemetry.spans.isEmpty)
        await clock.advance(by: .seconds(7))
        try await until { simulation.telemetry.spans.count == 3 }
        try await until { counts == [3, 0, 0] }
        try await until { signals.all == ["telemetry.failed traces", "telemetry.recovered traces"] }
        running.cancel()
        _ = await running.result
    }

    @Test(arguments: [Fault.hangs, .unavailable(.seconds(7))])
    func `spans that are being sent at a stop, or wait for their next attempt, are sent once more`(_ fault: Fault) async throws {
        let address = try await serve()
        let running = try await runToFirstRequest(address, meeting: fault)
        if fault != .hangs { try await clock.waitForSleepers(2) }
        running.cancel()
        _ = await running.result
        #expect(simulation.telemetry.spans.count == 3 && counts == [3, 0, 0])
        #expect(signals.all == (fault == .hangs ? [] : ["telemetry.failed traces", "telemetry.recovered traces"]))
    }

    @Test func `refused telemetry is counted and not sent again`() async throws {
        let address = try await serve()
        let exporter = try exporter(address)
        simulation.faults.add(.status(400, body: "no"), path: "/otlp/v1/traces")
        happen(5)
        await exporter.flush()
        #expect(counts == [0, 5, 0] && signals.all == ["telemetry.failed traces"])
        simulation.telemetry.refuse(2)
        happen(5)
        await exporter.flush()
        #expect(counts == [3, 5, 2])
        // More than were sent.
        simulation.telemetry.refuse(.max)
        happen(5)
        await exporter.flush()
        #expect(counts == [3, 5, 7])
    }

    @Test func `traces and metrics that fail are reported by name, each on its own`() async throws {
        let address = try await serve()
        let exporter = try exporter(address)
        simulation.faults.add(.status(404, body: "no"), path: "/otlp/v1/traces", times: 2)
        simulation.faults.add(.status(404, body: "no"), path: "/otlp/v1/metrics")
        for _ in 0..<3 {
            happen(1)
            await exporter.flush()
        }
        #expect(
            signals.all == [
                "telemetry.failed traces", "telemetry.failed metrics", "telemetry.recovered metrics",
                "telemetry.recovered traces",
            ])
    }

    @Test func `a receiver that takes metrics but no traces is reported once, and as working when it takes both`() async throws {
        let address = try await serve()
        let exporter = try exporter(address)
        simulation.faults.add(.status(404, body: "no"), path: "/otlp/v1/traces", times: 2)
        for _ in 0..<2 {
            happen(1)
            await exporter.flush()
        }
        #expect(!simulation.telemetry.metrics.isEmpty && signals.all == ["telemetry.failed traces"])
        happen(1)
        await exporter.flush()
        #expect(signals.all == ["telemetry.failed traces", "telemetry.recovered traces"])
    }

    @Test(arguments: [("2", 2), ("-9223372036854775808", 0), ("x", 0)])
    func `a number of refused spans that cannot be is taken as none`(_ text: String, _ count: Int) {
        #expect(OTLP.rejected(in: ["partialSuccess": ["rejectedSpans": .string(text)]], .traces) == count)
    }

    @Test func `a receiver that never answers costs a bounded time and a bounded number of spans`() async throws {
        let address = try await serve()
        simulation.faults.add(.hangs, path: "/otlp/v1/traces", times: nil)
        happen(5000)
        #expect(tracer.count == 2000)
        let exporter = try exporter(address)
        let flushing = Task { await exporter.flush() }
        try await clock.waitForSleepers(1)
        await clock.advance(by: .seconds(3))
        await flushing.value
        #expect(counts == [0, 5000, 0] && signals.all == ["telemetry.failed traces"])
    }
}

/// Waits until a condition is true.
/// - Throws: `CancellationError` at the time limit of the test.
private func until(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(5)) }
}
