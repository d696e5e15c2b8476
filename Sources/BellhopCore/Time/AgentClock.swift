/// The wall clock for all times and sleeps.
///
/// It can jump: it may be set, the machine may wake from hibernation, or a time service may correct it. So it must not be assumed
/// to be monotonic, and ``now`` must be read again after each sleep.
public protocol AgentClock: Sendable {
    /// The current time.
    var now: Timestamp { get }

    /// Returns once ``now`` has reached the deadline, at once if it already has.
    ///
    /// A jump of the clock past the deadline ends the sleep too, after at most the time that the clock takes to notice it.
    /// - Throws: `CancellationError`, and only when the task is cancelled.
    func sleep(until deadline: Timestamp) async throws

    /// Returns once the duration has passed. Measured by a monotonic clock if ``now`` can be set, so that setting it does not
    /// prolong the sleep.
    /// - Throws: `CancellationError`, and only when the task is cancelled.
    func sleep(for duration: Duration) async throws

    /// The time since some fixed moment by a monotonic clock that includes suspension.
    var elapsed: Duration { get }
}

extension AgentClock {
    /// Measured by ``now``, for clocks that cannot be set.
    public var elapsed: Duration { now - .epoch }

    /// Sleeps by ``now``, for clocks that cannot be set.
    public func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
}
