import BellhopCore
import BellhopTesting
import Synchronization

/// A wall clock that a test can set, on top of steady time that it moves, as on a real machine.
/// It reads the wall clock every half minute.
///
/// A class with a mutex, because the test and the tested loops share it.
final class WallClock: AgentClock {
    let steady = TestClock()
    private let offset = Mutex(Duration.zero)

    var now: Timestamp { steady.now + offset.withLock { $0 } }

    var elapsed: Duration { steady.elapsed }

    /// Sets the clock forward or back.
    func set(by duration: Duration) { offset.withLock { $0 += duration } }

    func sleep(until deadline: Timestamp) async throws {
        while now < deadline { try await steady.sleep(for: min(deadline - now, .seconds(30))) }
        try Task.checkCancellation()
    }

    func sleep(for duration: Duration) async throws { try await steady.sleep(for: duration) }
}
