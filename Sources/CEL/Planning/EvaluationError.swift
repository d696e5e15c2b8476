/// Why an evaluation gave no value.
///
/// One machine word in size, so that it is thrown in a register.
public struct EvaluationError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; its raw value is stable over versions.
    public enum Code: String, Sendable, Hashable {
        /// An operation other than `==` and `!=` on a null operand. Hosts treat it as unknown rather than wrong.
        case nullOperand = "null-operand"
        case noSuchOverload = "no-such-overload"
        case noSuchField = "no-such-field"
        case noSuchKey = "no-such-key"
        case unknownName = "unknown-name"
        case indexOutOfRange = "index-out-of-range"
        case divisionByZero = "division-by-zero"
        case overflow = "overflow"
        case invalidArgument = "invalid-argument"
        case invalidPattern = "invalid-pattern"
        case duplicateKey = "duplicate-key"
        case badKey = "bad-key"
        case emptyOptional = "empty-optional"
        case costLimit = "cost-limit"
        case memoryLimit = "memory-limit"
        /// A host function failed.
        case host = "host"
    }

    private final class Storage: Sendable {
        let code: Code
        let message: String
        let range: Range<Int>?

        init(code: Code, message: String, range: Range<Int>?) { (self.code, self.message, self.range) = (code, message, range) }
    }

    private let storage: Storage

    public init(_ code: Code, _ message: String, at range: Range<Int>? = nil) {
        storage = Storage(code: code, message: message, range: range)
    }

    public var code: Code { storage.code }
    public var message: String { storage.message }
    /// UTF-8 offsets in the expression's text; nil if the failure has no single place.
    public var range: Range<Int>? { storage.range }

    public var description: String { "\(message) [\(code.rawValue)]" }

    /// The same failure with a place, unless it has one already.
    func at(_ range: Range<Int>) -> EvaluationError { storage.range == nil ? EvaluationError(code, message, at: range) : self }

    /// Whether the whole evaluation is over, so that `||` and `&&` must not hide the error.
    var isFinal: Bool { code == .costLimit || code == .memoryLimit }

    /// Which of two failures an `||` or `&&` reports: the end of the evaluation before an error, an error before an unknown.
    var severity: Int { isFinal ? 2 : code == .nullOperand ? 0 : 1 }
}

extension EvaluationError: Hashable {
    public static func == (a: Self, b: Self) -> Bool { a.code == b.code && a.message == b.message && a.range == b.range }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}
