import BellhopCore
import Synchronization

/// The gates of all receivers: whether each can be called now. Deliveries and polls record rests, people record pauses. Deliveries
/// wait for both, polls only for rests.
///
/// A class over a mutex, because all pollers and the dispatcher share it.
final class Receivers: Sendable {
    private struct State {
        var gates: [String: ReceiverGate] = [:]
        var areRestored = false
    }

    private let state = Mutex(State())

    /// The length of a rest if the answer to a poll asks for a rest without a length.
    private static let defaultRest = Duration.seconds(5)

    /// Restores what an earlier run stored.
    func restore(from store: any Store, at now: Timestamp) async throws(StoreError) {
        if state.withLock({ $0.areRestored }) { return }
        let stops = try await store.stops()
        state.withLock { state in
            if state.areRestored { return }
            state.areRestored = true
            for stop in stops { state.gates[stop.receiver, default: ReceiverGate(stop.receiver)].restore(stop, at: now) }
        }
    }

    /// Reads and changes the gates of several receivers.
    func withGates<Value: Sendable>(_ body: (inout [String: ReceiverGate]) -> Value) -> Value {
        state.withLock { body(&$0.gates) }
    }

    /// The rest that a connection asked for; nil if it does not rest.
    func rest(of receiver: String, at now: Timestamp) -> ReceiverStop? { withGates { $0[receiver]?.rest(at: now) } }

    /// Records the rest that the answer to a poll asked for, and returns it to be stored.
    func recordPoll(_ wait: Duration?, of receiver: String, reason: String, at now: Timestamp) -> ReceiverStop {
        withGates { gates in
            gates[receiver, default: ReceiverGate(receiver)].recordPollRest(wait ?? Self.defaultRest, reason: reason, at: now)
        }
    }

    /// Records that a person paused a receiver.
    func pause(_ stop: ReceiverStop) { withGates { $0[stop.receiver, default: ReceiverGate(stop.receiver)].pause(stop) } }

    /// Lets refusals of attempts that began before this time pause nothing. A paused receiver stays paused until ``resume(_:)``.
    func ignoreEarlierRefusals(by receiver: String, at now: Timestamp) {
        withGates { $0[receiver, default: ReceiverGate(receiver)].ignoreEarlierRefusals(at: now) }
    }

    /// Ends the pauses of a receiver. False if it was not paused.
    func resume(_ receiver: String) -> Bool { withGates { $0[receiver]?.resume() ?? false } }

    /// Corrects times that are in the future because the clock was set back.
    func correctFutureTimes(to now: Timestamp) {
        withGates { gates in
            for receiver in gates.keys { gates[receiver]?.correctFutureTimes(to: now) }
        }
    }
}
