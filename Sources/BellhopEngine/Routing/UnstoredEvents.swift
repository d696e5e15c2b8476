public import BellhopCore
import Synchronization

/// Events that do not come from polls, and that the store has not accepted yet. The router retries them.
///
/// A class over a mutex, because event sinks and the router share it.
final class UnstoredEvents: Sendable {
    static let most = 1000

    private struct State {
        var events: [Event] = []
        /// True once the loops have ended, so that events are no longer retried.
        var isClosed = false

        /// Drops and returns the oldest events beyond the limit.
        mutating func trim() -> [Event] {
            let dropped = Array(events.prefix(max(0, events.count - (isClosed ? 0 : UnstoredEvents.most))))
            events.removeFirst(dropped.count)
            return dropped
        }
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Adds events after those that wait, and returns the oldest beyond the limit, which are dropped.
    func add(_ more: [Event]) -> [Event] {
        state.withLock { state in
            state.events += more
            return state.trim()
        }
    }

    /// Removes and returns all of them.
    func take() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Puts removed events back, before those that were added meanwhile, and returns those that are dropped.
    func putBack(_ taken: [Event]) -> [Event] {
        state.withLock { state in
            state.events = taken + state.events
            return state.trim()
        }
    }

    /// Removes and returns all of them; those that are added later are dropped at once.
    func close() -> [Event] {
        state.withLock { state in
            state.isClosed = true
            return state.trim()
        }
    }
}

extension EngineContext {
    /// Stores the waiting events and then these, either all or none of them, and reports them. A successful login wakes the
    /// deliveries that wait for its connection.
    func storeEvents(_ new: [Event] = []) async throws(StoreError) {
        let waiting = unstored.take()
        let events = waiting + new
        guard !events.isEmpty else { return }
        let stored: Int
        do throws(StoreError) {
            stored = try await store.append(events)
        } catch {
            for event in unstored.putBack(waiting) { signals.emit(.eventDropped(event)) }
            if !waiting.isEmpty { bells.router.ring() }
            throw error
        }
        // If all events were stored before, nothing is reported again.
        if stored > 0 { for event in events { report(event) } }
        bells.router.ring()
        for event in events where event.isSuccessfulLogin {
            do throws(StoreError) {
                try await store.wake(receiver: event.source, at: clock.now)
            } catch {
                // Their wait ends by itself a little later.
                report(error, doing: "waking the deliveries that wait for \(event.source)")
            }
            bells.dispatcher.ring()
        }
    }

    /// Retries these events with the next turn of the router.
    func storeEventsLater(_ events: [Event]) {
        for event in unstored.add(events) { signals.emit(.eventDropped(event)) }
        bells.router.ring()
    }

    /// Tries once more to store the waiting events, before the process ends; reports the events that it drops.
    func storeEventsOrDrop() async {
        await uncancelled {
            // Events that cannot be stored now are dropped below.
            do throws(StoreError) { try await storeEvents() } catch {}
            for event in unstored.close() { signals.emit(.eventDropped(event)) }
        }
    }
}

/// Stores events on the bus: all events except those of polls.
public struct Intake: EventSink {
    private let context: EngineContext

    public init(_ context: EngineContext) { self.context = context }

    /// Cancelling the task has no effect, because the store completes each write.
    public func emit(_ events: [Event]) async throws(StoreError) { try await context.storeEvents(events) }

    public func retry(_ events: [Event], after error: StoreError) {
        context.report(error, doing: "storing an event")
        context.storeEventsLater(events)
    }
}
