/// Bounds on an expression and on one evaluation; exceeding one is an error with its place, never a crash.
public struct Limits: Sendable, Hashable {
    /// The longest text of an expression, in bytes.
    public var expressionBytes = 100_000
    /// The deepest nesting of an expression.
    public var depth = 250
    /// The work of one evaluation: about one unit for each element that a macro visits, three for each function call in it, and one for
    /// each 16 bytes of text that is searched or made. A unit takes about 50 nanoseconds, so most evaluations end within a second, and
    /// the worst within a few seconds.
    public var cost: Int64 = 20_000_000
    /// The total memory that one evaluation may request, in bytes.
    public var memory: Int64 = 256 << 20
    /// The longest pattern of a regular expression, in bytes.
    public var patternBytes = 4096

    public init() {}
}
