import BellhopCore

/// Reads a table page by page, with given fields; each call brings its query.
struct TableReader: Sendable {
    var session: ServiceNowSession
    var table: String
    /// The field paths of each row.
    var paths: [String]
    var display = Display.values
    /// The index or read replica to use; nil for the server's choice.
    var category: String?
    var timeout: Duration?
    var seed = Fingerprint.zero

    /// A read whose address is longer than this is sent in a batch at once; servers and proxies with a lower limit answer 414.
    private static let longestAddress = 2048

    /// Where the rows and their ids are. With display values, a sys_id too is an object with both values.
    var shape: ListingShape {
        var shape = ListingShape.serviceNow
        if display != .values { shape.key = ["sys_id", "value"] }
        shape.seed = seed
        return shape
    }

    /// At most `limit` rows of a query, from an offset.
    func page(_ query: EncodedQuery, offset: Int = 0, limit: Int) async throws(Failure) -> ServiceNowReply {
        var parameters = [
            ("sysparm_query", query.text), ("sysparm_fields", paths.joined(separator: ",")),
            ("sysparm_display_value", display.parameter), ("sysparm_exclude_reference_link", "true"),
            ("sysparm_suppress_pagination_header", "true"), ("sysparm_limit", String(limit)),
        ]
        if offset > 0 { parameters.append(("sysparm_offset", String(offset))) }
        if let category { parameters.append(("sysparm_query_category", category)) }
        var call = ServiceNowCall.table(table, parameters, expecting: .listing)
        call.timeout = timeout
        call.longest = Self.longestAddress
        do throws(Failure) {
            return try await session.send(call)
        } catch  where error.reason == .forbidden {
            throw Failure(
                .forbidden, error.remedy,
                "\(error.message) The account may not read the table \(table): give it a role that may, such as itil or snc_read_only, "
                    + "or take the source out.")
        }
    }

    /// Reads the rows with these keys that match a filter.
    func rows(
        of keys: [TaskKey], matching filter: EncodedQuery, _ take: (TaskKey, JSON) -> Void
    ) async throws(Failure) {
        try await keys.inBatches(of: Self.batch) { keys async throws(Failure) in
            let query = filter.and(EncodedQuery(.init("sys_id", isOneOf: keys.map(\.text))))
            for row in try await page(query, limit: keys.count).list {
                guard let id = row.raw("sys_id"), keys.contains(TaskKey(id)) else {
                    throw Failure.badAnswer(
                        "\(session.base.place) answered with rows that were not asked for: it ignored the query, so the answer is discarded."
                    )
                }
                take(TaskKey(id), row)
            }
        }
    }

    /// The maximal number of keys in a query: more would make the address too long.
    static let batch = 40

    /// The number of rows of a query, including hidden ones; nil if the account may not use this API.
    func count(_ query: EncodedQuery) async throws(Failure) -> Int? {
        let text = PercentEncoding.encode(query.text, keeping: "-._~,")
        var call = ServiceNowCall(
            target: "/api/now/v1/stats/\(table)?sysparm_count=true&sysparm_query=\(text)", expecting: .record)
        call.timeout = timeout
        call.longest = Self.longestAddress
        do throws(Failure) {
            return FieldValue(try await session.send(call).record["stats"]?["count"]).flatMap { Int($0.raw) }
        } catch  where [.forbidden, .goneOrHidden, .refused, .apiMissing].contains(error.reason) {
            return nil
        }
    }
}

extension ListingShape {
    /// The form of the Task Tracker and the Table API: `result`, and `sys_id` in each record.
    static let serviceNow = ListingShape(items: JSON.Path(keys: ["result"]), key: ["sys_id"])
}

/// Which rows of a table pages read, and in which order: no row is skipped even if rows change meanwhile.
enum Walk: Sendable, Hashable {
    /// All rows by sys_id, which never changes: a row that exists throughout the walk is read once.
    case whole
    /// The rows changed in a period, by time and sys_id: a row that changes again moves to the end.
    case window(field: String, from: Timestamp, through: Timestamp)

    /// The walk's position.
    struct Place: Sendable, Hashable {
        var key: TaskKey
        /// The row's time; nil if the walk does not use time.
        var time: Timestamp?
    }

