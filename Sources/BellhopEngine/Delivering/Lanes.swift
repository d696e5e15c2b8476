import BellhopCore
import Synchronization

/// How many attempts each receiver can take now. This is decided before a claim, so that no attempt has to wait after it began.
///
/// A class over a mutex, because attempts end in tasks of their own.
final class Lanes: Sendable {
    private struct Lane {
        var limits: ReceiverLimits
        var inFlight = 0
        /// Attempts with reserved requests, during a claim.
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
        var lanes: [String: Lane] = [:]
        /// The number of attempts by the end of their lease.
        var leases: [Timestamp: Int] = [:]
    }

    /// Above this number, receivers without state are forgotten: rules may compute any number of addresses.
    private static let manyLanes = 500

    /// How soon to look again at a receiver whose rate is used up.
    private static let stride = Duration.seconds(5)

    private let state = Mutex(State())
    private let most: Int
    private let receivers: Receivers
    private let limits: @Sendable (String) -> ReceiverLimits

    /// - Parameter most: attempts in flight to one receiver.
    init(most: Int, receivers: Receivers, limits: @escaping @Sendable (String) -> ReceiverLimits) {
        self.most = most
        self.receivers = receivers
        self.limits = limits
    }

    var total: Int { state.withLock { $0.total } }

    /// When the first lease ends; nil if nothing is in flight.
    var firstLeaseEnd: Timestamp? { state.withLock { $0.leases.keys.min() } }

    /// The room at each known receiver. The requests for it are reserved until ``took(_:at:)``.
    ///
    /// - Parameter ended: attempts whose outcomes are stored with the claim; they take no room.
    func room(limit: Int, without ended: [Ended] = [], at now: Timestamp) -> [String: Room] {
        let leaving = ended.reduce(into: [:]) { $0[$1.claim.delivery.id.receiver, default: 0] += 1 }
        return state.withLock { state in
            receivers.withGates { gates in
                var room: [String: Room] = [:]
                room.reserveCapacity(state.lanes.count)
                for receiver in state.lanes.keys {
                    guard var lane = state.lanes[receiver] else { continue }
                    let inFlight = lane.inFlight - (leaving[receiver] ?? 0)
                    // A connection whose secrets changed was replaced.
                    if lane.inFlight == 0, lane.reserved == 0 { lane.limits = limits(receiver) }
                    let most = min(lane.limits.concurrency ?? most, most)
                    (lane.room, lane.next) = gates[receiver, default: ReceiverGate(receiver, most: most)]
                        .room(inFlight: inFlight, most: most, at: now)
                    lane.room = min(lane.room, limit)
                    if lane.room > 0, let rate = lane.limits.rate {
                        lane.reserved = rate.reserve(upTo: lane.room)
                        lane.room = lane.reserved
                        // Polls take and give back requests without ringing.
                        if lane.reserved == 0 { lane.next = min(rate.next ?? .distantFuture, now + Self.stride) }
                    }
                    room[receiver] = Room(
                        attempts: lane.room, upcoming: lane.limits.upcoming, patience: lane.limits.patience,
                        lastRule: lane.lastRule)
                    state.lanes[receiver] = lane
                }
                return room
            }
        }
    }

    /// The receivers with room whose waiting messages may become one, and above which number.
    func coalescing(_ room: [String: Room]) -> [(receiver: String, above: Int)] {
        state.withLock { state in
            state.lanes.compactMap { receiver, lane in
                guard let above = lane.limits.coalescesAbove, lane.isWaiting, room[receiver]?.attempts ?? 0 > 0 else {
                    return nil
                }
                return (receiver, above)
            }
        }
    }

    /// The facts that a claim revealed.
    struct Taking: Sendable {
        /// Whether a delivery is due for a receiver that was unknown until now.
        var hasMet = false
        /// The receivers whose circuit breakers the claimed deliveries try.
        var trials: [String] = []
        /// Whether another claim at once may find more.
        var isCutShort = false
    }

    /// Records what was claimed, and gives back unused reservations.
    func took(_ claimed: Claimed, at now: Timestamp) -> Taking {
        state.withLock { state in
            receivers.withGates { gates in
                var taking = Taking(isCutShort: claimed.isCutShort)
                state.total += claimed.claims.count
                for claim in claimed.claims {
                    state.leases[claim.lease.until, default: 0] += 1
                    let receiver = claim.delivery.id.receiver
                    if gates[receiver]?.isOnTrial(at: now) ?? false { taking.trials.append(receiver) }
                    gates[receiver]?.began(at: now)
                    state.lanes[receiver]?.inFlight += 1
                    state.lanes[receiver]?.room -= 1
                    if state.lanes[receiver]?.reserved ?? 0 > 0 { state.lanes[receiver]?.reserved -= 1 }
                }
                for (receiver, rule) in claimed.lastRules { state.lanes[receiver]?.lastRule = rule }
                for receiver in state.lanes.keys {
                    guard var lane = state.lanes[receiver] else { continue }
                    lane.isWaiting = claimed.waiting.contains(receiver)
                    // A full receiver has room again when an attempt ends. For any other, only another claim can find out.
                    if lane.isWaiting, lane.room <= 0, claimed.lastRules[receiver] != nil,
                        lane.inFlight < min(lane.limits.concurrency ?? most, most)
                    {
                        taking.isCutShort = true
                    }
                    if let rate = lane.limits.rate {
                        if lane.reserved > 0 { rate.giveBack(lane.reserved) }
                        lane.reserved = 0
                        // A receiver that is stopped or full needs no requests: others and attempts in flight can use them.
                        let isFull = lane.limits.concurrency.map { lane.inFlight >= $0 } ?? false
                        rate.setWaiting(lane.isWaiting && !isFull && gates[receiver]?.stop(at: now) == nil)
                    }
                    state.lanes[receiver] = lane
                }
                Self.forget(&state, &gates, at: now)
                for receiver in claimed.waiting where state.lanes[receiver] == nil {
                    state.lanes[receiver] = Lane(limits: limits(receiver), isWaiting: true)
                    taking.hasMet = true
                }
                return taking
            }
        }
    }

    private static func forget(_ state: inout State, _ gates: inout [String: ReceiverGate], at now: Timestamp) {
        guard state.lanes.count > manyLanes else { return }
        for (receiver, lane) in state.lanes where lane.inFlight == 0 && !lane.isWaiting {
            guard gates[receiver]?.isFresh(at: now) ?? true else { continue }
            state.lanes[receiver] = nil
            gates[receiver] = nil
        }
    }

    /// Gives back the reservations of a failed claim.
    func abandon(at now: Timestamp) { _ = took(Claimed(), at: now) }

    /// The receivers without room now, and when the first of them may have room; nil if that depends on attempts in flight or a
    /// person.
    func closed() -> (receivers: Set<String>, next: Timestamp?) {
        state.withLock { state in
            let closed = state.lanes.filter { $0.value.room == 0 }
            return (Set(closed.keys), closed.values.compactMap(\.next).min())
        }
    }

    /// When waiting due deliveries may have room; nil if there are none, or if it depends on attempts in flight or a person.
    var nextForWaiting: Timestamp? {
        state.withLock { state in state.lanes.values.lazy.filter(\.isWaiting).compactMap(\.next).min() }
    }

    func limits(of receiver: String) -> ReceiverLimits? { state.withLock { $0.lanes[receiver]?.limits } }

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
            state.lanes[claim.delivery.id.receiver]?.inFlight -= 1
            guard let count = state.leases[claim.lease.until] else { return }
            state.leases[claim.lease.until] = count > 1 ? count - 1 : nil
        }
    }
}
