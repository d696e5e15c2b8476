/// What happened to a task between two looks at it. Decided by comparing, without asking anybody.
public enum Change: Sendable, Hashable {
    /// Fields have other values than before. Never empty.
    case changed([FieldChange])

    public struct FieldChange: Sendable, Hashable {
        public var field: String
        public var from: JSON
        public var to: JSON

        public init(field: String, from: JSON, to: JSON) {
            self.field = field
            self.from = from
            self.to = to
        }
    }

    /// Fields that every write touches, and that therefore say nothing of their own.
    public static let bookkeeping: Set<String> = ["sys_updated_on", "sys_updated_by", "sys_mod_count"]

    /// Whether two values of a field say the same, though one may be of a type that was only learnt later: what was the text `3` and is
    /// the number 3 has not changed.
    static func isSame(_ from: JSON, _ to: JSON) -> Bool {
        if from == to { return true }
        switch (from, to) {
        case (.string(let left), .string(let right)): return moment(left).map { $0 == moment(right) } ?? false
        case (.string(let text), let other), (let other, .string(let text)): return plain(other) == text
        case (.int(let number), .double(let other)), (.double(let other), .int(let number)): return Double(number) == other
        default: return false
        }
    }

    /// A value that is no text, as the text that it was read from.
    private static func plain(_ value: JSON) -> String? {
        switch value {
        case .null: ""
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): String(number)
        case .string, .array, .object: nil
        }
    }

    /// A time, as a source keeps it or as a record has it.
    private static func moment(_ text: String) -> Timestamp? {
        Timestamp(rfc3339: text) ?? Timestamp(serviceNow: text) ?? Timestamp(serviceNow: text + " 00:00:00")
    }

    /// The difference that counts between two looks, or nil. A field that only one of the two declares is no change: the
    /// configuration changed, not the task. Labels alone never count: they follow the user's language.
    public init?(from before: Snapshot, to after: Snapshot) {
        var changes: [FieldChange] = []
        func compare(_ name: String, _ from: JSON, _ to: JSON) {
            if !Change.isSame(from, to) { changes.append(FieldChange(field: name, from: from, to: to)) }
        }
        compare("number", .string(before.number), .string(after.number))
        compare("title", .string(before.title), .string(after.title))
        // A snapshot without a class holds only what the listing itself says: its other fields were not read, which is no change of
        // the task, neither when they can be read at last nor when they cannot any more.
        let isRead = !before.className.isEmpty && !after.className.isEmpty
        if isRead {
            compare("class", .string(before.className), .string(after.className))
            // A title is told as `title` and, where the source declares it, as `short_description`: a rule may ask for either.
            for (name, to) in after.fields where !Change.bookkeeping.contains(name) && name != "number" {
                if let from = before.fields[name] { compare(name, from, to) }
            }
        }
        if changes.isEmpty { return nil }
        self = .changed(changes)
    }
}

/// Why a task left its source.
public enum RemovalReason: String, Sendable, Hashable, CaseIterable {
    /// It is still there, but no longer active.
    case closed
    /// It is there and active, and no longer what the source asks for (somebody else's, say).
    case leftQuery = "left_query"
    /// The record is not there any more, as far as this account can see.
    case gone
    /// Nobody could be asked.
    case unknown
}
