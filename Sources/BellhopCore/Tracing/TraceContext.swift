/// Where something happens in a trace: the span that causes it (W3C Trace Context, section 3.2).
public struct TraceContext: Sendable, Hashable {
    public var trace: TraceID
    public var span: SpanID
    /// Whether the trace is sent to the OpenTelemetry receiver.
    public var isSampled: Bool

    public init(_ trace: TraceID, _ span: SpanID, isSampled: Bool) {
        (self.trace, self.span, self.isSampled) = (trace, span, isSampled)
    }

    /// The context of an attempt of a delivery.
    public init(of delivery: Delivery.ID, attempt: Int, isSampled: Bool) {
        self.init(
            TraceID(of: delivery.occasion), SpanID("delivery", delivery.text, String(attempt)), isSampled: isSampled)
    }

    /// The value of the header field `traceparent`.
    public var traceparent: String { "00-\(trace.text)-\(span.text)-\(isSampled ? "01" : "00")" }

    /// The context of the work in progress; nil if the work is not traced.
    @TaskLocal public static var current: TraceContext?
}

/// The identity of a span: 64 bits, derived from facts, so that it need not be stored.
public struct SpanID: Sendable, Hashable {
    public var word: UInt64

    public init(_ facts: String...) {
        let word = Identity.words(of: ["span"] + facts).high
        self.word = word == 0 ? 1 : word  // zero means no span
    }

    /// The first span of a trace: how its event came to be.
    public init(rootOf trace: TraceID) { self.init("root", trace.text) }

    /// 16 hexadecimal digits.
    public var text: String { Hexadecimal.text(word) }
}

/// The identity of a trace (W3C Trace Context): 128 bits, derived from the fact that began it. It need not be stored: a delivery
/// that is made after a restart belongs to the trace of its event.
public struct TraceID: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// The trace of an event: the event's id if it has the form of a trace id, as ids made by Bellhop do.
    public init(of event: Event.ID) { self = Self(digits: event.text) ?? Self(["trace", event.text]) }

    /// The trace of a run: the trace of its event, or for a run without an event, such as that of a schedule, its own trace.
    public init(of occasion: Occasion.ID) {
        self = occasion.event.map { TraceID(of: $0) } ?? Self(["trace", occasion.text])
    }

    /// From 32 lowercase hexadecimal digits, not all of them zero; nil for any other text.
    public init?(digits: String) {
        guard let words = Hexadecimal.words(digits), words != (0, 0) else { return nil }
        (high, low) = words
    }

    private init(_ facts: [String]) { (high, low) = Identity.words(of: facts) }

    /// 32 hexadecimal digits.
    public var text: String { Hexadecimal.text(high, low) }
}
