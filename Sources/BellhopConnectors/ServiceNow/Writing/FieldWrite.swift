import BellhopCore

/// A field and its intended value.
struct FieldWrite: Sendable, Hashable {
    var name: String
    var value: String
    /// Whether it is a display value, not a database value.
    var isDisplay: Bool

    /// Nil if the value is a list or an object.
    init?(_ name: String, _ json: JSON, isDisplay: Bool) {
        guard let text = json.fieldText else { return nil }
        self.name = name
        self.isDisplay = isDisplay
        // Rules use RFC 3339 times; the database has UTC without a zone.
        value = isDisplay ? text : Timestamp(rfc3339: text)?.sql ?? text
    }

    /// Whether a record has this value, however it writes a number.
    func isMet(by found: FieldValue) -> Bool { FieldValue.isSame(value, found.raw) || (isDisplay && found.label == value) }

    /// Whether a record has exactly this value: `1.10` is not `1.1`, because the field may hold text.
    func isExactly(_ found: FieldValue) -> Bool {
        FieldValue.isSameText(value, found.raw) || (isDisplay && found.label == value)
    }

    static let display = Setting(
        "display", .boolean, default: "false",
        "Whether the values are display values (a choice's label, a person's name) instead of database values.")

    /// Reads a rule's `fields`.
    static func all(_ json: JSON?, isDisplay: Bool, refused: [String: String]) throws(Failure) -> [FieldWrite] {
        guard let members = json?.asObject, !members.isEmpty else { throw Failure.badArguments("There is no field to set.") }
        var writes: [FieldWrite] = []
        for (name, value) in members {
            guard let write = FieldWrite(name, value, isDisplay: isDisplay), isName(name) else {
                throw Failure.badArguments("`\(name)` cannot be set: a field takes a text, a number, true or false.")
            }
            if let help = refused[name] { throw Failure.badArguments("`\(name)` is not set this way: \(help).") }
            writes.append(write)
        }
        return writes
    }

    static func isName(_ text: String) -> Bool {
        ASCII.isName(text, of: 1...80, with: "_") && text.utf8.first.map(\.isASCIIDigit) == false
    }

    /// Names that cannot be set as fields, each with the alternative.
    static let refused: [String: String] = {
        let journal = "write `comment: {text: …, visibility: customer}`, or `visibility: internal` for a work note"
        let own = "the platform sets it"
        return [
            "comments": journal, "work_notes": journal, "comments_and_work_notes": journal, "sys_id": own, "sys_class_name": own,
            "sys_updated_on": own, "sys_updated_by": own, "sys_created_on": own, "sys_created_by": own, "sys_mod_count": own,
        ]
    }()
}

extension FieldValue {
    /// Whether two database texts are equal, ignoring line ends, trailing blanks, and how a number is written.
    static func isSame(_ left: String, _ right: String) -> Bool {
        if isSameText(left, right) { return true }
        // Longer texts may be ids, which would be rounded.
        guard left.utf8.count < 16, right.utf8.count < 16, let left = Double(left), let right = Double(right) else {
            return false
        }
        return left == right
    }

    /// Whether two database texts are equal, ignoring line ends and trailing blanks.
    static func isSameText(_ left: String, _ right: String) -> Bool {
        if left == right { return true }
        switch (left, right) {
        case ("true", "1"), ("1", "true"), ("false", "0"), ("0", "false"): return true
        default: return CommentText.normalized(left) == CommentText.normalized(right)
        }
    }

    /// Whether this is the value in a rule: as a database or display value.
    func isMeant(by json: JSON) -> Bool {
        guard let text = json.fieldText else { return false }
        if Self.isSame(text, raw) || label == text { return true }
        guard let time = Timestamp(rfc3339: text) else { return json.isNull && typed(.timestamp).isNull && typed(.double).isNull }
        return ItemValue.plainTime(raw) == time
    }
}

extension JSON {
    /// The text of a scalar in a field; nil for other values.
    fileprivate var fieldText: String? {
        switch self {
        case .null: ""
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double, .string: asString ?? text
        case .array, .object: nil
        }
    }
}

/// Compares the record in the server's answer with a write.
struct WriteResult: Sendable, Hashable {
    /// Fields that do not have the sent value: the server does not know them, kept the old value, or cleared them.
    var refused: [String] = []
    /// Fields to which the server's own rules gave another value, with that value.
    var altered: [String] = []

    /// - Parameter before: a field's value before the write; "" for a new record.
    init(_ writes: [FieldWrite], _ echo: JSON, before: (String) -> String) {
        for write in writes {
            guard let found = FieldValue(echo[write.name]) else {
                refused.append("`\(write.name)` (there is no such field, or this account may not read it)")
                continue
            }
            if write.isMet(by: found) { continue }
            let old = before(write.name)
            if found.raw == old {
                refused.append("`\(write.name)` (it stayed \(Self.shown(old)))")
            } else if found.raw.isEmpty {
                refused.append("`\(write.name)` (it was cleared)")
            } else {
                altered.append("`\(write.name)` became \(Self.shown(found.raw))")
            }
        }
    }

    static func shown(_ text: String) -> String { text.isEmpty ? "empty" : "'\(Redaction.excerpt(text, length: 60))'" }

    /// The altered fields, for a receipt.
    var note: String { altered.isEmpty ? "" : "; changed by a rule of the instance: \(altered.joined(separator: ", "))" }
}
