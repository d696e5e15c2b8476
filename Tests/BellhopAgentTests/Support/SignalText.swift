import BellhopCore
import BellhopEngine
import BellhopTelemetry
import Logging
import Metrics
import Synchronization

/// The log line and metrics of every signal, recorded by emitting each of them.
enum SignalText {
    static var signals: String {
        let head = "| signal | level | says | facts |\n|---|---|---|---|\n"
        return head
            + traces.map { trace in
                let facts = trace.facts.map { "`\($0)`" }.joined(separator: ", ")
                return "| `\(trace.signal)` | \(trace.level) | \(trace.message) | \(facts) |\n"
            }.joined()
    }

    static var metrics: String {
        "| metric | kind | labels | says | from |\n|---|---|---|---|---|\n"
            + Instrument.all.map { instrument in
                let labels = instrument.labels.map { "`\($0.name)`" }.joined(separator: ", ")
                let signals = traces.filter { $0.metrics.contains { $0.name == instrument.name } }.map { "`\($0.signal)`" }
                return "| `\(instrument.name)` | \(instrument.kind.name) | \(labels) | \(instrument.help) | "
                    + "\(signals.joined(separator: ", ")) |\n"
            }.joined()
    }

    static var counted: [SignalTrace.Metric] { traces.flatMap(\.metrics) }

    private static var traces: [SignalTrace] {
        var traces: [SignalTrace] = []
        var signal = following(nil)
        while let current = signal {
            traces.append(SignalTrace(current))
            signal = following(current)
        }
        return traces
    }

    /// The catalogue as a chain, so that the compiler asks for a new signal here.
    private static func following(_ signal: Signal?) -> Signal? {
        switch signal {
        case nil: .polled(source: "", tasks: 0, events: 0, took: .zero)
        case .polled: .unchanged(source: "", tasks: 0, took: .zero)
        case .unchanged: .baseline(source: "", tasks: 0)
        case .baseline: .pollFailed(source: "", failure: failure, failures: 1, next: moment)
        case .pollFailed: .recovered(source: "", failures: 1, since: moment)
        case .recovered: .pollHeld(source: "", held)
        case .pollHeld: .pollSuperseded(source: "")
        case .pollSuperseded: .notice(source: "", text: "")
        case .notice: .requestRefused(source: "", status: 400, reason: "")
        case .requestRefused: .event(event)
        case .event: .eventDropped(event)
        case .eventDropped: .routed(events: 0, deliveries: 0, took: .zero)
        case .routed: .ruleFailed(rule: "", error: "", times: 1)
        case .ruleFailed: .keysLost(KeyLoss(rule: "", dropped: 1, most: 1, isStopped: false))
        case .keysLost: .shadowed(delivery)
        case .shadowed: .silenced(delivery, silence: "")
        case .silenced: .quiet(delivery, until: moment)
        case .quiet: .dropped(delivery, failure)
        case .dropped: .released(receiver: "", count: 0)
        case .released: .silenceRefused(id: "", problem: "")
        case .silenceRefused: .delivered(delivery, Receipt(""), attempt: 1, took: .zero)
        case .delivered: .retrying(delivery, failure, attempt: 1, at: moment)
        case .retrying: .postponed(delivery, failure, until: moment, isNewRest: true)
        case .postponed: .dead(delivery, failure)
        case .dead: .held(delivery, failure)
        case .held: .paused(delivery, failure, until: moment)
        case .paused: .breakerOpened(stop)
        case .breakerOpened: .breakerTrial(receiver: "")
        case .breakerTrial: .breakerClosed(stop)
        case .breakerClosed: .receiverPaused(stop)
        case .receiverPaused: .receiverResumed(receiver: "")
        case .receiverResumed: .coalesced(receiver: "", count: 0)
        case .coalesced: .leaseLost(delivery)
        case .leaseLost: .rescued(count: 0)
        case .rescued: .rulesLoaded(count: 0, warnings: 0)
        case .rulesLoaded: .waitsEnded(EndedWaits(rule: "", waits: 1, escalations: 0))
        case .waitsEnded: .rulesRefused(problems: 0)
        case .rulesRefused: .ruleRefused(Diagnostic(code: "", "", at: Diagnostic.Place(file: "", line: 1, column: 1), help: ""))
        case .ruleRefused: .rulesUnwatched
        case .rulesUnwatched: .configurationChanged(file: "")
        case .configurationChanged: .configurationWrong(file: "", problem: "")
        case .configurationWrong: .configurationUnreadable(file: "", problem: "")
        case .configurationUnreadable: .configurationRestored(file: "")
        case .configurationRestored: .storeFailed(doing: "", StoreError(.other, ""))
        case .storeFailed: .pruned(rows: 0)
        case .pruned: .clockJumped(by: .zero)
        case .clockJumped: .rebound(connection: "", problem: nil)
        case .rebound: .telemetryFailed(.traces, receiver: "", error: "")
        case .telemetryFailed: .telemetryRecovered(.traces)
        case .telemetryRecovered: .stopping(inFlight: 0)
        case .stopping: nil
        }
    }

