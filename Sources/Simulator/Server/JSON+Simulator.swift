import BellhopCore

extension JSON {
    static func int(_ value: Int) -> JSON { .int(Int64(value)) }

    var asWhole: Int? { asInt.map { Int($0) } }

    /// The text for a form field or a table column; null for arrays and objects.
    var scalarText: String? {
        switch self {
        case .null: ""
        case .string(let text): text
        case .bool, .int, .double: text
        case .array, .object: nil
        }
    }

    /// Whether JavaScript's `if (value)` treats the value as true.
    var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .int(let number): number != 0
        case .double(let number): number != 0
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }
}
