import BellhopCore
import Synchronization

/// Which connections asked not to be called before a moment (429, or 503 with a time): recorded and obeyed by polls and
/// deliveries.
///
/// A class over a mutex, because all pollers and the dispatcher share it.
final class Rests: Sendable {
    private struct State {
        var rests: [String: ReceiverRest] = [:]
        var areRestored = false
    }

    private let state = Mutex(State())

    /// The length of a rest that was requested without one.
    private static let unsaid = Duration.seconds(5)
    /// No rest lasts longer, so that a changed clock cannot silence a connection for ever.
    private static let longest = Duration.days(1)

    /// Restores what an earlier run stored.
    func restore(from store: any Store) async throws(StoreError) {
        if state.withLock({ $0.areRestored }) { return }
        let kept = try await store.rests()
        state.withLock { state in
            if state.areRestored { return }
            state.areRestored = true
            for rest in kept where state.rests[rest.receiver] == nil { state.rests[rest.receiver] = rest }
        }
    }

    /// The latest rest of a connection, which may be over.
    func latest(of receiver: String) -> ReceiverRest? { state.withLock { $0.rests[receiver] } }

    /// The rest that a connection is in; nil if it does not rest.
    func current(of receiver: String, at now: Timestamp) -> ReceiverRest? {
        guard var rest = latest(of: receiver), rest.until > now else { return nil }
        rest.until = min(rest.until, now + Self.longest)
        return rest
    }

    /// Until when a connection rests; nil if it does not.
    func until(_ receiver: String, at now: Timestamp) -> Timestamp? { current(of: receiver, at: now)?.until }

    /// Records the rest that a delivery met, and returns it with the later end of both if the connection rests already.
    func record(_ rest: ReceiverRest) -> ReceiverRest {
        state.withLock { state in
            var rest = rest
            if let known = state.rests[rest.receiver] { rest.until = max(rest.until, known.until) }
            state.rests[rest.receiver] = rest
            return rest
        }
    }

    /// Records the rest that a poll met and returns it to be stored. The pace of deliveries afterwards is not decided here.
    func recordPoll(_ wait: Duration?, of receiver: String, why: String, at now: Timestamp) -> ReceiverRest {
        state.withLock { state in
            let known = state.rests[receiver]
            let until = now + max(wait ?? Self.unsaid, .zero)
            let rest = ReceiverRest(
                receiver: receiver, since: now, until: max(until, known?.until ?? until), interval: known?.interval ?? .zero,
                why: why)
            state.rests[receiver] = rest
            return rest
        }
    }

    /// Corrects times that are in the future because the clock was set back.
    func bringForward(to now: Timestamp) {
        state.withLock { state in
            for (receiver, rest) in state.rests where rest.since > now {
                state.rests[receiver] = ReceiverRest(
                    receiver: receiver, since: now, until: now + (rest.until - rest.since), interval: rest.interval,
                    why: rest.why)
            }
        }
    }
}
