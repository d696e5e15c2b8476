import BellhopCore
import Synchronization

/// How many attempts each receiver can take now. This is decided before a claim, so that no attempt waits after it began.
///
/// A class over a mutex, because many attempts end at the same time, each in its own task.
final class ReceiverCapacity: Sendable {
    private struct Capacity {
        var limits: ReceiverLimits
        var inFlight = 0
        /// During a claim: the attempts for which requests are reserved.
        var reserved = 0
        /// Attempts that may be claimed now, and when to look again if there are none.
        var room = 0
        var next: Timestamp?
        /// Whether due deliveries wait for more room.
        var isWaiting = false
        /// The rule of the delivery that was claimed last.
        var lastRule = ""
    }

    private struct State {
        var total = 0
        var capacities: [String: Capacity] = [:]
        /// The number of attempts by the end of their lease.
        var leases: [Timestamp: Int] = [:]
    }

    /// Above this number, idle receivers are forgotten: rules may compute any number of addresses.
    private static let manyReceivers = 500

    /// The longest time until a receiver whose rate is used up is looked at again.
    private static let stride = Duration.seconds(5)

    private let state = Mutex(State())
    private let most: Int
    private let receivers: Receivers
    private let limits: @Sendable (String) -> ReceiverLimits

    /// - Parameter most: the most attempts in flight to one receiver.
    init(most: Int, receivers: Receivers, limits: @escaping @Sendable (String) -> ReceiverLimits) {
        (self.most, self.receivers, self.limits) = (most, receivers, limits)
    }

    var total: Int { state.withLock { $0.total } }

    /// When the first lease ends; nil if nothing is in flight.
    var firstLeaseEnd: Timestamp? { state.withLock { $0.leases.keys.min() } }

    /// The quota of each known receiver for a claim. The requests for it are reserved until ``recordClaim(_:at:)``.
    ///
    /// - Parameter ended: attempts whose outcomes are stored with the claim; they take no room.
    func quotas(limit: Int, without ended: [EndedAttempt] = [], at now: Timestamp) -> [String: ClaimQuota] {
        let leaving = ended.reduce(into: [:]) { $0[$1.claim.delivery.id.receiver, default: 0] += 1 }
        return state.withLock { state in
            receivers.withGates { gates in
                var quotas: [String: ClaimQuota] = [:]
                quotas.reserveCapacity(state.capacities.count)
                for receiver in state.capacities.keys {
                    guard var capacity = state.capacities[receiver] else { continue }
                    let inFlight = capacity.inFlight - (leaving[receiver] ?? 0)
                    // The limits may have changed: a change of its secrets replaces a connection.
                    if capacity.inFlight == 0, capacity.reserved == 0 { capacity.limits = limits(receiver) }
                    let most = min(capacity.limits.concurrency ?? most, most)
                    (capacity.room, capacity.next) = gates[receiver, default: ReceiverGate(receiver, most: most)]
                        .room(inFlight: inFlight, most: most, at: now)
                    capacity.room = min(capacity.room, limit)
                    if capacity.room > 0, let rate = capacity.limits.rate {
                        capacity.reserved = rate.reserve(upTo: capacity.room)
                        capacity.room = capacity.reserved
                        if capacity.reserved == 0 { capacity.next = Self.next(of: rate, at: now) }
                    }
                    quotas[receiver] = ClaimQuota(
                        attempts: capacity.room, upcoming: capacity.limits.upcoming, extraTime: capacity.limits.extraTime,
                        lastRule: capacity.lastRule,
                        coalescesAbove: capacity.room > 0 ? capacity.limits.coalescesAbove : nil)
                    state.capacities[receiver] = capacity
                }
                return quotas
            }
        }
    }

    /// The facts that a claim has shown, for the dispatcher.
    struct ClaimEffects: Sendable {
        /// Whether deliveries are due for a receiver that was unknown until now.
        var foundNewReceiver = false
        /// The receivers for which a claimed delivery is the trial after an open circuit breaker.
        var trials: [String] = []
        /// Whether an immediate second claim may find more.
        var mayHaveMore = false
    }

