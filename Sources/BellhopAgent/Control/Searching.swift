public import BellhopCore
public import BellhopRules

extension EventFilter {
    /// Searches the events of a query for those for which the condition is true, newest first.
    /// - Parameters:
    ///   - before: where to continue: the `next` of the last page.
    ///   - isOver: whether the time for the search is over; called after each event.
    ///   - ask: reads the newest events of a query, oldest first, and counts them together with unreadable ones.
    public func search<Failure: Error>(
        _ query: EventQuery, limit: Int, before: Int64? = nil, at now: Timestamp, isOver: () -> Bool = { false },
        ask: (EventQuery) async throws(Failure) -> (events: [StoredEvent], count: Int)
    ) async throws(Failure) -> SearchPage {
        try await SearchPage.search(
            limit: limit, before: before, isOver: isOver, place: { (event: StoredEvent) in event.sequence }, json: { $0.json },
            ask: { through, count async throws(Failure) in
                var query = query
                (query.through, query.limit) = (through, count)
                let found = try await ask(query)
                return (found.events, found.count)
            },
            matches: { events, limit in matches(among: events, at: now, limit: limit, isOver: isOver) })
    }

    /// The events in the rows of an agent's answer.
    public static func events(in rows: [JSON]) -> [StoredEvent] {
        rows.compactMap { row in
            Event(cloudEvent: row).map { StoredEvent(sequence: row["sequence"]?.asInt ?? 0, event: $0) }
        }
    }
}

extension DeliveryCondition {
    /// Searches the deliveries of a query for those for which the condition is true, newest first.
    /// - Parameters:
    ///   - before: where to continue: the `next` of the last page.
    ///   - isOver: whether the time for the search is over; called after each delivery.
    ///   - ask: reads the newest deliveries of a query, oldest first.
    public func search<Failure: Error>(
        _ query: DeliveryQuery, limit: Int, before: Int64? = nil, at now: Timestamp, isOver: () -> Bool = { false },
        ask: (DeliveryQuery) async throws(Failure) -> [JSON]
    ) async throws(Failure) -> SearchPage {
        try await SearchPage.search(
            limit: limit, before: before, isOver: isOver, place: { (row: JSON) in row["place"]?.asInt }, json: { $0 },
            ask: { through, count async throws(Failure) in
                var query = query
                (query.through, query.limit) = (through, count)
                let rows = try await ask(query)
                return (rows, rows.count)
            },
            matches: { rows, limit in matches(among: rows, at: now, limit: limit, isOver: isOver) })
    }
}

extension Inquirer {
    /// A page of the events after a place, and the place that it reaches.
    public func page(_ query: EventQuery) async throws(StoreError) -> (events: [StoredEvent], end: Int64?) {
        let page = try await store.events(query)
        return (page.events, [page.end, page.seen].compactMap(\.self).max())
    }

    /// The tasks that the sources of these scopes show now. A scope that was never polled is missing.
    public func tasks(in scopes: Set<Scope.ID>) async throws(StoreError) -> [Scope.ID: [Snapshot]] {
        scopes.isEmpty ? [:] : try await store.tasks(in: Array(scopes), isForPeople: true)
    }

    /// A page of the tasks that a source shows now.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage { try await store.tasks(query) }

    /// The newest events of a query, oldest first, read in pages. The count includes unreadable ones.
    public func newest(_ query: EventQuery) async throws(StoreError) -> (events: [StoredEvent], count: Int) {
        guard let span = try await store.span(of: query) else { return ([], 0) }
        var query = query
        (query.after, query.through) = (span.after, span.through)
        var (events, count): ([StoredEvent], Int) = ([], 0)
        while let after = query.after, after < span.through {
            let page = try await store.events(query)
            events += page.events
            count += page.events.count + page.unreadable
            guard let end = page.end, end > after else { break }
            query.after = end
        }
        return (events, count)
    }
}
