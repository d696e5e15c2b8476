/// Selects the events that a rule with a schedule has not received yet.
public struct DigestQuery: Sendable, Hashable {
    /// The place on the bus of the previous run, or before the first run, of the latest event when the rule was loaded.
    public var after: Int64
    /// The place of this run's event.
    public var before: Int64
    public var types: [EventType]
    /// Empty for all.
    public var sources: [String]

    /// The most events that one run receives.
    public static let most = 1000

    public init(after: Int64, before: Int64, types: [EventType], sources: [String]) {
        self.after = after
        self.before = before
        self.types = types
        self.sources = sources
    }

    public func contains(_ stored: StoredEvent) -> Bool {
        stored.sequence > after && stored.sequence < before && types.contains(stored.event.type)
            && (sources.isEmpty || sources.contains(stored.event.source))
    }
}

/// The events that a run of a rule with a schedule receives: the newest since the previous run, oldest first.
public struct Digest: Sendable, Hashable {
    public var events: [StoredEvent]
    /// How many earlier ones there were.
    public var more: Int

    public init(events: [StoredEvent], more: Int = 0) {
        self.events = events
        self.more = more
    }
}
