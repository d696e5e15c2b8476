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
