/// When a failed delivery is retried, and when it is given up. Exponential backoff, half fixed and half random (equal jitter).
public struct RetryPolicy: Sendable, Hashable {
    /// All attempts, including the first; a person's retry of a dead or held delivery allows as many again.
    public var attempts: Int
    /// The longest wait before the second attempt, doubled for each further one. Each wait lasts at least half of its maximum.
    public var base: Duration
    /// The longest wait, unless the other side requests more.
    public var cap: Duration

    public init(attempts: Int, base: Duration, cap: Duration) { (self.attempts, self.base, self.cap) = (attempts, base, cap) }

    /// Fifteen attempts over about half a day: for messages to people or programs, and for writes.
    public static let standard = RetryPolicy(attempts: 15, base: .seconds(5), cap: .seconds(4 * 3600))
    /// 26 attempts over about two days, as Standard Webhooks advises, for requests of rules: another system may be away that long.
    public static let days = RetryPolicy(attempts: 26, base: .seconds(5), cap: .seconds(4 * 3600))

    /// What happens to a delivery next.
    public enum Next: Sendable, Hashable {
        case done(Receipt)
        case retry(at: Timestamp, Failure)
        /// Its receiver rests or is paused: it keeps its place and its attempts.
        case postponed(Failure)
        case dead(Failure)
        /// It may or may not have been done, and this cannot be proved: it waits for a person.
        case held(Failure)
        /// It waits until the connection works again, without using up attempts.
        case paused(Failure, until: Timestamp)
    }

    /// Decides what happens after an attempt. `attempt` counts from 1; `jitter` is in 0..<1, supplied by the caller.
    public func next(after outcome: Outcome, attempt: Int, now: Timestamp, jitter: @autoclosure () -> Double) -> Next {
        switch outcome {
        case .delivered(let receipt): return .done(receipt)
        case .interrupted:
            // Held after the last attempt: a delivery that crashes the agent would otherwise be retried forever.
            let failure = Failure(.interrupted, .unknownOutcome, "The agent ended before the attempt did.")
            return attempt < attempts ? .retry(at: now, failure) : .held(failure)
        case .failed(let failure):
            switch failure.remedy {
            case .giveUp: return .dead(failure)
            case .hold: return .held(failure)
            case .rest, .pauseReceiver: return .postponed(failure)
            case .pauseConnection: return .paused(failure, until: now + Self.pause)
            case .retry(let least):
                guard attempt < attempts else { return .dead(failure) }
                return again(failure, attempt: attempt, now: now, jitter: jitter(), least: least)
            case .unknownOutcome:
                // It may have been done, so it must not be declared dead.
                guard attempt < attempts else { return .held(failure) }
                return again(failure, attempt: attempt, now: now, jitter: jitter(), least: nil)
            }
        }
    }

    /// How long a delivery rests when its connection cannot be used; it resumes earlier if the connection works again.
    public static let pause = Duration.seconds(300)

    private func again(_ failure: Failure, attempt: Int, now: Timestamp, jitter: Double, least: Duration?) -> Next {
        let wait = Backoff(base: base, factor: 2, cap: cap).delay(attempt: attempt, jitter: 0.5 + jitter / 2)
        return .retry(at: now + max(wait, least ?? .zero), failure)
    }
}
