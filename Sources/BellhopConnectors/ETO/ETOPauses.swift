import BellhopCore

/// The backoff after failures: a pause that grows with each, so that failing services do not get many requests or logins.
///
/// Each request target has its own pause, so that a failing target does not block others. A failed login blocks all.
struct ETOPauses: Sendable {
    private struct Pause: Sendable {
        var failure: Failure
        var until: Timestamp
        var times: Int
    }

    static let login = ""
    private static let backoff = Backoff(base: .seconds(5), factor: 2, cap: .seconds(900))
    private static let reasons: Set<Failure.Reason> = [
        .serverError, .gateway, .refused, .unauthenticated, .badAnswer, .unexpectedPage, .forbidden,
    ]

    private var pauses: [String: Pause] = [:]

    /// Throws the last failure of the login or of the target, while its pause lasts.
    func check(_ target: String, at now: Timestamp) throws(Failure) {
        for key in [Self.login, target] {
            guard let pause = pauses[key] else { continue }
            let wait = pause.until - now
            // After the clock was set back, a pause must not last longer than the longest one.
            guard wait > .zero, wait <= Self.backoff.cap else { continue }
            let needsPerson = pause.failure.remedy == .pauseConnection
            throw Failure(
                pause.failure.reason, needsPerson ? .pauseConnection : .retry(after: wait), pause.failure.message)
        }
    }

    /// Begins a pause if the failure calls for one; returns the failure with the pause's length.
    mutating func begin(after failure: Failure, of key: String, at now: Timestamp) -> Failure {
        guard Self.reasons.contains(failure.reason), failure.remedy != .giveUp, failure.remedy != .hold else { return failure }
        let times = (pauses[key]?.times ?? 0) + 1
        let length = Self.backoff.ceiling(attempt: times)
        if pauses.count > 200 { pauses = pauses.filter { $0.value.until > now } }
        pauses[key] = Pause(failure: failure, until: now + length, times: times)
        return failure.remedy == .retry(after: nil) ? Failure(failure.reason, .retry(after: length), failure.message) : failure
    }

    mutating func end(_ key: String) { pauses[key] = nil }
    mutating func endAll() { pauses = [:] }
}
