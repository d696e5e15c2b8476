public import BellhopCore
import Synchronization

/// Whether each source was polled once since the agent started, well or not.
///
/// A class over a mutex, because the pollers tell it and the timers ask it.
public final class InitialPolls: Sendable {
    /// A source that hangs keeps back the timers that read its tasks no longer than this.
    static let patience = Duration.seconds(60)

    private let missing: Mutex<Set<Scope.ID>>

    public init(_ scopes: [Scope.ID]) { missing = Mutex(Set(scopes)) }

    func markPolled(_ scope: Scope.ID, in surroundings: Surroundings) {
        missing.withLock { _ = $0.remove(scope) }
        surroundings.bells.timers.ring()
    }

    /// Whether one of these is still to be looked at.
    func isMissing(_ scopes: some Sequence<Scope.ID>) -> Bool {
        missing.withLock { missing in scopes.contains { missing.contains($0) } }
    }
}
