import BellhopCore
import Synchronization

/// What each receiver can take now: decided before a claim, so that no attempt has to wait after it began.
///
/// A class over a mutex, because attempts end in tasks of their own.
final class Lanes: Sendable {
    private struct Lane {
        var limits: ReceiverLimits
        var pace: ReceiverPace
        var inFlight = 0
        /// Attempts with reserved requests, during a claim.
        var reserved = 0
        /// Attempts that may be claimed now, and when to look again if there are none.
        var room = 0
        var next: Timestamp?
        /// Whether due deliveries wait for more room.
        var isWaiting = false
    }

    private struct State {
        var total = 0
        var lanes: [String: Lane] = [:]
        /// The number of attempts by the end of their lease.
        var leases: [Timestamp: Int] = [:]
    }

    /// Above this number, receivers without state are forgotten: rules may compute addresses.
    private static let manyLanes = 500

    /// How soon to look again at a receiver whose rate is used up.
    private static let stride = Duration.seconds(5)

    private let state = Mutex(State())
    private let most: Int
    private let rests: Rests
    private let limits: @Sendable (String) -> ReceiverLimits

    /// - Parameter most: attempts in flight to one receiver.
    init(most: Int, rests: Rests, limits: @escaping @Sendable (String) -> ReceiverLimits) {
        self.most = most
        self.rests = rests
        self.limits = limits
    }

    var total: Int { state.withLock { $0.total } }

    /// When the first lease ends; nil if nothing is in flight.
    var firstLeaseEnd: Timestamp? { state.withLock { $0.leases.keys.min() } }

    /// Corrects times that are in the future because the clock was set back.
    func bringForward(to now: Timestamp) {
        rests.bringForward(to: now)
        state.withLock { state in
            for receiver in state.lanes.keys { state.lanes[receiver]?.pace.bringForward(to: now) }
        }
    }

    /// The room at each known receiver; its requests are reserved until ``took(_:)``.
    func room(limit: Int, at now: Timestamp) -> [String: Room] {
        state.withLock { state in
            var room: [String: Room] = [:]
            for receiver in state.lanes.keys {
                guard var lane = state.lanes[receiver] else { continue }
                // A connection whose secrets changed was replaced.
                if lane.inFlight == 0, lane.reserved == 0 { lane.limits = limits(receiver) }
                (lane.room, lane.next) = lane.pace.room(inFlight: lane.inFlight, at: now)
                if let until = rests.until(receiver, at: now) { (lane.room, lane.next) = (0, until) }
                lane.room = min(lane.room, limit)
                if lane.room > 0, let rate = lane.limits.rate {
                    lane.reserved = rate.reserve(upTo: lane.room)
                    lane.room = lane.reserved
                    // Polls take and give back requests without ringing.
                    if lane.reserved == 0 { lane.next = min(rate.next ?? .distantFuture, now + Self.stride) }
                }
                room[receiver] = Room(
                    attempts: lane.room, upcoming: lane.limits.upcoming, patience: lane.limits.patience)
                state.lanes[receiver] = lane
            }
            return room
        }
    }

    /// Records what was claimed, and gives back unused reservations. True if something is due for a receiver that was unknown
    /// until now.
    func took(_ claimed: Claimed, at now: Timestamp) -> Bool {
        state.withLock { state in
            state.total += claimed.claims.count
            for claim in claimed.claims {
                state.leases[claim.lease.until, default: 0] += 1
                let receiver = claim.delivery.id.receiver
                state.lanes[receiver]?.inFlight += 1
                state.lanes[receiver]?.pace.began(at: now)
                if state.lanes[receiver]?.reserved ?? 0 > 0 { state.lanes[receiver]?.reserved -= 1 }
            }
            for receiver in state.lanes.keys {
                guard var lane = state.lanes[receiver] else { continue }
                lane.isWaiting = claimed.waiting.contains(receiver)
                if let rate = lane.limits.rate {
                    if lane.reserved > 0 { rate.giveBack(lane.reserved) }
                    lane.reserved = 0
                    // A receiver that rests, or has no lane free, needs no requests: others and attempts under way can use them.
                    let isFull = lane.limits.lanes.map { lane.inFlight >= $0 } ?? false
                    rate.setWaiting(lane.isWaiting && !isFull && rests.until(receiver, at: now) == nil)
                }
                state.lanes[receiver] = lane
            }
            if state.lanes.count > Self.manyLanes {
                state.lanes = state.lanes.filter { $0.value.inFlight > 0 || $0.value.isWaiting || !$0.value.pace.isFresh }
            }
            let unknown = claimed.waiting.filter { state.lanes[$0] == nil }
            for receiver in unknown {
                let limits = limits(receiver)
                var lane = Lane(limits: limits, pace: ReceiverPace(most: min(limits.lanes ?? most, most)))
                if let rest = rests.latest(of: receiver) { lane.pace.restore(rest, at: now) }
                state.lanes[receiver] = lane
            }
            return !unknown.isEmpty
        }
    }

    /// Gives back the reservations of a failed claim.
    func abandon(at now: Timestamp) { _ = took(Claimed(), at: now) }

    /// The receivers without room now, and when the first may have some; nil if that depends on attempts in flight.
    func closed() -> (receivers: Set<String>, next: Timestamp?) {
        state.withLock { state in
            let closed = state.lanes.filter { $0.value.room == 0 }
            return (Set(closed.keys), closed.values.compactMap(\.next).min())
        }
    }

    /// When waiting due deliveries may have room; nil if there are none, or if it depends on attempts in flight.
    var nextForWaiting: Timestamp? {
        state.withLock { state in state.lanes.values.lazy.filter(\.isWaiting).compactMap(\.next).min() }
    }

    func rate(of receiver: String) -> (any AttemptRate)? { state.withLock { $0.lanes[receiver]?.limits.rate } }

    /// Records how an attempt ended, before it is stored. Returns the rest that its receiver asked for, if any; it is not new if
    /// another attempt of the same burst already met it.
    func ended(_ claim: Claim, _ outcome: Outcome, at now: Timestamp) -> (rest: ReceiverRest, isNew: Bool)? {
        let (receiver, began) = (claim.delivery.id.receiver, claim.attempt.now)
        return state.withLock { state in
            guard var lane = state.lanes[receiver] else { return nil }
            defer { state.lanes[receiver] = lane }
            guard case .failed(let failure) = outcome, case .rest(let wait) = failure.remedy else {
                if case .delivered = outcome {
                    lane.pace.ended(wasTaken: true, began: began, at: now)
                } else {
                    lane.pace.ended(wasTaken: false, began: began, at: now)
                }
                return nil
            }
            let isNew = lane.pace.refused(began: began, wait: wait, at: now)
            let rest = ReceiverRest(
                receiver: receiver, since: now, until: lane.pace.restsUntil ?? now, interval: lane.pace.interval,
                why: failure.message)
            return (rests.record(rest), isNew)
        }
    }

    /// Removes an attempt whose end is stored.
    func leave(_ claim: Claim) {
        state.withLock { state in
            state.total -= 1
            state.lanes[claim.delivery.id.receiver]?.inFlight -= 1
            guard let count = state.leases[claim.lease.until] else { return }
            state.leases[claim.lease.until] = count > 1 ? count - 1 : nil
        }
    }
}
