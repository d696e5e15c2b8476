public import BellhopCore
import BellhopTelemetry
public import Logging
public import Metrics
import Synchronization

/// Receives every signal. Runs where the signal is emitted, so it must be quick.
public typealias SignalListener = @Sendable (Signal) -> Void

/// Passes each signal to its listeners: a log, metrics, a console.
public struct Signals: Sendable {
    private let listeners: [SignalListener]

    public init(_ listeners: [SignalListener] = []) { self.listeners = listeners }

    public func emit(_ signal: Signal) { for listener in listeners { listener(signal) } }

    /// Writes one log line per signal.
    public static func log(_ logger: Logger) -> SignalListener {
        { signal in
            guard logger.logLevel <= signal.level else { return }
            // Titles, comments and errors come from others, and may be very long.
            let facts = signal.metadata.mapValues { fact in
                if case .string(let text) = fact { Logger.MetadataValue.string(text.quoted) } else { fact }
            }
            logger.log(level: signal.level, signal.message, metadata: facts.with(["signal": "\(signal.name)"]))
        }
    }

    /// A listener for people. If a failure of the store or the refusal of a request repeats, as with each request while the disk is full,
    /// it hears the first at once, and then at most one signal a minute with the number of times.
    public static func groupingRepetitions(_ listener: @escaping SignalListener, clock: any AgentClock) -> SignalListener {
        let repetitions = Repetitions()
        return { signal in
            switch signal {
            case .storeFailed(let doing, let error, let times):
                if let all = repetitions.add(times, of: "\(doing): \(error.kind)", at: clock.now) {
                    listener(.storeFailed(doing: doing, error, times: all))
                }
            case .requestRefused(let source, let status, let reason, let times):
                if let all = repetitions.add(times, of: "\(source): \(status)", at: clock.now) {
                    listener(.requestRefused(source: source, status: status, reason: reason, times: all))
                }
            default: listener(signal)
            }
        }
    }

    /// Counts signals through swift-metrics, as ``Instrument`` declares.
    public static func metrics(in factory: any MetricsFactory) -> SignalListener { { $0.count(in: factory) } }
}

/// The signals of a kind since the last that was reported. A class over a mutex, because every loop emits signals.
private final class Repetitions: Sendable {
    private static let interval = Duration.zero..<Duration.seconds(60)

    private let state = Mutex<[String: (reported: Timestamp, waiting: Int)]>([:])

    /// Adds signals of a kind. Returns how many to report now; nil if some were reported less than a minute ago.
    func add(_ times: Int, of kind: String, at now: Timestamp) -> Int? {
        state.withLock { state in
            let known = state[kind]
            let all = (known?.waiting ?? 0) + times
            // A time ahead is from before the clock was set back.
            if let known, Self.interval.contains(now - known.reported) {
                state[kind] = (known.reported, all)
                return nil
            }
            state[kind] = (now, 0)
            return all
        }
    }
}

extension Signal {
    /// The metrics of a signal. Labels are names from the configuration, so there are few.
    fileprivate func count(in factory: any MetricsFactory) {
        switch self {
        case .polled(let source, _, let events, let took):
            Instrument.pollSeconds.timer(source, in: factory).record(duration: took)
            Instrument.polls.counter(source, "changed", in: factory).increment()
            Instrument.pollEvents.counter(source, in: factory).increment(by: events)
        case .unchanged(let source, _, let took):
            Instrument.pollSeconds.timer(source, in: factory).record(duration: took)
            Instrument.polls.counter(source, "unchanged", in: factory).increment()
        case .pollFailed(let source, let failure, _, _):
            Instrument.polls.counter(source, failure.reason.rawValue, in: factory).increment()
        case .pollHeld(let source, _): Instrument.polls.counter(source, "held", in: factory).increment()
        case .requestRefused(let source, let status, _, let times):
            Instrument.inboundRefused.counter(source, String(status), in: factory).increment(by: times)
        case .routed(let events, let deliveries, let took):
            Instrument.eventsRouted.counter(in: factory).increment(by: events)
            Instrument.deliveriesMade.counter(in: factory).increment(by: deliveries)
            Instrument.routeSeconds.timer(in: factory).record(duration: took)
        case .ruleFailed(let rule, _, let times): Instrument.ruleErrors.counter(rule, in: factory).increment(by: times)
        case .keysLost(let loss): Instrument.ruleKeysDropped.counter(loss.rule, in: factory).increment(by: loss.dropped)
        case .delivered(let delivery, _, _, let took):
            delivery.counter("done", in: factory).increment()
            Instrument.deliverySeconds.timer(delivery.action, in: factory).record(duration: took)
        case .silenced(let delivery, _): delivery.counter("silenced", in: factory).increment()
        case .quiet(let delivery, _): delivery.counter("quiet", in: factory).increment()
        case .dropped(let delivery, _): delivery.counter("dropped", in: factory).increment()
        case .released(_, let count): Instrument.deliveriesReleased.counter(in: factory).increment(by: count)
        case .retrying(let delivery, _, _, _): delivery.counter("retried", in: factory).increment()
        case .postponed(let delivery, _, _, _): delivery.counter("postponed", in: factory).increment()
        case .dead(let delivery, _): delivery.counter("dead", in: factory).increment()
        case .held(let delivery, _): delivery.counter("held", in: factory).increment()
        case .paused(let delivery, _, _): delivery.counter("paused", in: factory).increment()
        case .coalesced(_, let count): Instrument.deliveriesCoalesced.counter(in: factory).increment(by: count)
        // Without the name of the receiver, which may be an address that a rule computed.
        case .breakerOpened: Instrument.breaker.counter("opened", in: factory).increment()
        case .breakerTrial: Instrument.breaker.counter("trial", in: factory).increment()
        case .breakerClosed: Instrument.breaker.counter("closed", in: factory).increment()
        case .receiverPaused(let stop): Instrument.receiverPauses.counter(stop.cause.rawValue, in: factory).increment()
        case .eventDropped: Instrument.eventsDropped.counter(in: factory).increment()
        case .storeFailed(_, _, let times): Instrument.storeErrors.counter(in: factory).increment(by: times)
        case .baseline, .recovered, .rebound, .pollSuperseded, .notice, .event, .shadowed, .silenceRefused, .leaseLost, .rescued,
            .rulesLoaded, .waitsEnded, .receiverResumed, .rulesRefused, .ruleRefused, .rulesUnwatched, .configurationChanged,
            .configurationWrong, .configurationUnreadable, .configurationRestored, .pruned, .clockJumped, .telemetryFailed,
            .telemetryRecovered, .stopping:
            break
        }
    }
}

extension Delivery {
    fileprivate func counter(_ result: String, in factory: any MetricsFactory) -> Counter {
        Instrument.deliveries.counter(action, result, in: factory)
    }
}
