/// A JSON value whose objects keep the order of their members.
enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// The digits as written, so that nothing is rounded.
    case number(String)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Sendable, Hashable {
        var name: String
        var value: JSON
    }

    subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var array: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
    var members: [Member]? { if case .object(let members) = self { members } else { nil } }
    var int: Int? { if case .number(let digits) = self { Int(digits) } else { nil } }
    var double: Double? { if case .number(let digits) = self { Double(digits) } else { nil } }

    /// The text for a form field or a table column; null for arrays and objects.
    var scalarText: String? {
        switch self {
        case .null: ""
        case .bool(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): text
        case .array, .object: nil
        }
    }

    /// Whether JavaScript's `if (value)` takes it as true.
    var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let digits): Double(digits).map { $0 != 0 } ?? false
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }

    static func int(_ value: some BinaryInteger) -> JSON { .number(String(value)) }
    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .number(String(value)) }
    init(nilLiteral: ()) { self = .null }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
}
