public import BellhopCore
import Synchronization

/// Whether each source was polled once since the agent started, successfully or not.
///
/// A class over a mutex, because pollers write it and timers read it.
public final class InitialPolls: Sendable {
    /// The longest that a hanging source delays the timers that read its tasks.
    static let patience = Duration.seconds(60)

    private let missing: Mutex<Set<Scope.ID>>

    public init(_ scopes: [Scope.ID]) { missing = Mutex(Set(scopes)) }

    func markPolled(_ scope: Scope.ID, in surroundings: Surroundings) {
        missing.withLock { _ = $0.remove(scope) }
        surroundings.bells.timers.ring()
    }

    /// Whether at least one of these scopes has not been polled yet.
    func isMissing(_ scopes: some Sequence<Scope.ID>) -> Bool {
        missing.withLock { missing in scopes.contains { missing.contains($0) } }
    }
}
