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
