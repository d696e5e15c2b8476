public import BellhopCore

/// Puts events from outside of polling onto the bus.
public struct Intake: EventSink {
    private let surroundings: Surroundings

    public init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    public func emit(_ events: [Event]) async throws(StoreError) {
        let surroundings = surroundings
        let result = await uncancelled { () -> Result<Void, StoreError> in
            do throws(StoreError) { return .success(try await surroundings.storeEvents(events)) } catch { return .failure(error) }
        }
        try result.get()
    }

    public func retry(_ events: [Event], after error: StoreError) {
        surroundings.signals.emit(.storeFailed(doing: "storing an event", error))
        surroundings.storeEventsLater(events)
    }
}
