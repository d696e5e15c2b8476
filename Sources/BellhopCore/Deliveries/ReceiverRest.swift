/// That a receiver takes nothing before a moment, and how fast it is asked afterwards. Kept, so that it outlives a restart.
public struct ReceiverRest: Sendable, Hashable {
    public var receiver: String
    public var since: Timestamp
    public var until: Timestamp
    /// The least time from one attempt to the next.
    public var interval: Duration

    public init(receiver: String, since: Timestamp, until: Timestamp, interval: Duration) {
        self.receiver = receiver
        self.since = since
        self.until = until
        self.interval = interval
    }
}
