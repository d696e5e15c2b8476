public import BellhopCore
import Synchronization

/// Buffers the spans of sampled traces until they are sent. A full buffer drops new spans and counts them, so that a slow or missing receiver
/// costs neither memory nor time.
///
/// A class over a mutex, because every loop writes to it.
public final class Tracer: Sendable {
    private struct State {
        var spans: [Span] = []
        var dropped = 0
    }

    public let sampling: TraceSampling
    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: the most spans in the buffer.
    public init(_ sampling: TraceSampling, capacity: Int = 8192) { (self.sampling, self.capacity) = (sampling, capacity) }

    public func record(_ span: @autoclosure () -> Span) {
        let span = span()
        state.withLock { state in
            if state.spans.count < capacity { state.spans.append(span) } else { state.dropped += 1 }
        }
    }

    /// How many spans are in the buffer.
    public var count: Int { state.withLock { $0.spans.count } }

    /// Removes and returns the oldest spans, and how many were dropped since the last call.
    public func take(most: Int) -> (spans: [Span], dropped: Int) {
        state.withLock { state in
            let taken = Array(state.spans.prefix(most))
            state.spans.removeFirst(taken.count)
            defer { state.dropped = 0 }
            return (taken, state.dropped)
        }
    }

    /// Puts spans back that were taken and not sent. They may exceed the capacity.
    public func putBack(_ spans: [Span]) { state.withLock { $0.spans.insert(contentsOf: spans, at: 0) } }

    // MARK: Traced work

    /// An event that was stored (T1).
    /// - Parameters:
    ///   - work: the work that found it, such as `poll SOURCE`.
    ///   - moments: the parts of this work.
    public func stored(
        _ event: Event, by work: String, from start: Timestamp, to end: Timestamp, moments: [Span.Moment] = []
    ) {
        let trace = TraceID(of: event.id)
        guard sampling.includes(trace) else { return }
        var span = Span(
            work, in: TraceContext(trace, SpanID(rootOf: trace), isSampled: true), from: start, to: end,
            attributes: [
                "bellhop.event": .string(event.id.text), "bellhop.event.type": .string(event.type.name),
                "bellhop.source": .string(event.source),
            ])
        span.moments = moments
        record(span)
    }

    /// Events that were routed in one batch (T2), with the number of deliveries that each caused.
    public func routed(_ events: [Event.ID], deliveries: [Event.ID: Int], from start: Timestamp, to end: Timestamp) {
        for event in events {
            let trace = TraceID(of: event)
            guard sampling.includes(trace) else { continue }
            record(
                Span(
                    "route", in: TraceContext(trace, SpanID("route", event.text), isSampled: true),
                    parent: SpanID(rootOf: trace), from: start, to: end,
                    attributes: [
                        "bellhop.event": .string(event.text), "bellhop.batch.events": .int(Int64(events.count)),
                        "bellhop.deliveries": .int(Int64(deliveries[event] ?? 0)),
                    ]))
        }
    }

    /// The context of an attempt.
    public func context(of claim: Claim) -> TraceContext {
        var context = TraceContext(of: claim.delivery.id, attempt: claim.number, isSampled: false)
        context.isSampled = sampling.includes(context.trace)
        return context
    }

    /// An attempt of a delivery, from its claim (T3) until its outcome was stored (T4).
    /// - Parameters:
    ///   - answered: when the receiver had answered.
    public func attempted(
        _ claim: Claim, in context: TraceContext, answered: Timestamp, stored: Timestamp, outcome: RetryPolicy.Next
    ) {
        guard context.isSampled else { return }
        let delivery = claim.delivery
        var span = Span(
            "deliver \(delivery.action)", in: context,
            parent: delivery.id.occasion.event.map { SpanID(rootOf: TraceID(of: $0)) }, kind: .client,
            from: claim.attempt.now, to: stored,
            attributes: [
                "bellhop.delivery": .string(delivery.id.text), "bellhop.rule": .string(delivery.id.rule),
                "bellhop.action": .string(delivery.action), "bellhop.receiver": .string(delivery.id.receiver),
                "bellhop.attempt": .int(Int64(claim.number)), "bellhop.outcome": .string(outcome.name),
            ])
        if let failure = outcome.failure {
            span.attributes["error.type"] = .string(failure.reason.rawValue)
            span.failure = failure.message
        }
        span.moments = [.init("answered", answered)]
        record(span)
    }
}

extension RetryPolicy.Next {
    fileprivate var name: String {
        switch self {
        case .done: "done"
        case .retry: "retry"
        case .postponed: "postponed"
        case .dead: "dead"
        case .held: "held"
        case .paused: "paused"
        }
    }

    fileprivate var failure: Failure? {
        switch self {
        case .done: nil
        case .retry(_, let failure), .postponed(let failure), .dead(let failure), .held(let failure), .paused(let failure, _):
            failure
        }
    }
}
