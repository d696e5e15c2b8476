import BellhopCore

/// A field of the Table API, in whichever of its shapes it came: a text, or an object with `value`, `display_value` or both.
struct FieldValue: Sendable, Hashable {
    /// As the database has it; for an answer that has display values only, those.
    var raw: String
    /// As people read it; nil when the answer does not say.
    var label: String?

    /// Nil for a field that the answer does not have.
    init?(_ json: JSON?) {
        switch json {
        case nil: return nil
        case .string(let text)?: raw = text
        case .null?: raw = ""
        case .bool(let flag)?: raw = flag ? "true" : "false"
        case .int(let number)?: raw = String(number)
        case .double(let number)?: raw = String(number)
        case .array?: return nil
        case .object(let members)?:
            label = Self.text(members["display_value"])
            guard let value = Self.text(members["value"]) ?? label else { return nil }
            raw = value
        }
    }

    /// The member of a row that was gone through as a tape; nil for one that the row does not have.
    init?(_ node: JSONTape.Node?, of row: JSONTape) { self.init(node.map(row.value(of:))) }

    private static func text(_ json: JSON?) -> String? {
        switch json {
        case .string(let text)?: text
        case .null?: ""
        case .int(let number)?: String(number)
        case .bool(let flag)?: flag ? "true" : "false"
        case nil, .double?, .array?, .object?: nil
        }
    }

    /// The value as a field of this type holds it; what is empty or cannot be read is null, but for texts.
    func typed(_ type: FieldType) -> JSON {
        switch type {
        case .text: .string(raw)
        case .int: Int64(ASCII.trimmed(raw)).map { .int($0) } ?? .null
        case .double: Double(ASCII.trimmed(raw)).flatMap { $0.isFinite ? .double($0) : nil } ?? .null
        case .bool:
            switch raw {
            case "true", "1": .bool(true)
            case "false", "0": .bool(false)
            default: .null
            }
        case .timestamp where raw.isEmpty: .null
        case .timestamp: Self.time(raw).map { .string($0.rfc3339) } ?? .null
        }
    }

    /// Times are UTC without saying so; a date alone is its midnight.
    static func time(_ text: String) -> Timestamp? {
        Timestamp(serviceNow: text) ?? Timestamp(serviceNow: text + " 00:00:00")
    }
}