    /// The query for the next page: the rows of the filter that follow a place, in the walk's order.
    func query(_ filter: EncodedQuery, after place: Place?) -> EncodedQuery {
        switch self {
        case .whole:
            var query = filter
            if let place { query = filter.and(EncodedQuery(.init("sys_id", .greater, place.key.text))) }
            query.order = [.init(field: "sys_id")]
            query.isClosed = false
            return query
        case .window(let field, let from, let through):
            let end = EncodedQuery.Condition(field, .atMost, through.sql)
            var bounds = EncodedQuery(.init(field, .atLeast, from.sql), end)
            if let place, let time = place.time?.sql {
                bounds = EncodedQuery(.init(field, .greater, time), end)
                    .or(EncodedQuery(.init(field, .equal, time), .init("sys_id", .greater, place.key.text)))
            }
            var query = filter.and(bounds)
            query.order = [.init(field: field), .init(field: "sys_id")]
            return query
        }
    }

    /// Whether a row may follow another at this position.
    func allows(_ place: Place, after last: Place?) -> Bool {
        switch self {
        case .whole: return last.map { place.key > $0.key } ?? true
        case .window(_, let from, let through):
            // The query states the bounds in whole seconds; ours are between two of them if the server's clock is unknown.
            guard let time = place.time, time.seconds >= from.seconds, time.seconds <= through.seconds else { return false }
            guard let last, let before = last.time else { return true }
            return time > before || time == before && place.key > last.key
        }
    }

    var isWhole: Bool { self == .whole }
}

/// Checks that the rows of a page match the query and are in the requested order, and finds where the next page starts.
///
/// A server drops a condition on a field that it does not know. Without this check a misspelled field would match every row.
struct PageCheck {
    private(set) var last: Walk.Place?
    private(set) var latest: Timestamp?
    private(set) var movedOn = 0
    private(set) var timeless: [TaskKey] = []
    private(set) var nameless: [String] = []
    private let walk: TableWalk
    /// A row with this time or a later one may have changed between the server's search and its reading of the row.
    private let racing: Timestamp

    /// The possible difference between the clocks of the server's nodes, and a margin for slow pages.
    private static let skew = Duration.seconds(30)

    init(_ walk: TableWalk, began: Timestamp, after place: Walk.Place?) {
        self.walk = walk
        last = place
        racing = began - Self.skew
    }

    /// The page without the rows that no longer match and those with an invalid id.
    mutating func read(_ page: Listing) throws(Failure) -> Listing {
        var leftOut: Set<TaskKey> = []
        for entry in page.entries {
            guard entry.key.isDigits else {
                nameless.append(entry.key.text)
                leftOut.insert(entry.key)
                continue
            }
            if try isLeftOut(entry, page) { leftOut.insert(entry.key) }
        }
        return leftOut.isEmpty ? page : page.without { leftOut.contains($0.key) }
    }

    private mutating func isLeftOut(_ entry: Listing.Entry, _ page: Listing) throws(Failure) -> Bool {
        let isKnown = walk.known[entry.key]?.listed == entry.fingerprint
        if isKnown, walk.order.isWhole {
            try step(to: Walk.Place(key: entry.key, time: nil))
            return false
        }
        let record = page.tape(of: entry)
        let time = record.field(walk.timeField).flatMap { Timestamp(sql: $0.raw) }
        let place = Walk.Place(key: entry.key, time: walk.order.isWhole ? nil : time)
        if !isKnown, walk.filter.judge(record.field) == .fails {
            guard let time, time >= racing else { throw ignored("a row that does not match the query") }
            movedOn += 1
            return true
        }
        guard let time else {
            timeless.append(entry.key)
            if walk.order.isWhole { try step(to: place) }
            return false
        }
        if case .window(_, _, let through) = walk.order, time > through {
            guard time >= racing else { throw ignored("a row from after the requested period") }
            movedOn += 1
            return true
        }
        latest = max(latest ?? time, time)
        try step(to: place)
        return false
    }

    private mutating func step(to place: Walk.Place) throws(Failure) {
        guard walk.order.allows(place, after: last) else { throw ignored("rows in the wrong order, or from another period") }
        last = place
    }

    private func ignored(_ what: String) -> Failure {
        Failure(
            .badAnswer, .giveUp,
            "\(walk.reader.session.base.place) answered with \(what) on \(walk.reader.table): it ignored the query or a part of it, "
                + "so the whole answer is discarded. Look for a field that the table does not have, or that this account may not read."
        )
    }
}

extension JSONTape {
    /// A row's field by its name in the answer; nil if the row does not have it.
    fileprivate func field(_ name: String) -> FieldValue? { FieldValue(member(name, of: root).map(value(of:))) }
}
