/// A single value as written, with its type in the YAML 1.2 core schema.
public struct Scalar: Sendable, Hashable {
    /// How a scalar was written.
    public enum Style: Sendable, Hashable {
        case plain
        case singleQuoted
        case doubleQuoted
        /// A block scalar that begins with `|`.
        case literal
        /// A block scalar that begins with `>`.
        case folded
    }

    /// The scalar's text, unescaped and unfolded: `0123` stays `0123`.
    public let text: String

    public let style: Style

    public let value: Value
}

/// The typed value of a scalar in the core schema (YAML 1.2.2, 10.3).
public enum Value: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    /// A number with a fraction or an exponent, `.inf`, `.nan`, or a whole number that does not fit 64 bits.
    case float(Double)
    case string(String)
}
