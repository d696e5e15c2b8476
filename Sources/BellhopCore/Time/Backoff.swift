/// How long to wait before retrying: longer after each failure, with randomness to prevent synchronized retries.
///
/// Full jitter: the wait is between zero and the ceiling `base × factor^(attempt - 1)`, which is at most `cap`.
public struct Backoff: Sendable, Hashable {
    /// The ceiling of the first wait.
    public var base: Duration
    /// The growth factor of the ceiling.
    public var factor: Double
    /// The maximum of the ceiling.
    public var cap: Duration

    /// - Parameters:
    ///   - base: the ceiling of the first wait; zero or less means no wait.
    ///   - factor: the growth factor of the ceiling; less than 1 counts as 1.
    ///   - cap: the maximum of the ceiling.
    public init(base: Duration, factor: Double = 2, cap: Duration) { (self.base, self.factor, self.cap) = (base, factor, cap) }

    /// The longest wait after this attempt has failed; the first attempt is 1.
    public func ceiling(attempt: Int) -> Duration {
        let limit = Double(max(cap.wholeMicroseconds, 0))
        var micros = min(Double(max(base.wholeMicroseconds, 0)), limit)
        // factor^(attempt - 1) by squaring; overflow is infinite and ends at the cap.
        var power = factor > 1 ? factor : 1
        var exponent = max(attempt, 1) - 1
        while exponent > 0, micros > 0, micros < limit {
            if exponent & 1 == 1 { micros *= power }
            power *= power
            exponent >>= 1
        }
        return .microseconds(Int64(exactly: min(micros, limit).rounded()) ?? cap.wholeMicroseconds)
    }

    /// The wait after this attempt has failed; the first attempt is 1.
    /// - Parameter jitter: the fraction of the ceiling; a number from 0 up to 1, drawn by the caller.
    public func delay(attempt: Int, jitter: Double) -> Duration {
        let share = min(max(jitter, 0), 1)
        let ceiling = ceiling(attempt: attempt).wholeMicroseconds
        return .microseconds(Int64(exactly: (Double(ceiling) * share).rounded(.down)) ?? ceiling)
    }
}
