public import BellhopCore
public import BellhopRules

/// Searches deliveries with a condition, newest first.
public struct FilteredDeliveries: Sendable {
    public var condition: DeliveryCondition
    /// The other filters.
    public var query: DeliveryQuery

    /// The most deliveries that one search reads; the next search continues before them.
    public static let mostSeen = 20_000
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
        while page.seen < Self.mostSeen, page.seen == 0 || !isOver() {
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
