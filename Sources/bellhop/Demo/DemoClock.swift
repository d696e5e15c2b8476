import BellhopCore
import Synchronization

/// The clock of the demonstration. It runs fast, but only while the program gets processor time: on a busy machine the morning takes
/// longer, and nothing in it is late.
///
/// A class over a mutex, because one task advances it (``run()``) and all others read it.
final class DemoClock: AgentClock {
    private struct State {
        var now: Timestamp
        /// The real time of the last advance.
        var advanced: Duration
    }

    /// The most real time that counts between two advances. If more has passed, the program had too little processor time.
    static let longestStep = Duration.milliseconds(25)
    private static let stride = Duration.milliseconds(20)

    private let speed: Double
    private let real: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameter real: the real time since some fixed moment.
    init(startingAt start: Timestamp, speed: Double, real: @escaping @Sendable () -> Duration) {
        self.speed = speed
        self.real = real
        state = Mutex(State(now: start, advanced: real()))
    }

    convenience init(startingAt start: Timestamp, speed: Double) {
        let origin = ContinuousClock.now
        self.init(startingAt: start, speed: speed) { ContinuousClock.now - origin }
    }

    var now: Timestamp { state.withLock { shown($0, at: real()) } }

    /// Advances the clock until cancelled.
    func run() async {
        while (try? await Task.sleep(for: Self.stride, tolerance: nil)) != nil { move() }
    }

    func move() {
        state.withLock { state in
            let moment = real()
            (state.now, state.advanced) = (shown(state, at: moment), moment)
        }
    }

    private func shown(_ state: State, at moment: Duration) -> Timestamp {
        state.now + min(moment - state.advanced, Self.longestStep) * speed
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
