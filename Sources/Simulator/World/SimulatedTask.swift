/// A task of the simulated instance, with its raw values as in the database.
public struct SimulatedTask: Sendable, Hashable, Identifiable {
    /// The sys_id: 32 hexadecimal digits.
    public let id: String
    /// Raw values by column; times are UTC `yyyy-MM-dd HH:mm:ss`, references are sys_ids, an absent column is "".
    public internal(set) var fields: [String: String]

    public subscript(field: String) -> String { fields[field] ?? "" }

    public var number: String { self["number"] }
    public var title: String { self["short_description"] }
    /// The table of the task's class, such as `incident`.
    public var table: String { self["sys_class_name"] }
    public var isActive: Bool { self["active"] == "true" }
    /// The sys_id of the user; "" if it is unassigned.
    public var assignedTo: String { self["assigned_to"] }
    public var priority: Int? { Int(self["priority"]) }
    public var updates: Int { Int(self["sys_mod_count"]) ?? 0 }
}

/// A task before the instance has given it a number and times.
public struct NewTask: Sendable, Hashable {
    /// The instance assigns one if nil.
    public var sysID: String?
    /// `incident`, `change_request`, `sc_task`, `problem` or `task`.
    public var table: String
    public var title: String
    public var priority: Int
    /// A user name (not a sys_id); nil if it is unassigned.
    public var assignedTo: String?
    /// The user name of the person who opened it (and the caller, for an incident); the system if nil.
    public var openedBy: String?
    /// More raw values, which override all above.
    public var fields: [String: String]

    public init(
        _ table: String = "incident", title: String, priority: Int = 3, assignedTo: String? = nil, openedBy: String? = nil,
        sysID: String? = nil, fields: [String: String] = [:]
    ) {
        self.table = table
        self.title = title
        self.priority = priority
        self.assignedTo = assignedTo
        self.openedBy = openedBy
        self.sysID = sysID
        self.fields = fields
    }
}

/// A file of a task: a row of `sys_attachment` with its bytes.
public struct SimulatedAttachment: Sendable, Hashable, Identifiable {
    /// The sys_id.
    public let id: String
    /// The sys_id of the task.
    public let task: String
    /// The table of the task's class.
    public let table: String
    public let name: String
    /// Its media type.
    public let type: String
    public let bytes: [UInt8]
    /// The user name of the author.
    public let author: String
    /// Microseconds since 1970 UTC.
    public let time: Int64
    /// The SHA-256 of the bytes in hexadecimal digits; "" on an instance that does not provide it.
    public let hash: String
}

/// A row of `sys_journal_field`: one comment or work note.
public struct JournalEntry: Sendable, Hashable, Identifiable {
    public enum Kind: String, Sendable, Hashable {
        /// Shown to the caller.
        case comments
        /// Internal.
        case workNotes = "work_notes"
    }

    /// The sys_id.
    public let id: String
    /// The sys_id of the task.
    public let task: String
    /// The table of the task's class when it was written.
    public let table: String
    public let kind: Kind
    public let text: String
    /// The user name of the author.
    public let author: String
    /// Microseconds since 1970 UTC; the wire shows whole seconds.
    public let time: Int64
}
