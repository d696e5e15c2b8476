import BellhopCore

/// Reads all rows along a walk, page by page. Nothing counts unless all pages were good.
///
/// The server applies a page's limit before its access rules: a page may be short or empty although more follow. Only its count of
/// what is left, which is of before those rules too, tells the end.
struct TableWalk: Sendable {
    /// All that there was.
    struct Rows: Sendable {
        var pages: [Listing] = []
        /// Of all pages' bodies, one after the other.
        var fingerprint: Fingerprint
        /// The server's time when the first page was answered.
        var began: Timestamp
        /// Rows that were changed while they were read, and are no longer what was asked for; the next poll sees them.
        var movedOn = 0
        /// The latest time among the rows; of a whole walk only among those that are new or changed.
        var latest: Timestamp?
        /// Rows without a readable time.
        var timeless: [TaskKey] = []
        /// What stands where a sys_id should.
        var nameless: [String] = []
        /// How many rows there were at the first page, seen or unseen; nil where the server does not say.
        var counted: Int?
        /// True when the one page there is was the same as last time and was not looked at.
        var isSame = false
    }

    var ask: TableAsk
    var filter: EncodedQuery
    var walk: Walk
    /// The time of a row; nil for rows that are not followed by time.
    var timeField: String
    var state: TableState
    var clock: any AgentClock
    /// What the one page was last time; nil when it must be looked at.
    var last: Fingerprint?
    /// The rows as they are known: those that are the same need not be checked again.
    var known: KnownTasks

    private static let mostRestarts = 5
    /// So many pages without a row in a row are the end of a walk.
    static let mostEmptyPages = 100

    func run() async throws(Failure) -> Rows {
        var rows = Rows(
            fingerprint: walk.isWhole ? .zero : Fingerprint(high: 1, low: 1), began: state.serverTime(clock.now))
        var place: Walk.Place?
        var offset = 0
        var left: Int?
        var restarts = 0
        var empty = 0
        while true {
            let query = walk.query(filter, after: place)
            let (reply, listing, limit) = try await page(query, offset: offset, &rows)
            guard let listing else { return rows }
            if offset > 0, let total = reply.total, let before = left, total < before, restarts < Self.mostRestarts {
                // Rows before the offset are gone and the others have moved up: some may have been passed over.
                (offset, left) = (0, nil)
                restarts += 1
                continue
            }
            if offset == 0 { left = reply.total }
            var reading = RowsReading(self, began: rows.began, after: place)
            rows.pages.append(try reading.read(listing))
            rows.take(reading)
            guard try await isMore(query, reply, offset: offset, limit: limit, isEmpty: listing.entries.isEmpty) else {
                return rows
            }
            empty = listing.entries.isEmpty ? empty + 1 : 0
            guard empty < Self.mostEmptyPages else { throw hidden(reply.total, limit) }
            if let last = reading.last, last != place {
                (place, offset, left) = (last, 0, nil)
            } else {
                offset += limit
            }
        }
    }

    private func hidden(_ total: Int?, _ limit: Int) -> Failure {
        Failure(
            .tooLarge, .giveUp,
            "\(ask.session.base.place) counts \(total.map { "\($0) more rows" } ?? "more rows") of \(ask.table), and \(Self.mostEmptyPages) pages of "
                + "\(limit) rows one after the other showed none of them: access rules hide them from this account. Narrow the query to rows that the "
                + "account may see, or set a larger `page`.")
    }

    /// One page, however small it must be for the server to bear it. No listing when it is the one page of last time.
    private func page(
        _ query: EncodedQuery, offset: Int, _ rows: inout Rows
    ) async throws(Failure) -> (ServiceNowReply, Listing?, limit: Int) {
        while true {
            let limit = state.limit
            do throws(Failure) {
                let sent = clock.now
                let reply = try await ask.page(query, offset: offset, limit: limit)
                state.note(reply, at: clock.now)
                let fingerprint = Fingerprint(content: reply.body, seed: rows.fingerprint)
                let isFirst = rows.pages.isEmpty && offset == 0
                if isFirst { rows.counted = reply.total }
                if isFirst { rows.began = min(reply.serverTime ?? sent, state.serverTime(clock.now)) }
                if isFirst, fingerprint == last, let total = reply.total, total <= limit {
                    rows.fingerprint = fingerprint
                    rows.isSame = true
                    return (reply, nil, limit)
                }
                let listing = try scan(reply.body)
                rows.fingerprint = fingerprint
                state.succeed()
                return (reply, listing, limit)
            } catch {
                // The server's own time limit, an answer that it cut, or one beyond what we take: a smaller page may do.
                guard [.quota, .badAnswer, .tooLarge, .cut].contains(error.reason), state.shrink() else { throw error }
            }
        }
    }

    private func scan(_ body: [UInt8]) throws(Failure) -> Listing {
        do {
            return try Listing(body, shape: ask.shape)
        } catch {
            throw Failure(
                .badAnswer, .retry(after: nil),
                "The rows of \(ask.table) on \(ask.session.base.place) cannot be read: \(error.description).")
        }
    }

    private func isMore(
        _ query: EncodedQuery, _ reply: ServiceNowReply, offset: Int, limit: Int, isEmpty: Bool
    ) async throws(Failure) -> Bool {
        if let total = reply.total { return total > offset + limit }
        if !isEmpty { return true }
        var unordered = query
        unordered.order = []
        return try await ask.count(unordered).map { $0 > offset + limit } ?? false
    }
}

extension TableWalk.Rows {
    fileprivate mutating func take(_ reading: RowsReading) {
        movedOn += reading.movedOn
        timeless += reading.timeless
        nameless += reading.nameless
        if let time = reading.latest { latest = max(latest ?? time, time) }
    }
}
