public import BellhopCore
public import BellhopRules

/// Searches stored events with a condition, newest first.
public struct FilteredEvents: Sendable {
    public var filter: EventFilter
    /// The other filters.
    public var query: EventQuery

    /// The most events that one search reads; the next search continues before them.
    public static let maxSeen = 20_000
    private static let step = 500

    public init(_ filter: EventFilter, _ query: EventQuery) {
        self.filter = filter
        self.query = query
    }

    /// The newest events for which the condition is true, newest first.
    ///
    /// - Parameters:
    ///   - before: where to continue: the `next` of the last page.
    ///   - isOver: whether the time for the search is over; called after each event.
    ///   - ask: reads the newest events of a query, oldest first, and counts them together with unreadable ones.
    public func rows<Failure: Error>(
        limit: Int, before: Int64?, at now: Timestamp, isOver: () -> Bool = { false },
        ask: (EventQuery) async throws(Failure) -> (events: [StoredEvent], count: Int)
    ) async throws(Failure) -> SearchPage {
        var page = SearchPage(next: before)
        while page.seen < Self.maxSeen, page.seen == 0 || !isOver() {
            var query = query
            query.through = page.next.map { $0 - 1 }
            query.limit = Self.step
            let found = try await ask(query)
            let events: [StoredEvent] = found.events.reversed()
            let matched = filter.matches(among: events, at: now, limit: limit - page.rows.count, isOver: isOver)
            page.rows += matched.places.map { events[$0].json }
            page.failures += matched.failures
            if page.rows.count == limit || matched.seen < events.count {
                page.seen += matched.seen
                page.next = events[matched.seen - 1].sequence
                return page
            }
            page.seen += found.count
            page.next = found.count == Self.step ? found.events.first?.sequence : nil
            if page.next == nil { return page }
        }
        return page
    }

    /// The events in the rows of an agent's answer.
    public static func events(in rows: [JSON]) -> [StoredEvent] {
        rows.compactMap { row in
            Event(cloudEvent: row).map { StoredEvent(sequence: row["sequence"]?.asInt ?? 0, event: $0) }
        }
    }
}

extension Inquirer {
    /// A page of the events after a place, and the place that it reaches.
    public func page(_ query: EventQuery) async throws(StoreError) -> (events: [StoredEvent], end: Int64?) {
        let page = try await store.events(query)
        return (page.events, [page.end, page.seen].compactMap(\.self).max())
    }

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

/// Searches deliveries with a condition, newest first.
public struct FilteredDeliveries: Sendable {
    public var condition: DeliveryCondition
    /// The other filters.
    public var query: DeliveryQuery

    /// The most deliveries that one search reads; the next search continues before them.
    public static let maxSeen = 20_000
    private static let step = 500

    public init(_ condition: DeliveryCondition, _ query: DeliveryQuery) {
        self.condition = condition
        self.query = query
    }

    /// The newest deliveries for which the condition is true, newest first.
    ///
    /// - Parameters:
    ///   - before: where to continue: the `next` of the last page.
    ///   - isOver: whether the time for the search is over; called after each delivery.
    ///   - ask: reads the newest deliveries of a query, oldest first.
    public func rows<Failure: Error>(
        limit: Int, before: Int64?, at now: Timestamp, isOver: () -> Bool = { false },
        ask: (DeliveryQuery) async throws(Failure) -> [JSON]
    ) async throws(Failure) -> SearchPage {
        var page = SearchPage(next: before)
        while page.seen < Self.maxSeen, page.seen == 0 || !isOver() {
            var query = query
            query.through = page.next.map { $0 - 1 }
            query.limit = Self.step
            let found: [JSON] = try await ask(query).reversed()
            let matched = condition.matches(among: found, at: now, limit: limit - page.rows.count, isOver: isOver)
            page.rows += matched.places.map { found[$0] }
            page.failures += matched.failures
            if page.rows.count == limit || matched.seen < found.count {
                page.seen += matched.seen
                page.next = found[matched.seen - 1]["place"]?.asInt
                return page
            }
            page.seen += found.count
            page.next = found.count == Self.step ? found.last?["place"]?.asInt : nil
            if page.next == nil { return page }
        }
        return page
    }
}

/// One page of a search.
public struct SearchPage: Sendable, Hashable {
    /// The newest first.
    public var rows: [JSON]
    /// The place before which the next page continues; nil at the end.
    public var next: Int64?
    /// How many events or deliveries were read for it.
    public var seen: Int
    public var failures: SearchFailures

    public init(rows: [JSON] = [], next: Int64? = nil, seen: Int = 0, failures: SearchFailures = .init()) {
        (self.rows, self.next, self.seen, self.failures) = (rows, next, seen, failures)
    }

    /// The page as the API answers it.
    ///
    /// - Parameter name: the member with the rows.
    public func json(_ name: String) -> JSON {
        [name: .array(rows), "next": next.map(JSON.int) ?? .null, "seen": .int(Int64(seen)), "failed": failures.json]
    }

    /// Reads ``json(_:)``; nil for anything else.
    public init?(json: JSON, _ name: String) {
        guard let rows = json[name]?.asArray, rows.allSatisfy({ $0["id"]?.asString?.isEmpty == false }),
            let next = json["next"], next.isNull || next.asInt != nil,
            let seen = json["seen"]?.asInt.flatMap({ Int(exactly: $0) })
        else { return nil }
        self.init(rows: rows, next: next.asInt, seen: seen, failures: SearchFailures(json: json["failed"]))
    }
}
