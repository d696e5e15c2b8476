/// One problem of an expression, with its place and, if possible, a fix.
public struct Issue: Error, Sendable, Hashable {
    /// The kind of problem, stable over versions, such as `unknown-field`.
    public let code: String
    public let message: String
    /// UTF-8 offsets in the expression's text.
    public let range: Range<Int>
    /// How to correct it, such as "did you mean `priority`?".
    public let help: String?

    public init(_ code: String, _ message: String, at range: Range<Int>, help: String? = nil) {
        (self.code, self.message, self.range, self.help) = (code, message, range, help)
    }
}

/// All problems of an expression, in text order.
public struct Issues: Error, Sendable, Hashable, CustomStringConvertible {
    public let all: [Issue]

    public init(_ all: [Issue]) { self.all = all }

    public var description: String {
        all.map { "\($0.range.lowerBound): \($0.message) [\($0.code)]\($0.help.map { ": \($0)" } ?? "")" }.joined(separator: "\n")
    }
}
