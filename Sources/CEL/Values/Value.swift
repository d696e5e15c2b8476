/// A value of the Common Expression Language: of a variable, an argument or an expression.
///
/// Equality is the language's own: numbers of different types are compared as numbers (`1 == 1u == 1.0`), strings and keys by
/// their code points (not by canonical equivalence), values of different types are unequal.
public enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    case list(List)
    case map(Map)
    case timestamp(Timestamp)
    /// A span of time with nanoseconds; within ±292 years, as in other implementations of the language.
    case duration(Duration)
    indirect case type(CELType)
    /// A value that may be absent (library ``Library/optionals``).
    indirect case optional(Value?)
    /// A host value whose fields are read one by one.
    case object(any HostObject)
}

extension Value {
    /// The name of the value's type as `type()` shows it.
    public var typeName: String { celType.name }

    /// The value's type at run time; the types of elements are `dyn`.
    public var celType: CELType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .list: .list(.dyn)
        case .map: .map(.dyn, .dyn)
        case .timestamp: .timestamp
        case .duration: .duration
        case .type: .type(.dyn)
        case .optional: .optional(.dyn)
        case .object(let object): object.celType
        }
    }

    /// A list of these values.
    public static func list(_ elements: [Value]) -> Value { .list(List(elements)) }

    /// A map with text keys, in the order given; the first of equal keys counts.
    public static func map(_ entries: KeyValuePairs<String, Value>) -> Value {
        .map(Map(entries.map { (.string($0.key), $0.value) }))
    }

    var isNull: Bool {
        if case .null = self { return true }
        return false
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}