    private static let moment = Timestamp(seconds: 0)
    private static let stop = ReceiverStop(receiver: "", cause: .failures, since: moment, until: moment, reason: "")
    private static let held = HeldResult(known: 0, listing: Listing(), comparison: Comparison(), at: moment)
    private static let failure = Failure(.unreachable, .giveUp, "")
    private static let task = Snapshot(key: "a1", number: "INC0010021")
    private static let event = Event(
        id: Event.ID("e"), type: .taskCreated, source: "", subject: "", time: moment, data: ["task": task.json(source: "")])
    private static let delivery = Delivery(
        id: Delivery.ID(occasion: Occasion.event(event.id).id, rule: "", step: StepPath(index: 0), receiver: ""), revision: "",
        action: "", arguments: .values([:]),
        task: TaskReference(source: "", key: task.key, number: task.number, title: "", className: "", url: "", subject: ""),
        lane: "", createdAt: moment)
}

struct SignalTrace: Sendable {
    struct Metric: Sendable {
        var kind: String
        var name: String
        var labels: [String]
    }

    var signal: String
    var level = ""
    var message = ""
    var facts: [String] = []
    var metrics: [Metric] = []

    init(_ signal: Signal) {
        self.signal = signal.name
        let recorder = Recorder()
        var logger = Logger(label: "documentation") { _ in Listener(recorder: recorder) }
        logger.logLevel = .trace
        Signals([Signals.log(logger), Signals.metrics(in: Factory(recorder: recorder))]).emit(signal)
        let record = recorder.recorded.withLock { $0 }
        level = record.level
        message = record.message
        facts = record.facts.filter { $0 != "signal" }.sorted()
        metrics = record.metrics
    }

    /// Records the log lines and metrics of one signal. A class with a lock, because log handler and metrics factory share it.
    fileprivate final class Recorder: Sendable {
        struct Recorded: Sendable {
            var level = ""
            var message = ""
            var facts: [String] = []
            var metrics: [Metric] = []
        }

        let recorded = Mutex(Recorded())
    }

    private struct Listener: LogHandler {
        let recorder: Recorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.recorded.withLock { record in
                record.level = event.level.rawValue
                record.message = "\(event.message)"
                record.facts = event.metadata.map { Array($0.keys) } ?? []
            }
        }
    }

    private struct Factory: MetricsFactory {
        let recorder: Recorder

        private func record(_ kind: String, _ name: String, _ dimensions: [(String, String)]) -> NOOPMetricsHandler {
            recorder.recorded.withLock { $0.metrics.append(Metric(kind: kind, name: name, labels: dimensions.map(\.0))) }
            return NOOPMetricsHandler.instance
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            record("counter", label, dimensions)
        }
        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            record("gauge", label, dimensions)
        }
        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            record("histogram", label, dimensions)
        }
        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }
}
