/// Bounds on an expression and on one evaluation; exceeding one is an error with its place, never a crash.
public struct Limits: Sendable, Hashable {
    /// The longest text of an expression, in bytes.
    public var expressionBytes = 100_000
    /// The deepest nesting of an expression.
    public var depth = 250
    /// The work of one evaluation: about one per element that a macro visits, per function call in it and per 16 bytes of text
    /// searched or created.
    public var cost: Int64 = 20_000_000
    /// The total memory that one evaluation may request, in bytes.
    public var memory: Int64 = 256 << 20
    /// The longest pattern of a regular expression, in bytes.
    public var patternBytes = 4096

    public init() {}
}
