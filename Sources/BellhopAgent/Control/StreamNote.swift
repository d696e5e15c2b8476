/// The types of the notes in a live stream about its events. No event has a type with a point.
public enum StreamNote: String, Sendable, CaseIterable {
    /// For how many events the condition failed.
    case failures = "condition.failed"
    /// The events are those of another store.
    case otherBus = "bus.replaced"
}
