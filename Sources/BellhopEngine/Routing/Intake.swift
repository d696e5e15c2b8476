public import BellhopCore

/// Puts events from outside of polling onto the bus: logins. Those that the store cannot accept wait in memory.
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
                // The router retries.
                surroundings.bells.router.ring()
            }
        }
    }
}
