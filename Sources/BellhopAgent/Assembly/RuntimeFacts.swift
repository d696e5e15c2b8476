import BellhopCore
import BellhopEngine
import Synchronization

/// Facts about the running agent that are not in its store: the last successful poll of each source (the store records only polls that
/// found changes), whether bellhop.yaml differs from the one in use or has mistakes, and which connections do not use the changed secrets.
///
/// A class over a mutex, because every loop writes to it and the control socket reads it.
final class RuntimeFacts: Sendable {
    private struct State {
        var polled: [String: Timestamp] = [:]
        var needsRestart = false
        var hasMistakes = false
        /// Why connections do not use the changed secrets, by their names.
        var unbound: [String: String] = [:]
    }

    private let state = Mutex(State())

    func record(_ signal: Signal, at now: Timestamp) {
        switch signal {
        case .polled(let source, _, _, _), .unchanged(let source, _, _): state.withLock { $0.polled[source] = now }
        case .rebound(let connection, let problem): state.withLock { $0.unbound[connection] = problem }
        default: break
        }
    }

    /// Records whether bellhop.yaml differs from the one in use, and whether it has mistakes now.
    func record(needsRestart: Bool, hasMistakes: Bool) {
        state.withLock { ($0.needsRestart, $0.hasMistakes) = (needsRestart, hasMistakes) }
    }

    /// Whether a connection, or a source that takes requests, does not use the changed secrets.
    func isUnbound(_ name: String) -> Bool { state.withLock { $0.unbound[name] != nil } }

    /// The latest successful poll of each source since the start.
    var polled: [String: Timestamp] { state.withLock { $0.polled } }

    var facts: JSON.Object {
        state.withLock { state in
            [
                "polled": .object(state.polled.reduce(into: [:]) { $0[$1.key] = .string($1.value.rfc3339) }),
                "restart_needed": .bool(state.needsRestart), "configuration_wrong": .bool(state.hasMistakes),
                "unbound": .object(state.unbound.reduce(into: [:]) { $0[$1.key] = .string($1.value) }),
            ]
        }
    }
}
