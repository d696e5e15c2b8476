/// Where something happens in a trace: the span that causes it (W3C Trace Context, section 3.2).
public struct TraceContext: Sendable, Hashable {
    public var trace: TraceID
    public var span: SpanID
    /// Whether the trace is sent to the OpenTelemetry receiver.
    public var isSampled: Bool

    public init(_ trace: TraceID, _ span: SpanID, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
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
