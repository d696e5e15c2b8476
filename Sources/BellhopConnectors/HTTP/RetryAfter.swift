public import BellhopCore

/// When to retry, as an answer states it.
public enum RetryAfter {
    /// Longer waits are cut to this.
    public static let longest = Duration.days(1)

    /// Reads `Retry-After` (seconds or a date) or else `X-RateLimit-Reset` (Unix seconds, or seconds from now); nil without
    /// either. Dates count from the answer's own `Date`, so that a wrong clock on either side does no harm.
    public static func read(_ headers: HeaderFields, at now: Timestamp) -> Duration? {
        let here = headers["Date"].flatMap { Timestamp(httpDate: $0) } ?? now
        if let text = headers["Retry-After"].map({ ASCII.trimmed($0) }) {
            if let seconds = Int(text) { return limited(.seconds(seconds)) }
            if let moment = Timestamp(httpDate: text) { return limited(moment - here) }
        }
        if let text = headers["X-RateLimit-Reset"], let number = Int64(ASCII.trimmed(text)) {
            let isMoment = number > 1_000_000_000
            return limited(isMoment ? Timestamp(seconds: number) - here : .seconds(number))
        }
        return nil
    }

    private static func limited(_ duration: Duration) -> Duration { min(max(duration, .zero), longest) }
}
