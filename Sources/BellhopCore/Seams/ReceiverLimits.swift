/// A receiver's limits from the configuration.
public struct ReceiverLimits: Sendable {
    /// Concurrent attempts; nil for the dispatcher's limit.
    public var concurrency: Int?
    /// The number of further deliveries whose tasks are passed to an attempt (``Attempt/upcoming``).
    public var upcoming: Int
    /// Nil for no limit.
    public var rate: (any AttemptRate)?
    /// How long the requests of an attempt may wait for the rate limit, in addition to the usual time of an attempt.
    public var extraTime: Duration
    /// The receiver of a message if this one is paused by its own answer.
    public var onPaused: String?
    /// If more messages than this wait, they are coalesced into one; nil for never.
    public var coalescesAbove: Int?

    public init(
        concurrency: Int? = nil, upcoming: Int = 0, rate: (any AttemptRate)? = nil, extraTime: Duration = .zero,
        onPaused: String? = nil, coalescesAbove: Int? = nil
    ) {
        self.concurrency = concurrency
        self.onPaused = onPaused
        self.coalescesAbove = coalescesAbove
        self.upcoming = upcoming
        self.rate = rate
        self.extraTime = extraTime
    }
}

/// A receiver's request rate, shared by deliveries and polls: an attempt's requests are reserved before it begins.
public protocol AttemptRate: Sendable {
    /// Reserves requests for up to this many attempts; returns for how many.
    func reserve(upTo attempts: Int) -> Int
    /// Returns the reserved requests of attempts that are not made.
    func giveBack(_ attempts: Int)
    /// Sets whether deliveries are waiting. Waiting deliveries get their share of the rate, however many other requests wait.
    func setWaiting(_ isWaiting: Bool)
    /// When the rate may allow another attempt; nil if that depends on attempts in flight.
    var next: Timestamp? { get }
    /// Runs an attempt with its reserved requests; returns the unused ones.
    func spend<Value: Sendable>(_ attempt: () async -> Value) async -> Value
}
