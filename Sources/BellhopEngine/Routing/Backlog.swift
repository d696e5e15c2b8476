import BellhopCore
import Synchronization

/// Events from outside of polling that the store could not accept yet: they would otherwise be lost.
///
/// A class over a mutex, because event sinks and the router, which retries, share it.
final class Backlog: Sendable {
    /// The most that are kept; beyond that the oldest are dropped.
    static let most = 1000

    private let events = Mutex<[Event]>([])

    var isEmpty: Bool { events.withLock { $0.isEmpty } }

    func add(_ more: [Event]) {
        events.withLock { events in
            events += more
            if events.count > Self.most { events.removeFirst(events.count - Self.most) }
        }
    }

    /// Removes and returns all of them.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Puts removed events back, before those that came meanwhile.
    func putBack(_ taken: [Event]) {
        let later = take()
        add(taken + later)
    }
}

extension Surroundings {
    /// Puts waiting events onto the bus and reports them. A successful login wakes the deliveries waiting for its connection.
    func keepBacklog() async throws(StoreError) {
        let events = backlog.take()
        guard !events.isEmpty else { return }
        do throws(StoreError) {
            try await store.append(events)
        } catch {
            backlog.putBack(events)
            throw error
        }
        for event in events { signals.emit(.event(event)) }
        bells.router.ring()
        for event in events where event.type.isLogin && event.data["ok"] == .bool(true) {
            do throws(StoreError) {
                try await store.wake(receiver: event.source, at: clock.now)
            } catch {
                // They wake by themselves a little later.
                signals.emit(.storeFailed(doing: "waking what rests on \(event.source)", error))
            }
            bells.dispatcher.ring()
        }
    }
}
