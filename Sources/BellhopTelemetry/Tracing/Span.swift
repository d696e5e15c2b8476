public import BellhopCore

/// A piece of work with its beginning and its end (OpenTelemetry, Trace API).
public struct Span: Sendable, Hashable {
    public enum Kind: Int64, Sendable, Hashable {
        case `internal` = 1
        /// A request to a remote system.
        case client = 3
    }

    /// A moment of interest within the work.
    public struct Moment: Sendable, Hashable {
        public var name: String
        public var time: Timestamp

        public init(_ name: String, _ time: Timestamp) { (self.name, self.time) = (name, time) }
    }

    public var trace: TraceID
    public var id: SpanID
    /// The span that caused this one; nil for the first of its trace.
    public var parent: SpanID?
    public var name: String
    public var kind: Kind
    public var start: Timestamp
    public var end: Timestamp
    public var attributes: JSON.Object
    public var moments: [Moment] = []
    /// Why the work failed; nil if it did not.
    public var failure: String?

    public init(
        _ name: String, in context: TraceContext, parent: SpanID? = nil, kind: Kind = .internal, from start: Timestamp,
        to end: Timestamp, attributes: JSON.Object = [:]
    ) {
        trace = context.trace
        id = context.span
        self.parent = parent
        self.name = name
        self.kind = kind
        self.start = start
        self.end = max(start, end)
        self.attributes = attributes
    }
}

/// The share of traces that are sent. Every program chooses the same traces by their ids (OpenTelemetry, `TraceIdRatioBased`).
public struct TraceSampling: Sendable, Hashable {
    /// From 0 (none) to 1 (all).
    public var ratio: Double

    public init(_ ratio: Double) { self.ratio = ratio }

    public func includes(_ trace: TraceID) -> Bool {
        Double(trace.low & UInt64(Int64.max)) < ratio * Double(Int64.max) || ratio >= 1
    }
}
