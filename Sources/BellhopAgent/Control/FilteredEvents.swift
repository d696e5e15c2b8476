public import BellhopCore
public import BellhopRules

/// Searches stored events with a condition, newest first.
public struct FilteredEvents: Sendable {
    public var filter: EventFilter
    /// The other filters.
    public var query: EventQuery

    /// The most events at which one search looks; the next one goes on behind them.
    public static let mostSeen = 20_000
    private static let step = 500

    public init(_ filter: EventFilter, _ query: EventQuery) {
        self.filter = filter
        self.query = query
    }

    /// The newest events for which the condition holds, newest first, and the place before which a next search goes on; nil at the end.
    ///
    /// - Parameter ask: reads the newest events of a query, oldest first.
    public func rows<Failure: Error>(
        limit: Int, before: Int64?, at now: Timestamp, ask: (EventQuery) async throws(Failure) -> [JSON]
    ) async throws(Failure) -> (rows: [JSON], next: Int64?) {
        var (rows, place, seen): ([JSON], Int64?, Int) = ([], before, 0)
        while seen < Self.mostSeen {
            var query = query
            query.through = place.map { $0 - 1 }
            query.limit = Self.step
            let found = try await ask(query)
            let events = found.reversed().compactMap { row in
                Event(cloudEvent: row).map { StoredEvent(sequence: row["sequence"]?.asInt ?? 0, event: $0) }
            }
            for event in filter.matches(among: events, at: now) {
                rows.append(event.json)
                if rows.count == limit { return (rows, event.sequence) }
            }
            seen += found.count
            guard found.count == Self.step, let first = found.first?["sequence"]?.asInt else { return (rows, nil) }
            place = first
        }
        return (rows, place)
    }
}
