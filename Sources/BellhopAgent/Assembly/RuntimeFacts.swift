import BellhopCore
import BellhopEngine
import Synchronization

/// Facts about the running agent that are not in its store: the last successful poll of each source (the store records only polls that
/// found changes), whether bellhop.yaml differs from the one in use or cannot be used, and which connections do not use the changed secrets.
///
/// A class over a mutex, because every loop writes to it and the control socket reads it.
final class RuntimeFacts: Sendable {
    private struct State {
        var polled: [String: ClockReading] = [:]
        var needsRestart = false
        var trouble: ConfigurationChanges.Trouble?
        /// Why connections do not use the changed secrets, by their names.
        var unbound: [String: String] = [:]
    }

    private let state = Mutex(State())

    func record(_ signal: Signal, at now: ClockReading) {
        switch signal {
        case .polled(let source, _, _, _), .unchanged(let source, _, _): state.withLock { $0.polled[source] = now }
        case .rebound(let connection, let problem): state.withLock { $0.unbound[connection] = problem }
        default: break
        }
    }

    /// Records whether bellhop.yaml differs from the one in use, and whether it cannot be used now.
    func record(_ changes: ConfigurationChanges) {
        state.withLock { ($0.needsRestart, $0.trouble) = (changes.needsRestart, changes.trouble) }
    }

    /// Whether a connection, or a source that takes requests, does not use the changed secrets.
    func isUnbound(_ name: String) -> Bool { state.withLock { $0.unbound[name] != nil } }

    /// The latest successful poll of each source since the start, by the present clock.
    func polled(at now: ClockReading) -> [String: Timestamp] {
        state.withLock { $0.polled }.mapValues { $0.time(by: now) }
    }

    func facts(at now: ClockReading) -> JSON.Object {
        let polled = polled(at: now)
        return state.withLock { state in
            [
                "polled": .object(polled.reduce(into: [:]) { $0[$1.key] = .string($1.value.rfc3339) }),
                "restart_needed": .bool(state.needsRestart), "configuration_wrong": .bool(state.trouble == .mistakes),
                "configuration_unreadable": .bool(state.trouble == .unreadable),
                "unbound": .object(state.unbound.reduce(into: [:]) { $0[$1.key] = .string($1.value) }),
            ]
        }
    }
}

/// A moment by the clock, which may be set, and by the steady time.
struct ClockReading: Sendable {
    var now: Timestamp
    var elapsed: Duration

    init(_ clock: any AgentClock) { (now, elapsed) = (clock.now, clock.elapsed) }

    /// The smallest correction of the clock that counts as setting it. The two times drift apart a little.
    private static let leastCorrection = Duration.seconds(10)

    /// When this moment was, by the clock as it is set at a later reading.
    func time(by later: ClockReading) -> Timestamp {
        let time = later.now - (later.elapsed - elapsed)
        return max(time - now, now - time) < Self.leastCorrection ? now : time
    }
}
