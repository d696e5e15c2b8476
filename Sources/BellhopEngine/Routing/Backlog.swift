import BellhopCore
import Synchronization

/// Events from outside of polling that the store could not take yet: they happened once, and nobody will tell of them again.
///
/// A class over a mutex, because those who bring events and the router, which tries again, share it.
final class Backlog: Sendable {
    /// So many are kept; of more than these the oldest go.
    static let most = 1000

    private let events = Mutex<[Event]>([])

    var isEmpty: Bool { events.withLock { $0.isEmpty } }

    func add(_ more: [Event]) {
        events.withLock { events in
            events += more
            if events.count > Self.most { events.removeFirst(events.count - Self.most) }
        }
    }

    /// Takes them all out.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Puts back what was taken out, before what came meanwhile.
    func putBack(_ taken: [Event]) {
        let later = take()
        add(taken + later)
    }
}

extension Surroundings {
    /// Brings what waits onto the bus and tells of it. A login that worked wakes what rested on its connection.
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
                // It wakes by itself a little later.
                signals.emit(.storeFailed(doing: "waking what rests on \(event.source)", error))
            }
            bells.dispatcher.ring()
        }
    }
}