    /// Records what was claimed, and gives back unused reservations.
    func recordClaim(_ claimed: Claimed, at now: Timestamp) -> ClaimEffects {
        state.withLock { state in
            receivers.withGates { gates in
                var effects = ClaimEffects(mayHaveMore: claimed.mayHaveMore)
                state.total += claimed.claims.count
                for claim in claimed.claims {
                    state.leases[claim.lease.until, default: 0] += 1
                    let receiver = claim.delivery.id.receiver
                    if gates[receiver]?.isOnTrial(at: now) ?? false { effects.trials.append(receiver) }
                    gates[receiver]?.began(at: now)
                    state.capacities[receiver]?.inFlight += 1
                    state.capacities[receiver]?.room -= 1
                    if state.capacities[receiver]?.reserved ?? 0 > 0 { state.capacities[receiver]?.reserved -= 1 }
                }
                for (receiver, rule) in claimed.lastRules { state.capacities[receiver]?.lastRule = rule }
                for receiver in state.capacities.keys {
                    guard var capacity = state.capacities[receiver] else { continue }
                    capacity.isWaiting = claimed.waiting.contains(receiver)
                    // A full receiver has room again when an attempt ends. For any other receiver only another claim shows it.
                    if capacity.isWaiting, capacity.room <= 0, claimed.lastRules[receiver] != nil,
                        capacity.inFlight < min(capacity.limits.concurrency ?? most, most)
                    {
                        effects.mayHaveMore = true
                    }
                    if let rate = capacity.limits.rate {
                        if capacity.reserved > 0 { rate.giveBack(capacity.reserved) }
                        capacity.reserved = 0
                        // A stopped or full receiver needs no requests now, so polls and attempts in flight may use them.
                        let isFull = capacity.limits.concurrency.map { capacity.inFlight >= $0 } ?? false
                        // The rate may allow deliveries that become due before these attempts end.
                        if capacity.room == 0, claimed.lastRules[receiver] != nil, !isFull {
                            capacity.next = Self.next(of: rate, at: now)
                        }
                        rate.setWaiting(capacity.isWaiting && !isFull && gates[receiver]?.stop(at: now) == nil)
                    }
                    state.capacities[receiver] = capacity
                }
                Self.forget(&state, &gates, at: now)
                for receiver in claimed.waiting where state.capacities[receiver] == nil {
                    state.capacities[receiver] = Capacity(limits: limits(receiver), isWaiting: true)
                    effects.foundNewReceiver = true
                }
                return effects
            }
        }
    }

    /// When to look again at a receiver whose rate is used up: soon, because polls use the same rate and do not ring the bell.
    private static func next(of rate: any AttemptRate, at now: Timestamp) -> Timestamp {
        min(rate.next ?? .distantFuture, now + stride)
    }

    private static func forget(_ state: inout State, _ gates: inout [String: ReceiverGate], at now: Timestamp) {
        guard state.capacities.count > manyReceivers else { return }
        for (receiver, capacity) in state.capacities where capacity.inFlight == 0 && !capacity.isWaiting {
            guard gates[receiver]?.isFresh(at: now) ?? true else { continue }
            state.capacities[receiver] = nil
            gates[receiver] = nil
        }
    }

    /// Gives back the reservations of a failed claim.
    func abandonClaim(at now: Timestamp) { _ = recordClaim(Claimed(), at: now) }

    /// The receivers without room now, and when the first of them may have room; nil if that depends on attempts in flight or a
    /// person.
    func closed() -> (receivers: Set<String>, next: Timestamp?) {
        state.withLock { state in
            let closed = state.capacities.filter { $0.value.room == 0 }
            return (Set(closed.keys), closed.values.compactMap(\.next).min())
        }
    }

    /// When waiting due deliveries may have room; nil if there are none, or if it depends on attempts in flight or a person.
    var nextForWaiting: Timestamp? {
        state.withLock { state in state.capacities.values.lazy.filter(\.isWaiting).compactMap(\.next).min() }
    }

    func limits(of receiver: String) -> ReceiverLimits? { state.withLock { $0.capacities[receiver]?.limits } }

    /// Records how an attempt ended, before its outcome is stored.
    func ended(_ claim: Claim, _ outcome: Outcome, at now: Timestamp) -> ReceiverGate.Change {
        receivers.withGates { gates in
            gates[claim.delivery.id.receiver]?.ended(outcome, began: claim.attempt.now, at: now) ?? ReceiverGate.Change()
        }
    }

    /// Removes an attempt whose outcome is stored.
    func leave(_ claim: Claim) {
        state.withLock { state in
            state.total -= 1
            state.capacities[claim.delivery.id.receiver]?.inFlight -= 1
            guard let count = state.leases[claim.lease.until] else { return }
            state.leases[claim.lease.until] = count > 1 ? count - 1 : nil
        }
    }
}
