import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopTelemetry
import Metrics
public import ServiceLifecycle
import Synchronization

/// Sends spans and metrics to an OpenTelemetry receiver (OTLP over HTTP). It never slows the agent: spans that cannot be sent are dropped
/// and counted.
public struct TelemetryExporter: Service {
    private let address: HTTPAddress
    private let exchange: any HTTPExchange
    private let sendsMetrics: Bool
    private let tracer: Tracer?
    private let telemetry: AgentTelemetry
    private let clock: any AgentClock
    private let signals: Signals
    private let otlp: OTLP
    private let failing = FailingData()

    /// How often spans are sent.
    static let spanPeriod = Duration.seconds(5)
    /// How often metrics are sent.
    static let metricsPeriod = Duration.seconds(60)
    /// The most spans of one request.
    static let batch = 512
    /// The most attempts of one request.
    private static let attempts = 5
    private static let longestPause = Duration.seconds(30)
    /// How long the last requests may take when the agent stops.
    private static let flushTime = Duration.seconds(3)

    init(
        _ receiver: TelemetryConfiguration.Receiver, over exchange: any HTTPExchange, tracer: Tracer?, telemetry: AgentTelemetry,
        clock: any AgentClock, signals: Signals, instance: String
    ) {
        address = receiver.address
        self.exchange = exchange
        sendsMetrics = receiver.sendsMetrics
        self.tracer = tracer
        self.telemetry = telemetry
        self.clock = clock
        self.signals = signals
        otlp = OTLP(version: BellhopVersion.text, instance: instance)
    }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.repeating(every: Self.spanPeriod) { await self.sendSpans() } }
                group.addTask { await self.repeating(every: Self.metricsPeriod) { await self.sendMetrics() } }
            }
        }
        await flush()
    }

    /// Sends all waiting spans and the metrics, with one attempt for each request. Gives up after ``flushTime``, and reports how many spans
    /// are lost.
    public func flush() async {
        await uncancelled {
            await withTaskGroup { group in
                group.addTask {
                    await self.sendSpans(attempts: 1)
                    await self.sendMetrics()
                }
                group.addTask { try? await self.clock.sleep(for: Self.flushTime) }
                await group.next()
                group.cancelAll()
            }
            guard let tracer = self.tracer, tracer.count > 0 else { return }
            let lost = tracer.take(most: .max).spans.count
            self.count("dropped", lost)
            let why = "\(counted(lost, "span was", "spans were")) lost at the stop, because the time to send them ran out."
            self.signals.emit(.telemetryFailed(.traces, receiver: self.address.place, error: why))
        }
    }

    private func repeating(every period: Duration, _ work: () async -> Void) async {
        while (try? await clock.sleep(for: period)) != nil { await work() }
    }

    private func sendSpans(attempts: Int = attempts) async {
        guard let tracer else { return }
        while true {
            let (spans, dropped) = tracer.take(most: Self.batch)
            count("dropped", dropped)
            if spans.isEmpty { return }
            switch await send(.traces, otlp.request(spans), attempts: attempts) {
            case .taken(let refused):
                let refused = min(refused, spans.count)
                count("refused", refused)
                count("sent", spans.count - refused)
            case .failed: count("dropped", spans.count)
            // The last requests before the stop send them again. If this one has arrived, the receiver has them twice, as the
            // specification of OTLP expects (*Duplicate Data*).
            case .interrupted: return tracer.putBack(spans)
            }
            if Task.isCancelled { return }
        }
    }

    private func sendMetrics() async {
        guard sendsMetrics else { return }
        // One attempt is enough: metrics are cumulative, so the next request includes the counts of a failed one.
        _ = await send(.metrics, otlp.request(await telemetry.metrics()), attempts: 1)
    }

    private enum Sent {
        case taken(refused: Int)
        case failed
        /// The task was cancelled.
        case interrupted
    }

    private func send(_ signal: OTLP.Signal, _ body: JSON, attempts: Int) async -> Sent {
        let request = HTTPRequest(
            "POST", address.adding(path: signal.path), headers: ["Content-Type": "application/json"], body: body.encoded())
        for attempt in 1...attempts {
            let answer = await answer(to: request)
            switch answer {
            case .taken(let response):
                count(signal, "done")
                if failing.end(signal) { signals.emit(.telemetryRecovered(signal)) }
                return .taken(refused: (try? JSON.parse(response.body)).map { OTLP.rejected(in: $0, signal) } ?? 0)
            case .failed where Task.isCancelled: return .interrupted
            case .failed(let why, let wait) where attempt < attempts && wait != nil:
                report(why, signal)
                count(signal, "retried")
                let pause = min(max(wait ?? .zero, .seconds(1 << (attempt - 1))), Self.longestPause)
                guard (try? await clock.sleep(for: pause)) != nil else { return .interrupted }
            case .failed(let why, _):
                report(why, signal)
                count(signal, "failed")
                return .failed
            }
        }
        return .failed
    }

    private enum Answer {
        case taken(HTTPResponse)
        /// How long to wait before the next attempt; nil if a retry is useless.
        case failed(String, retryAfter: Duration?)
    }

    private func answer(to request: HTTPRequest) async -> Answer {
        do throws(TransportError) {
            let response = try await exchange.send(request)
            switch response.status {
            case 200..<300: return .taken(response)
            // OTLP specification, *OTLP/HTTP Response*: only these are retried.
            case 429, 502, 503, 504:
                return .failed(
                    "It answered \(response.status).", retryAfter: RetryAfter.read(response.headers, at: clock.now) ?? .zero)
            default: return .failed("It answered \(response.status).", retryAfter: nil)
            }
        } catch {
            return .failed(error.failure(changesSomething: true).message, retryAfter: .zero)
        }
    }

    /// Reports the first failure in a row.
    private func report(_ why: String, _ signal: OTLP.Signal) {
        guard failing.begin(signal) else { return }
        signals.emit(.telemetryFailed(signal, receiver: address.place, error: why))
    }

    private func count(_ result: String, _ spans: Int) {
        if spans > 0 { Instrument.spans.counter(result, in: telemetry.registry).increment(by: spans) }
    }

    private func count(_ signal: OTLP.Signal, _ result: String) {
        Instrument.exports.counter(signal.rawValue, result, in: telemetry.registry).increment()
    }
}

/// The kinds of data whose latest request failed: a receiver may take metrics, but no traces. A class over a mutex, because both loops of
/// an exporter write to it.
private final class FailingData: Sendable {
    private let failing = Mutex<Set<OTLP.Signal>>([])

    /// False if it failed before.
    func begin(_ data: OTLP.Signal) -> Bool { failing.withLock { $0.insert(data).inserted } }

    /// False if it did not fail before.
    func end(_ data: OTLP.Signal) -> Bool { failing.withLock { $0.remove(data) != nil } }
}
