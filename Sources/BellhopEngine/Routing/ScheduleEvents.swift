import BellhopCore
import Synchronization

/// The events of schedules that are not routed yet. A mass change may have stored more events before them than are read from the bus at
/// once.
///
/// A class over a mutex, because the router and the timers share it.
final class ScheduleEvents: Sendable {
    private struct State {
        /// Nil if the store must be read again.
        var events: [StoredEvent]?
        /// Counts the calls of ``ScheduleEvents/forget()``: events that were read before such a call are discarded.
        var changes = 0
    }

    private let state = Mutex(State())

    /// Makes the next use read the store again, which has other events of schedules.
    func forget() {
        state.withLock { state in
            state.events = nil
            state.changes += 1
        }
    }

    /// Records that these events are routed.
    func remove(_ routed: [Int64]) {
        state.withLock { state in
            guard let events = state.events, !events.isEmpty else { return }
            let routed = Set(routed)
            state.events = events.filter { !routed.contains($0.sequence) }
        }
    }

    /// Those behind a place on the bus.
    func behind(_ place: Int64, in store: any Store) async throws(StoreError) -> [StoredEvent] {
        let (known, changes) = state.withLock { ($0.events, $0.changes) }
        if let known { return known.filter { $0.sequence > place } }
        let found = try await store.unrouted(.scheduleDue)
        state.withLock { state in if state.changes == changes { state.events = found } }
        return found.filter { $0.sequence > place }
    }
}
