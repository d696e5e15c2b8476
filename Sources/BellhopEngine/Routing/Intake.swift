public import BellhopCore

/// Takes events that happen outside of polling onto the bus: logins. A login that worked wakes what rested on its connection.
public struct Intake: EventSink {
    private let surroundings: Surroundings

    public init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    public func emit(_ events: [Event]) async {
        let surroundings = surroundings
        await uncancelled {
            do throws(StoreError) {
                try await surroundings.store.append(events)
                for event in events where event.type.isLogin && event.data["ok"] == .bool(true) {
                    try await surroundings.store.wake(receiver: event.source, at: surroundings.clock.now)
                    surroundings.bells.dispatcher.ring()
                }
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "keeping a login event", error))
            }
        }
        for event in events { surroundings.signals.emit(.event(event)) }
        surroundings.bells.router.ring()
    }
}
