import BellhopCore
import Synchronization

/// The clock of the demonstration. It runs fast, but only while the program gets time from the machine: on a busy machine the morning
/// takes longer, and nothing in it is late.
///
/// A class over a mutex, because all readers move it.
final class DemoClock: AgentClock {
    private struct State {
        var now: Timestamp
        /// The real time of the latest reading.
        var read: Duration
    }

    /// The longest real time between two readings that counts; if more has passed, the program had no time to read it.
    static let longestStep = Duration.milliseconds(100)
    /// How long a sleeper sleeps at most before it reads the clock again.
    private static let stride = Duration.milliseconds(20)

    private let speed: Double
    private let real: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameter real: the real time since some fixed moment.
    init(startingAt start: Timestamp, speed: Double, real: @escaping @Sendable () -> Duration) {
        self.speed = speed
        self.real = real
        state = Mutex(State(now: start, read: real()))
    }

    convenience init(startingAt start: Timestamp, speed: Double) {
        let origin = ContinuousClock.now
        self.init(startingAt: start, speed: speed) { ContinuousClock.now - origin }
    }

    var now: Timestamp {
        state.withLock { state in
            let read = real()
            state.now += min(read - state.read, Self.longestStep) * speed
            state.read = read
            return state.now
        }
    }

    func sleep(until deadline: Timestamp) async throws {
        try Task.checkCancellation()
        while true {
            let left = deadline - now
            guard left > .zero else { return }
            try await Task.sleep(for: min(left / speed, Self.stride), tolerance: nil)
        }
    }
}
