import BellhopCore
import Synchronization

/// What is in flight, per receiver.
///
/// A class over a mutex, because the attempts end in tasks of their own.
final class Flight: Sendable {
    private struct State {
        var total = 0
        var receivers: [String: Int] = [:]
        /// How many of the attempts have a lease until then.
        var leases: [Timestamp: Int] = [:]
    }

    private let state = Mutex(State())

    var total: Int { state.withLock { $0.total } }

    /// When the first of the leases ends; nil when nothing is in flight.
    var firstLeaseEnd: Timestamp? { state.withLock { $0.leases.keys.min() } }

    /// The receivers with more than so many attempts in flight.
    func receivers(above count: Int) -> Set<String> {
        state.withLock { state in Set(state.receivers.lazy.filter { $0.value > count }.map(\.key)) }
    }

    func begin(_ claims: [Claim]) {
        state.withLock { state in
            state.total += claims.count
            for claim in claims {
                state.receivers[claim.delivery.id.receiver, default: 0] += 1
                state.leases[claim.lease.until, default: 0] += 1
            }
        }
    }

    func end(_ claim: Claim) {
        state.withLock { state in
            state.total -= 1
            Self.subtract(claim.delivery.id.receiver, &state.receivers)
            Self.subtract(claim.lease.until, &state.leases)
        }
    }

    private static func subtract<Key>(_ key: Key, _ counts: inout [Key: Int]) {
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }
}
