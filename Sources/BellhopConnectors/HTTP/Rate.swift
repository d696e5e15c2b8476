public import BellhopCore

/// So many in so long, as `rate: 60/m` says it.
public struct Rate: Sendable, Hashable {
    public var count: Int
    public var period: Duration

    public init(count: Int, per period: Duration) {
        self.count = max(count, 1)
        self.period = period
    }

    /// Reads what a setting of type `rate` holds: `{count, microseconds}`; nil when it is not that.
    public init?(_ settings: Settings) {
        guard let count = settings.integer("count"), let micros = settings.integer("microseconds"), count > 0, micros > 0 else {
            return nil
        }
        self.init(count: count, per: .microseconds(micros))
    }
}

/// A bucket of as many tokens as the rate's count, in which a token lies again one period after it was taken.
///
/// So there are never more than the count in any period, wherever one begins to measure, while a burst of that many may go at once.
struct TokenBucket: Sendable {
    let rate: Rate
    /// When each token was, or will be, taken; a ring.
    private var taken: [Timestamp] = []
    private var next = 0
    private var latest = Timestamp.distantPast

    init(_ rate: Rate) { self.rate = rate }

    /// Takes a token and says from when on it may be used.
    mutating func take(at now: Timestamp) -> Timestamp {
        if now < latest {  // the clock was set back: what was taken moves with it
            let jump = latest - now
            for index in taken.indices { taken[index] -= jump }
        }
        latest = now
        guard taken.count == rate.count else {
            taken.append(now)
            return now
        }
        let slot = max(now, taken[next] + rate.period)
        taken[next] = slot
        next = (next + 1) % taken.count
        return slot
    }
}
