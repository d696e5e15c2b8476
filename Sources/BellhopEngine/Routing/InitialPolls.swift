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
    }

    private let missing: Mutex<Missing>

    public init(_ scopes: [Scope.ID]) { missing = Mutex(Missing(polls: Set(scopes), goodPolls: Set(scopes))) }

    func markPolled(_ scope: Scope.ID, isGood: Bool, in surroundings: Surroundings) {
        missing.withLock { missing in
            missing.polls.remove(scope)
            if isGood { missing.goodPolls.remove(scope) }
        }
        surroundings.bells.timers.ring()
    }

    /// Whether at least one of these scopes has not been polled yet.
    func isMissing(_ scopes: some Sequence<Scope.ID>) -> Bool {
        missing.withLock { missing in scopes.contains { missing.polls.contains($0) } }
    }

    /// Whether this scope had no good poll yet.
    func isGoodPollMissing(_ scope: Scope.ID) -> Bool { missing.withLock { $0.goodPolls.contains(scope) } }
}
