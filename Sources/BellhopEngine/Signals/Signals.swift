import BellhopCore
public import Logging
import Metrics

/// Receives every signal. Runs where the signal is emitted, so it must be quick.
public typealias SignalListener = @Sendable (Signal) -> Void

/// Passes each signal to its listeners: a log, metrics, a console.
public struct Signals: Sendable {
    private let listeners: [SignalListener]

    public init(_ listeners: [SignalListener] = []) { self.listeners = listeners }

    public func emit(_ signal: Signal) {
        for listener in listeners { listener(signal) }
    }

    /// Writes one log line per signal.
    public static func log(_ logger: Logger) -> SignalListener {
        { signal in
            guard logger.logLevel <= signal.level else { return }
            logger.log(level: signal.level, signal.message, metadata: signal.metadata.with(["signal": "\(signal.name)"]))
        }
    }

    /// Counts signals through swift-metrics.
    public static let metrics: SignalListener = { $0.count() }
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
        case .keysLost(let loss):
            Counter(label: "bellhop_rule_keys_dropped_total", dimensions: [("rule", loss.rule)]).increment(by: loss.dropped)
        case .delivered(let delivery, _, _, let took):
            delivery.counter("done").increment()
            Timer(label: "bellhop_delivery_seconds", dimensions: [("action", delivery.action)]).record(duration: took)
        case .silenced(let delivery, _): delivery.counter("silenced").increment()
        case .quiet(let delivery, _): delivery.counter("quiet").increment()
        case .dropped(let delivery, _): delivery.counter("dropped").increment()
        case .released(_, let count): Counter(label: "bellhop_deliveries_released_total").increment(by: count)
        case .retrying(let delivery, _, _, _): delivery.counter("retried").increment()
        case .postponed(let delivery, _, _, _): delivery.counter("postponed").increment()
        case .dead(let delivery, _): delivery.counter("dead").increment()
        case .held(let delivery, _): delivery.counter("held").increment()
        case .paused(let delivery, _, _): delivery.counter("paused").increment()
        case .coalesced(_, let count): Counter(label: "bellhop_deliveries_coalesced_total").increment(by: count)
        case .breakerOpened: Self.breaker("opened")
        case .breakerTrial: Self.breaker("trial")
        case .breakerClosed: Self.breaker("closed")
        case .receiverPaused(let stop):
            Counter(label: "bellhop_receiver_pauses_total", dimensions: [("by", stop.cause.rawValue)]).increment()
        case .eventDropped: Counter(label: "bellhop_events_dropped_total").increment()
        case .storeFailed: Counter(label: "bellhop_store_errors_total").increment()
        case .baseline, .recovered, .rebound, .pollSuperseded, .notice, .event, .shadowed, .silenceRefused, .leaseLost, .rescued,
            .rulesLoaded,
            .receiverResumed, .rulesRefused,
            .ruleRefused,
            .rulesUnwatched, .configurationChanged, .configurationWrong, .configurationRestored, .pruned, .clockJumped, .stopping:
            break
        }
    }
}

extension Signal {
    /// Without the name of the receiver, which may be an address that a rule computed.
    private static func breaker(_ change: String) {
        Counter(label: "bellhop_breaker_total", dimensions: [("change", change)]).increment()
    }
}

extension Delivery {
    fileprivate func counter(_ result: String) -> Counter {
        Counter(label: "bellhop_deliveries_total", dimensions: [("action", action), ("result", result)])
    }
}
