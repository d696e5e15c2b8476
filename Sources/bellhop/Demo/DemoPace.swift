import BellhopEngine
import Simulator
import Synchronization

/// Lets the next thing happen on the simulated instance only after the agent has seen the last one, so that the morning is the same on a
/// busy machine.
///
/// A class over a mutex, because the scenario asks it and the agent's loops tell it.
final class DemoPace: Sendable {
    private struct State {
        /// The good polls since the last happening, by source.
        var polls: [String: Int] = [:]
        var hasMessage = false
        /// How often it was asked in vain since the last happening.
        var refusals = 0
        var isGivenUp = false
    }

    private let sources: [String]
    private let patience: Int
    private let state = Mutex(State())

    /// - Parameter patience: how often it is asked in vain before it waits for the agent no longer. An agent that sees nothing gets a
    ///   bad verdict, not an endless morning.
    init(sources: [String], patience: Int = 1200) {
        self.sources = sources
        self.patience = patience
    }

    /// Whether each source was polled twice since the last happening, and the digest was delivered. The second of two polls began after
    /// the happening.
    var isReady: Bool {
        state.withLock { state in
            if state.isGivenUp { return true }
            if state.hasMessage, sources.allSatisfy({ state.polls[$0, default: 0] >= 2 }) { return true }
            state.refusals += 1
            state.isGivenUp = state.refusals > patience
            return state.isGivenUp
        }
    }

    func follow(_ scene: Simulation.Scene) {
        guard case .happened = scene else { return }
        state.withLock { state in
            state.polls = [:]
            state.refusals = 0
        }
    }

    func hear(_ signal: Signal) {
        switch signal {
        case .polled(let source, _, _, _), .unchanged(let source, _, _): state.withLock { $0.polls[source, default: 0] += 1 }
        case .delivered: state.withLock { $0.hasMessage = true }
        default: break
        }
    }
}
