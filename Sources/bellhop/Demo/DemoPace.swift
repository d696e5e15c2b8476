import BellhopEngine
import Simulator
import Synchronization

/// Delays the next change on the simulated instance until the agent has seen the last one, so that the morning is the same on a busy
/// machine.
///
/// A class over a mutex, because the scenario reads it and the agent's loops update it.
final class DemoPace: Sendable {
    private struct State {
        /// The successful polls since the last change, by source.
        var polls: [String: Int] = [:]
        var hasMessage = false
        /// How often ``isReady`` was false since the last change.
        var refusals = 0
        var isGivenUp = false
    }

    private let sources: [String]
    private let maxRefusals: Int
    private let state = Mutex(State())

    /// - Parameter maxRefusals: how often ``isReady`` may be false before the scenario continues without the agent. A broken agent then gets
    ///   a bad verdict, and the morning still ends.
    init(sources: [String], maxRefusals: Int = 1200) { (self.sources, self.maxRefusals) = (sources, maxRefusals) }

    /// Whether the digest was delivered, and each source was polled twice since the last change: the second poll began after the change.
    var isReady: Bool {
        state.withLock { state in
            if state.isGivenUp { return true }
            if state.hasMessage, sources.allSatisfy({ state.polls[$0, default: 0] >= 2 }) { return true }
            state.refusals += 1
            state.isGivenUp = state.refusals > maxRefusals
            return state.isGivenUp
        }
    }

    func follow(_ scene: Simulation.PlayReport) {
        guard case .happened = scene else { return }
        state.withLock { state in
            state.polls = [:]
            state.refusals = 0
        }
    }

    func observe(_ signal: Signal) {
        switch signal {
        case .polled(let source, _, _, _), .unchanged(let source, _, _): state.withLock { $0.polls[source, default: 0] += 1 }
        case .delivered: state.withLock { $0.hasMessage = true }
        default: break
        }
    }
}
