/// The wall clock that everything asks for the time and sleeps by.
///
/// It can jump: someone sets it, a machine wakes from hibernation, a network time service corrects it. So nobody may take it to
/// be monotonic, and whoever wakes looks at ``now`` again.
public protocol AgentClock: Sendable {
    /// The moment it is.
    var now: Timestamp { get }

    /// Returns once ``now`` has reached the deadline, at once if it has already.
    ///
    /// A jump of the clock past the deadline ends the sleep too, if perhaps late by as much as the clock takes to see the jump.
    /// - Throws: `CancellationError`, and only when the task is cancelled.
    func sleep(until deadline: Timestamp) async throws

    /// Returns once so much time has passed. A clock that can be set measures it by something that cannot, so that setting it makes
    /// nobody sleep longer.
    /// - Throws: `CancellationError`, and only when the task is cancelled.
    func sleep(for duration: Duration) async throws

    /// How much time has passed since some beginning, by something that cannot be set; sleeping machines included.
    var elapsed: Duration { get }
}

extension AgentClock {
    /// The time of ``now``, as suits a clock that nobody sets.
    public var elapsed: Duration { now - .epoch }

    /// Sleeps by ``now``, as suits a clock that nobody sets.
    public func sleep(for duration: Duration) async throws {
        try await sleep(until: now + duration)
    }
}
