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

    /// The difference that counts between two looks, or nil. A field that only one of the two declares is no change: the
    /// configuration changed, not the task. Labels alone never count: they follow the user's language.
    public init?(from before: Snapshot, to after: Snapshot) {
        var changes: [FieldChange] = []
        func compare(_ name: String, _ from: JSON, _ to: JSON) {
            if from != to { changes.append(FieldChange(field: name, from: from, to: to)) }
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
