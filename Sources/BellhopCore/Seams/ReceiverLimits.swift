/// What a receiver takes, as the configuration says it.
public struct ReceiverLimits: Sendable {
    /// Attempts at once; nil for as many as the dispatcher makes.
    public var lanes: Int?
    /// How many of the deliveries that come next an attempt wants to know the tasks of.
    public var upcoming: Int
    /// Nil where requests may go as fast as they can.
    public var rate: (any AttemptRate)?

    public init(lanes: Int? = nil, upcoming: Int = 0, rate: (any AttemptRate)? = nil) {
        self.lanes = lanes
        self.upcoming = upcoming
        self.rate = rate
    }
}

/// The requests that a receiver takes in a time, as deliveries share them with polls: what an attempt needs is set aside before it begins.
public protocol AttemptRate: Sendable {
    /// Sets aside what attempts need; for how many of them there is enough now.
    func reserve(upTo attempts: Int) -> Int
    /// Gives back what was set aside for attempts that are not made.
    func giveBack(_ attempts: Int)
    /// Says whether deliveries wait for their turn: while they do they get their share, however much else asks.
    func setWaiting(_ isWaiting: Bool)
    /// When there may be enough for another attempt; nil where that depends on attempts in flight.
    var next: Timestamp? { get }
    /// Makes an attempt with what was set aside for one; what it did not use is given back.
    func spend<Value: Sendable>(_ attempt: () async -> Value) async -> Value
}
