import BellhopCore

/// Compares a field's value with a condition's. The column's type is unknown, so a result is certain only if it holds for every
/// type.
struct ComparedValue: Sendable {
    private let field: String
    private let raw: String
    private let label: String?

    init(_ value: FieldValue, of field: String) {
        self.field = field
        raw = value.raw
        label = value.label
    }

    enum Place: Sendable { case start, end, anywhere }

    var isEmpty: Bool { raw.isEmpty }

    /// Whether the field is a journal, which the server returns as an empty text.
    var isJournal: Bool { ["comments", "work_notes", "comments_and_work_notes"].contains(field) }

    /// Whether the server evaluates a condition's value instead of comparing it as text.
    static func isComputed(_ value: String) -> Bool { isScript(value) || value == "NULL" }

    /// Whether the server runs a text as a script. By bytes: the colon before a joiner is one character with it.
    static func isScript(_ text: String) -> Bool { text.utf8.starts(with: "javascript:".utf8) }

    func equals(_ value: String) -> Truth {
        if Self.isComputed(value) || isJournal { return .unknown }
        // An empty boolean column counts as false.
        if raw.isEmpty { return ["false", "0"].contains(value) ? .unknown : .fails }
        if raw == value { return .matches }
        if let left = Self.flag(raw), let right = Self.flag(value) { return left == right ? .unknown : .fails }
        if let left = Self.time(raw), let right = Self.time(value) { return Truth(left == right) }
        if Self.isDated(raw), Self.isDated(value) {
            // Two dates compare as texts; a date against a time depends on the user's zone.
            return raw.utf8.count == 10 && value.utf8.count == 10 ? .fails : .unknown
        }
        // The other text may be the name of the referenced record.
        if isSysID, !ServiceNowConnection.isSysID(value) { return .unknown }
        if let left = Self.number(raw), let right = Self.number(value), left == right { return .unknown }
        if let label, Self.mayBeEqual(label, value) { return .unknown }
        return Self.mayBeEqual(raw, value) ? .unknown : .fails
    }

    func contains(_ value: String, at place: Place) -> Truth {
        if Self.isComputed(value) || raw.isEmpty || isJournal { return .unknown }
        // The server searches the display value of a reference.
        if isSysID, field != "sys_id" { return .unknown }
        let found =
            switch place {
            case .start: raw.utf8.starts(with: value.utf8)
            case .end: raw.utf8.reversed().starts(with: value.utf8.reversed())
            case .anywhere: raw.utf8.contains(value.utf8)
            }
        if found { return .matches }
        let wildcards = "%_*".utf8
        guard value.utf8.allSatisfy({ $0 < 0x80 && !wildcards.contains($0) }), raw.utf8.allSatisfy({ $0 < 0x80 }),
            label.map({ $0 == raw }) ?? true, Self.number(raw) == nil, !Self.isDated(raw)
        else { return .unknown }
        let wanted = Self.folded(value)
        let text = Self.folded(raw)
        let mayBeFound =
            switch place {
            case .start: text.starts(with: wanted)
            case .end: text.reversed().starts(with: wanted.reversed())
            case .anywhere: wanted.isEmpty || text.contains(wanted)
            }
        return mayBeFound ? .unknown : .fails
    }

    /// Compares numbers, times of the same form, and values of the column `sys_id`. The database's collation orders other values,
    /// and it is unknown here.
    /// - Parameter holds: the comparison, which gets two numbers in the same order as the values.
    func compare(_ value: String, _ holds: (Int, Int) -> Bool) -> Truth {
        if Self.isComputed(value) || isJournal { return .unknown }
        if raw.isEmpty { return .fails }
        func verdict<Compared: Comparable>(_ left: Compared, _ right: Compared) -> Truth {
            Truth(holds(left < right ? -1 : left > right ? 1 : 0, 0))
        }
        if let left = Self.time(raw), let right = Self.time(value) { return verdict(left, right) }
        if Self.isDate(raw), Self.isDate(value) { return verdict(raw, value) }
        if field == "sys_id", isSysID, ServiceNowConnection.isSysID(value) {
            return verdict(ASCII.lowercased(raw), ASCII.lowercased(value))
        }
        if let left = Int64(raw), let right = Int64(value) { return verdict(left, right) }
        if let left = Self.number(raw), let right = Self.number(value) { return verdict(left, right) }
        return .unknown
    }

    // MARK: Forms

    private var isSysID: Bool { ServiceNowConnection.isSysID(raw) }

    private static func flag(_ text: String) -> Bool? {
        switch text {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    private static func time(_ text: String) -> Timestamp? { Timestamp(sql: text) }

    /// Whether a text is a day, such as `2026-01-05`.
    static func isDate(_ text: String) -> Bool { text.utf8.count == 10 && Timestamp(sql: text + " 00:00:00") != nil }

    private static func isDated(_ text: String) -> Bool { time(text) != nil || isDate(text) }

    /// Whether a collation could treat two texts as equal: it may ignore case and surrounding blanks, and may equate any non-ASCII
    /// letters.
    private static func mayBeEqual(_ left: String, _ right: String) -> Bool {
        let isASCII = left.utf8.allSatisfy { $0 < 0x80 } && right.utf8.allSatisfy { $0 < 0x80 }
        return !isASCII || folded(left) == folded(right)
    }

    private static func folded(_ text: String) -> [UInt8] {
        let bytes = text.utf8.map(ASCII.lower)
        guard let first = bytes.firstIndex(where: { $0 > 0x20 }), let last = bytes.lastIndex(where: { $0 > 0x20 }) else {
            return []
        }
        return Array(bytes[first...last])
    }

    /// A number as a database writes it, short enough to be exact.
    private static func number(_ text: String) -> Double? {
        let isNumber =
            text.utf8.count <= 15
            && text.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
        return isNumber ? Double(text) : nil
    }
}
