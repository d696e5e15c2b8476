import BellhopCore
import Synchronization

/// Events from outside of polling that the store did not accept yet. The router retries them.
///
/// A class over a mutex, because event sinks and the router share it.
final class UnstoredEvents: Sendable {
    /// The most that are kept.
    static let most = 1000

    private let events = Mutex<[Event]>([])

    var isEmpty: Bool { events.withLock { $0.isEmpty } }

    /// Adds events after those that wait, and returns the oldest beyond the limit, which are dropped.
    func add(_ more: [Event]) -> [Event] {
        events.withLock { events in
            events += more
            let dropped = Array(events.prefix(max(0, events.count - Self.most)))
            events.removeFirst(dropped.count)
            return dropped
        }
    }

    /// Removes and returns all of them.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Puts removed events back, before those that were added meanwhile.
    func putBack(_ taken: [Event]) { events.withLock { $0 = taken + $0 } }
}

extension Surroundings {
    /// Stores the waiting events and then these, all or none, and reports them. A successful login wakes the deliveries that wait for
    /// its connection.
    func storeEvents(_ new: [Event] = []) async throws(StoreError) {
        let waiting = unstored.take()
        let events = waiting + new
        guard !events.isEmpty else { return }
        do throws(StoreError) {
            try await store.append(events)
        } catch {
            unstored.putBack(waiting)
            throw error
        }
        for event in events { signals.emit(.event(event)) }
        bells.router.ring()
        for event in events where event.isSuccessfulLogin {
            do throws(StoreError) {
                try await store.wake(receiver: event.source, at: clock.now)
            } catch {
                // They wake by themselves a little later.
                signals.emit(.storeFailed(doing: "waking what rests on \(event.source)", error))
            }
            bells.dispatcher.ring()
        }
    }

    /// Retries these events with the next turn of the router.
    func storeEventsLater(_ events: [Event]) {
        for event in unstored.add(events) { signals.emit(.eventDropped(event)) }
        bells.router.ring()
    }

    /// Tries once more to store what waits, before the process ends; reports what it drops.
    func storeEventsOrDrop() async {
        await uncancelled {
            do throws(StoreError) {
                try await storeEvents()
            } catch {
                for event in unstored.take() { signals.emit(.eventDropped(event)) }
            }
        }
    }
}
