public import BellhopCore
import Synchronization

/// Whether each source was polled since the agent started, and whether a poll was good.
///
/// A class over a mutex, because pollers write it and timers read it.
public final class InitialPolls: Sendable {
    /// The longest that a hanging source delays the timers that read its tasks.
    static let patience = Duration.seconds(60)
    /// The longest that a failing source delays the timers that wait for its first good poll.
    static let patienceForGoodPolls = Duration.seconds(15 * 60)

    private struct Missing {
        var polls: Set<Scope.ID>
        var goodPolls: Set<Scope.ID>
        /// When the first poll of each ended.
        var ends: [Scope.ID: Timestamp] = [:]
    }

    private let missing: Mutex<Missing>

    public init(_ scopes: [Scope.ID]) { missing = Mutex(Missing(polls: Set(scopes), goodPolls: Set(scopes))) }

    func markPolled(_ scope: Scope.ID, isGood: Bool, in surroundings: Surroundings) {
        missing.withLock { missing in
            if missing.polls.remove(scope) != nil { missing.ends[scope] = surroundings.clock.now }
            if isGood { missing.goodPolls.remove(scope) }
        }
        surroundings.bells.timers.ring()
    }

    /// Whether at least one of these scopes has not been polled yet.
    func isMissing(_ scopes: some Sequence<Scope.ID>) -> Bool {
        missing.withLock { missing in scopes.contains { missing.polls.contains($0) } }
    }

    /// Whether all of these scopes had been polled at a moment.
    func hadPolled(_ scopes: some Sequence<Scope.ID>, at moment: Timestamp) -> Bool {
        missing.withLock { missing in
            scopes.allSatisfy { !missing.polls.contains($0) && missing.ends[$0] ?? .distantPast <= moment }
        }
    }

    /// Whether this scope had no good poll yet.
    func isGoodPollMissing(_ scope: Scope.ID) -> Bool { missing.withLock { $0.goodPolls.contains(scope) } }
}
