/// A user of the simulated instance with their rights.
public struct SimulatedUser: Sendable, Hashable, Identifiable {
    /// How the instance answers reads that its rules restrict.
    public enum Reading: String, Sendable, Hashable {
        case allowed
        /// Rows are missing: an empty list, or 404 for one record.
        case hidden
        /// 403 `Insufficient rights to query records`.
        case forbidden
    }

    /// How the instance answers writes that its rules restrict.
    public enum Writing: String, Sendable, Hashable {
        case allowed
        /// The answer looks like success, but nothing was written.
        case ignored
        case refused
    }

    /// The sys_id.
    public let id: String
    public var userName: String
    public var password: String
    public var name: String
    public var email: String
    public var isActive = true
    public var language = Language.english
    /// Offset in minutes east of UTC of times in display values.
    public var utcOffset = 0
    /// Whether the user's role may call the Task Tracker API at all (403 if not).
    public var mayUseTracker = true
    /// The Table API for `task` and the tables that extend it.
    public var tasks = Reading.allowed
    /// The Table API for `sys_journal_field`.
    public var journal = Reading.allowed
    /// The Table API for `sys_user`, including the user's own row.
    public var users = Reading.allowed
    /// The Table API for `sys_dictionary`, `sys_choice` and `sys_db_object`.
    public var dictionary = Reading.allowed
    /// Columns whose rows of `sys_dictionary` the user's rules hide.
    public var hiddenColumns: Set<String> = []
    public var workNotes = Writing.allowed
    public var comments = Writing.allowed
    /// All other columns of tasks.
    public var updates = Writing.allowed
    /// New records.
    public var creates = Writing.allowed
    /// The Attachment API.
    public var attachments = Reading.allowed
    /// Columns of tasks that a write silently leaves unchanged.
    public var readOnlyFields: Set<String> = []
    /// The sys_ids of the groups that the user is a member of.
    public var groups: Set<String> = []
    /// The names of the user's roles, as in `sys_user_has_role`.
    public var roles = ["itil"]
    /// `sys_user.time_zone`; empty for the instance's own.
    public var timeZone = ""
    /// `sys_user.date_format` and `time_format` of times in display values; empty for the instance's own.
    public var dateFormat = ""
    public var timeFormat = ""
    /// Columns of tasks that read as empty (null in the tracker).
    public var hiddenFields: Set<String> = []
    /// Columns of tasks that are missing from records, and whose conditions queries ignore, as in some releases.
    public var omittedFields: Set<String> = []
    /// sys_ids of tasks that the user's rules hide, though queries count them.
    public var hiddenTasks: Set<String> = []

    public init(id: String, userName: String, password: String, name: String, email: String) {
        self.id = id
        self.userName = userName
        self.password = password
        self.name = name
        self.email = email
    }
}

/// The language in which a user sees labels. Only labels change; table names and raw values never do.
public enum Language: String, Sendable, Hashable, CaseIterable {
    case english = "en"
    case german = "de"
}
