public import BellhopCore

/// When to retry, as an answer states it.
public enum RetryAfter {
    /// Longer waits are cut to this.
    public static let longest = Duration.days(1)

    /// Reads `Retry-After` (seconds or a date), or else the reset time of the rate limit; nil without either. Dates count from
    /// the answer's own `Date`, so that a wrong clock on either side does no harm.
    /// - Parameter readsReset: false to ignore the reset time of the rate limit, which some services state in every answer.
    public static func read(_ headers: HeaderFields, at now: Timestamp, readsReset: Bool = true) -> Duration? {
        let here = headers["Date"].flatMap { Timestamp(httpDate: $0) } ?? now
        if let text = headers["Retry-After"].map({ ASCII.trimmed($0) }) {
            if let seconds = seconds(text) { return limited(seconds) }
            if let moment = Timestamp(httpDate: text) { return limited(moment - here) }
        }
        return readsReset ? reset(headers, here) : nil
    }

    /// Unix seconds, Unix milliseconds, or seconds from now; or the `t` of `RateLimit: "default";r=0;t=30`.
    private static func reset(_ headers: HeaderFields, _ here: Timestamp) -> Duration? {
        let names = ["X-RateLimit-Reset-After", "X-RateLimit-Reset", "RateLimit-Reset", "X-Rate-Limit-Reset"]
        for text in names.compactMap({ headers[$0] }) {
            guard let number = seconds(ASCII.trimmed(text)) else { continue }
            switch number {
            case 100_000_000_000...: return limited(.seconds(number / 1000) - here.sinceEpoch)
            case 1_000_000_000...: return limited(.seconds(number) - here.sinceEpoch)
            default: return limited(number)
            }
        }
        return headers["RateLimit"].flatMap { RateLimit.parameter("t", of: $0) }.map { limited(Double($0)) }
    }

    /// A number of seconds, perhaps with a sign and a fraction, of any length.
    private static func seconds(_ text: some StringProtocol) -> Double? {
        guard text.utf8.allSatisfy({ $0.isASCIIDigit || "+-.".utf8.contains($0) }) else { return nil }
        return Double(text).map { min($0, 1e15) }
    }

    private static func limited(_ seconds: Double) -> Duration {
        .milliseconds(Int64((min(max(seconds, 0), longest.seconds) * 1000).rounded(.up)))
    }

    private static func limited(_ duration: Duration) -> Duration { min(max(duration, .zero), longest) }
}

extension HTTPResponse {
    /// Whether it refuses the request only because there were too many: with 429, or with 403 as GitHub and Google do. Such a 403
    /// has `Retry-After`, no requests left, or says so in its text.
    var isThrottled: Bool {
        guard status == 403 else { return status == 429 }
        if headers["Retry-After"] != nil || RateLimit(headers)?.left == 0 { return true }
        let text = ASCII.lowercased(String(decoding: body.prefix(4096), as: UTF8.self))
        return ["rate limit exceeded", "secondary rate limit", "ratelimitexceeded"].contains { text.contains($0) }
    }
}

extension Timestamp {
    fileprivate var sinceEpoch: Duration { .microseconds(microseconds) }
}
