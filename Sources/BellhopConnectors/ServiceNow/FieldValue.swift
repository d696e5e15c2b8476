import BellhopCore

/// A Table API field in any of its shapes: a text, or an object with `value`, `display_value` or both.
struct FieldValue: Sendable, Hashable {
    /// The database value; the display value if the answer has only that.
    var raw: String
    /// The display value; nil if the answer has none.
    var label: String?

    /// Nil if the answer does not have the field.
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

    /// A row's member, read from a tape; nil if the row does not have it.
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

    /// The value converted to this type. Empty and unreadable values are null, except for texts.
    func typed(_ type: FieldType) -> JSON { ItemValue.typed(raw, type) }
}

extension JSON {
    /// The database value of a row's field; nil if the row does not have it.
    func raw(_ field: String) -> String? { FieldValue(self[field])?.raw }
}
