/// A person's pause of something other than a receiver. Stored, so that it survives a restart.
public struct Pause: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// The rule sees no events, and those that come meanwhile are lost to it; its timers wait.
        case rule(String)
        /// Every delivery that writes to a task or creates one waits.
        case writes
    }

    public var subject: Subject
    public var since: Timestamp
    /// The reason, as the person gave it.
    public var why: String

    public init(_ subject: Subject, since: Timestamp, why: String) {
        self.subject = subject
        self.since = since
        self.why = why
    }
}
