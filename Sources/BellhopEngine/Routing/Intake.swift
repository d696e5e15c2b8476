public import BellhopCore

/// Stores events that do not come from polls on the bus.
public struct Intake: EventSink {
    private let surroundings: Surroundings

    public init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    /// Cancelling the task has no effect, because the store completes each write.
    public func emit(_ events: [Event]) async throws(StoreError) { try await surroundings.storeEvents(events) }

    public func retry(_ events: [Event], after error: StoreError) {
        surroundings.report(error, doing: "storing an event")
        surroundings.storeEventsLater(events)
    }
}
