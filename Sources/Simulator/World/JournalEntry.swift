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
