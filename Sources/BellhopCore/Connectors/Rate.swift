/// A number of requests per time, such as `rate: 60/m`.
public struct Rate: Sendable, Hashable {
    public var count: Int
    public var period: Duration

    public init(count: Int, per period: Duration) {
        self.count = max(count, 1)
        self.period = period
    }

    /// The longest total wait of this many requests, if as many other requests and a login of two requests go first; at most a day.
    public func wait(for requests: Int) -> Duration {
        let periods = (2 * (requests + 2) + count - 1) / count
        return min(period * periods, .days(1))
    }

    /// As ``wait(for:)``, if the requests before were spread evenly over the period instead of all sent just now.
    public func evenWait(for requests: Int) -> Duration { min(period * (2 * (requests + 2)) / count, .days(1)) }

    /// Reads the value of a setting of type `rate`: `{count, microseconds}`; nil for anything else.
    public init?(_ settings: Settings) {
        guard let count = settings.integer("count"), let micros = settings.integer("microseconds"), count > 0, micros > 0 else {
            return nil
        }
        self.init(count: count, per: .microseconds(micros))
    }

    /// As written in a file: `5/5s`, `60/m`.
    public var text: String {
        let units: [(String, Int64)] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
        let time = period.wholeMilliseconds
        guard let (name, length) = units.first(where: { time % $0.1 == 0 }) else { return "" }
        return time == length ? "\(count)/\(name)" : "\(count)/\(time / length)\(name)"
    }
}
