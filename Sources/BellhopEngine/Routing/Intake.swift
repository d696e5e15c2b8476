public import BellhopCore

/// Takes events that happen outside of polling onto the bus: logins. What the store cannot take waits in memory
/// until it can.
public struct Intake: EventSink {
    private let surroundings: Surroundings

    public init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    public func emit(_ events: [Event]) async {
        let surroundings = surroundings
        await uncancelled {
            surroundings.backlog.add(events)
            do throws(StoreError) {
                try await surroundings.keepBacklog()
            } catch {
                surroundings.signals.emit(.storeFailed(doing: "keeping a login event", error))
                // The router tries again.
                surroundings.bells.router.ring()
            }
        }
    }
}
