public import BellhopCore
public import BellhopRules

/// One page of a search.
public struct SearchPage: Sendable, Hashable {
    /// The newest first.
    public var rows: [JSON]
    /// The place before which the next page continues; nil at the end.
    public var next: Int64?
    /// How many events or deliveries were read for it.
    public var seen: Int
    public var failures: SearchFailures

    /// The most events or deliveries that one search reads; the next search continues before them.
    public static let maxSeen = 20_000
    private static let step = 500

    public init(rows: [JSON] = [], next: Int64? = nil, seen: Int = 0, failures: SearchFailures = .init()) {
        (self.rows, self.next, self.seen, self.failures) = (rows, next, seen, failures)
    }

    /// A page without a condition.
    /// - Parameters:
    ///   - stored: the newest rows, at most `limit` together with unreadable ones, oldest first.
    ///   - place: the member of a row that is its place.
    public init(newest stored: [JSON], unreadable: Int = 0, limit: Int, place: String) {
        let count = stored.count + unreadable
        self.init(rows: stored.reversed(), next: count == limit ? stored.first?[place]?.asInt : nil, seen: count)
    }

    /// The page as the API answers it.
    /// - Parameter name: the member with the rows.
    public func json(_ name: String) -> JSON {
        [name: .array(rows), "next": .optional(next), "seen": .int(Int64(seen)), "failed": failures.json]
    }

    /// Reads ``json(_:)``; nil for anything else.
    public init?(json: JSON, _ name: String) {
        guard let rows = json[name]?.asArray, rows.allSatisfy({ $0["id"]?.asString?.isEmpty == false }),
            let next = json["next"], next.isNull || next.asInt != nil,
            let seen = json["seen"]?.asInt.flatMap({ Int(exactly: $0) })
        else { return nil }
        self.init(rows: rows, next: next.asInt, seen: seen, failures: SearchFailures(json: json["failed"]))
    }

    /// Reads stored rows from the newest on, until enough match or the search is over.
    /// - Parameters:
    ///   - limit: the most rows of the page.
    ///   - before: the place before which the search begins; nil for the newest row.
    ///   - isOver: whether the time for the search is over.
    ///   - place: where a row is: the search continues before it.
    ///   - json: a row as the page has it.
    ///   - ask: reads the newest `count` rows up to a place, oldest first, and counts them together with unreadable ones.
    ///   - matches: finds at most `limit` of the rows that match.
    static func search<Row, Failure: Error>(
        limit: Int, before: Int64?, isOver: () -> Bool, place: (Row) -> Int64?, json: (Row) -> JSON,
        ask: (_ through: Int64?, _ count: Int) async throws(Failure) -> (rows: [Row], count: Int),
        matches: (_ rows: [Row], _ limit: Int) -> Matched
    ) async throws(Failure) -> SearchPage {
        var page = SearchPage(next: before)
        while page.seen < maxSeen, page.seen == 0 || !isOver() {
            let found = try await ask(page.next.map { $0 - 1 }, step)
            let rows: [Row] = found.rows.reversed()
            let matched = matches(rows, limit - page.rows.count)
            page.rows += matched.places.map { json(rows[$0]) }
            page.failures += matched.failures
            if page.rows.count == limit || matched.seen < rows.count {
                page.seen += matched.seen
                page.next = place(rows[matched.seen - 1])
                return page
            }
            page.seen += found.count
            page.next = found.count == step ? rows.last.flatMap(place) : nil
            if page.next == nil { return page }
        }
        return page
    }
}
