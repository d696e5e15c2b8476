import BellhopCore
public import Logging
import Metrics

/// Reports what the engine does: one log line and its metrics per signal, and an optional observer.
public struct Signals: Sendable {
    private let logger: Logger
    private let observer: (@Sendable (Signal) -> Void)?

    /// - Parameter observer: receives every signal; must be quick.
    public init(logger: Logger, observer: (@Sendable (Signal) -> Void)? = nil) {
        self.logger = logger
        self.observer = observer
    }

    public func emit(_ signal: Signal) {
        if logger.logLevel <= signal.level {
            logger.log(level: signal.level, signal.message, metadata: signal.metadata.with(["signal": "\(signal.name)"]))
        }
        signal.count()
        observer?(signal)
    }
}

extension Signal {
    /// The metrics of a signal. Labels are names from the configuration, so there are few.
    fileprivate func count() {
        switch self {
        case .polled(let source, _, let events, let took):
            Timer(label: "bellhop_poll_seconds", dimensions: [("source", source)]).record(duration: took)
            Counter(label: "bellhop_polls_total", dimensions: [("source", source), ("result", "changed")]).increment()
            Counter(label: "bellhop_poll_events_total", dimensions: [("source", source)]).increment(by: events)
        case .unchanged(let source, _, let took):
            Timer(label: "bellhop_poll_seconds", dimensions: [("source", source)]).record(duration: took)
            Counter(label: "bellhop_polls_total", dimensions: [("source", source), ("result", "unchanged")]).increment()
        case .pollFailed(let source, let failure, _, _):
            Counter(label: "bellhop_polls_total", dimensions: [("source", source), ("result", failure.reason.rawValue)])
                .increment()
        case .pollHeld(let source, _):
            Counter(label: "bellhop_polls_total", dimensions: [("source", source), ("result", "held")]).increment()
        case .routed(let events, let deliveries, let took):
            Counter(label: "bellhop_events_routed_total").increment(by: events)
            Counter(label: "bellhop_deliveries_made_total").increment(by: deliveries)
            Timer(label: "bellhop_route_seconds").record(duration: took)
        case .ruleFailed(let rule, _, let times):
            Counter(label: "bellhop_rule_errors_total", dimensions: [("rule", rule)]).increment(by: times)
        case .delivered(let delivery, _, _, let took):
            delivery.counter("done").increment()
            Timer(label: "bellhop_delivery_seconds", dimensions: [("action", delivery.action)]).record(duration: took)
        case .retrying(let delivery, _, _, _): delivery.counter("retried").increment()
        case .postponed(let delivery, _, _, _): delivery.counter("postponed").increment()
        case .dead(let delivery, _): delivery.counter("dead").increment()
        case .held(let delivery, _): delivery.counter("held").increment()
        case .paused(let delivery, _, _): delivery.counter("paused").increment()
        case .eventDropped: Counter(label: "bellhop_events_dropped_total").increment()
        case .storeFailed: Counter(label: "bellhop_store_errors_total").increment()
        case .baseline, .recovered, .rebound, .pollSuperseded, .notice, .event, .shadowed, .leaseLost, .rescued, .rulesLoaded,
            .rulesRefused,
            .ruleRefused,
            .rulesUnwatched, .configurationChanged, .pruned, .clockJumped, .stopping:
            break
        }
    }
}

extension Delivery {
    fileprivate func counter(_ result: String) -> Counter {
        Counter(label: "bellhop_deliveries_total", dimensions: [("action", action), ("result", result)])
    }
}
