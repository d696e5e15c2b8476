/// The identity of a trace (W3C Trace Context): 128 bits, derived from the fact that began it. It need not be stored: a delivery
/// that is made after a restart belongs to the trace of its event.
public struct TraceID: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

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
