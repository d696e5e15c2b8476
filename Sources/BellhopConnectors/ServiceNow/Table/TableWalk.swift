import BellhopCore

/// Reads all rows of a walk, page by page. The result is valid only if all pages were good.
///
/// The server applies a page's limit before its access rules, so a page may be short or empty although more pages follow. Only the
/// server's count of the remaining rows, which includes hidden ones, shows the end.
struct TableWalk: Sendable {
    struct Rows: Sendable {
        fileprivate(set) var found = ListingBuilder(latestCounts: true)
        /// The fingerprint of the bodies of all pages in sequence.
        var fingerprint: Fingerprint
        /// The server's time of the first answer.
        var began: Timestamp
        /// How many rows changed during the walk and no longer match; the next poll sees them.
        var movedOn = 0
        /// The latest row time; in a full walk only of new or changed rows.
        var latest: Timestamp?
        /// Rows without a readable time.
        var timeless: [TaskKey] = []
        /// Invalid values in place of a sys_id.
        var nameless: [String] = []
        /// The number of rows at the first page, including hidden ones; nil if the server does not say.
        var counted: Int?
        /// True if there was only one page, with the same body as last time, so it was not parsed.
        var isSame = false

        /// All rows; of two with the same sys_id, the later one.
        var listing: Listing { found.listing }
    }

    var reader: TableReader
    var filter: EncodedQuery
    var order: Walk
    /// The row's time field, even if the walk is not by time.
    var timeField: String
    var state: TableState
    var clock: any AgentClock
    /// The fingerprint of the last walk; nil if the first page must be parsed.
    var last: Fingerprint?
    /// The known tasks: an unchanged row needs no check.
    var known: KnownTasks

    private static let maxRestarts = 5
    /// This many consecutive empty pages end a walk.
    static let maxEmptyPages = 100

    func run() async throws(Failure) -> Rows {
        var position = PagePosition()
        var page = try await page(at: position, isFirst: true)
        var rows = Rows(fingerprint: seed, began: page.began, counted: page.reply.total)
        while let listing = page.listing {
            if let start = position.restarted(page.reply.total) {
                position = start
                page = try await self.page(at: position)
                continue
            }
            if position.contradicts(page) {
                if position.mayReadAgain() {
                    page = try await self.page(at: position)
                    continue
                }
                try await confirmEnd(at: position)
            }
            if position.offset == 0 { position.left = page.reply.total }
            let hasMore = try await hasMore(page, at: position, isEmpty: listing.entries.isEmpty)
            if hasMore, order.isWhole {
                // In the order of sys_ids the next place is known before the rows are checked, so the next page is requested meanwhile.
                let last = listing.entries.last { $0.key.isDigits }.map { Walk.Place(key: $0.key, time: nil) }
                let next = try position.next(last, page, self)
                async let coming = outcome(at: next)
                try take(listing, page, after: position.place, &rows)
                (position, page) = (next, try await coming.get())
            } else {
                let last = try take(listing, page, after: position.place, &rows)
                guard hasMore else { return rows }
                position = try position.next(last, page, self)
                page = try await self.page(at: position)
            }
        }
        rows.fingerprint = Fingerprint(content: page.reply.body, seed: seed)
        rows.isSame = true
        return rows
    }

    /// The seed of the fingerprint, because the same rows have another meaning in another kind of walk.
    var seed: Fingerprint { order.isWhole ? .zero : Fingerprint(high: 1, low: 1) }

    /// Adds a page's rows once they are checked; returns the position of the last.
    @discardableResult
    private func take(
        _ listing: Listing, _ page: Page, after place: Walk.Place?, _ rows: inout Rows
    ) throws(Failure) -> Walk.Place? {
        var check = PageCheck(self, began: rows.began, after: place)
        let read = try check.read(listing)
        if place == nil { rows.reserve(like: read, total: page.reply.total) }
        do {
            try rows.found.add(read)
        } catch {
            throw Failure.badAnswer(
                "The rows of \(reader.table) on \(reader.session.base.place) cannot be listed: \(error.description).")
        }
        rows.fingerprint = Fingerprint(content: page.reply.body, seed: rows.fingerprint)
        rows.take(check)
        return check.last
    }

    private func hasMore(_ page: Page, at position: PagePosition, isEmpty: Bool) async throws(Failure) -> Bool {
        if let total = page.reply.total { return total > position.offset + page.limit }
        if !isEmpty { return true }
        return try await count(from: position).map { $0 > position.offset + page.limit } ?? false
    }

    /// The number of rows after a position's place, by a separate request; nil if the account may not count.
    private func count(from position: PagePosition) async throws(Failure) -> Int? {
        var unordered = order.query(filter, after: position.place)
        unordered.order = []
        return try await reader.count(unordered)
    }

    /// Fails if a walk would end at a page that contradicts the previous one, unless a separate count confirms that no row is left.
    private func confirmEnd(at position: PagePosition) async throws(Failure) {
        guard try await count(from: position) != 0 else { return }
        throw Failure.badAnswer(
            "\(reader.session.base.place) counted more rows of \(reader.table), and then answered twice with an empty page that counts none, so this "
                + "poll is discarded. The next poll reads all rows again.")
    }

    func allHidden(_ total: Int?, _ limit: Int) -> Failure {
        Failure(
            .tooLarge, .giveUp,
            "\(reader.session.base.place) counts \(total.map { "\($0) more rows" } ?? "more rows") of \(reader.table), and \(Self.maxEmptyPages) pages of "
                + "\(limit) rows in sequence showed none of them: access rules hide them from this account. Narrow the query to rows that the "
                + "account may see, or set a larger `page`.")
    }
}

extension TableWalk {
    struct PagePosition {
        var place: Walk.Place?
        var offset = 0
        /// The number of rows from that place on, as counted when it was reached.
        var left: Int?
        /// How many rows must still follow, by the previous page's count.
        private var promised = 0
        private var wasReadAgain = false
        private var restarts = 0
        private var empty = 0

        /// The position for reading the pages since the place again: if rows before the offset have gone, the others moved up and
        /// some may have been skipped. Nil if that is not the case.
        func restarted(_ total: Int?) -> PagePosition? {
            guard offset > 0, let total, let left, total < left, restarts < maxRestarts else { return nil }
            var position = self
            (position.offset, position.left) = (0, nil)
            position.restarts += 1
            return position
        }

        /// Whether a page has none of the rows that the previous page counted.
        func contradicts(_ page: Page) -> Bool {
            promised > 0 && page.listing?.entries.isEmpty == true && page.reply.total ?? 0 == 0
        }

        /// Whether the page at this place may be read again; false if that was done once.
        mutating func mayReadAgain() -> Bool {
            defer { wasReadAgain = true }
            return !wasReadAgain
        }

        /// The position after a page.
        /// - Parameter last: the place of its last row.
        func next(_ last: Walk.Place?, _ page: Page, _ walk: TableWalk) throws(Failure) -> PagePosition {
            var position = self
            position.empty = page.listing?.entries.isEmpty == true ? empty + 1 : 0
            guard position.empty < TableWalk.maxEmptyPages else { throw walk.allHidden(page.reply.total, page.limit) }
            if let last, last != place {
                position.promised = (left ?? 0) - offset - page.limit
                (position.place, position.offset, position.left, position.wasReadAgain) = (last, 0, nil, false)
            } else {
                position.offset += page.limit
            }
            return position
        }
    }
}

extension TableWalk.Rows {
    /// Reserves space for all rows, estimated from the first page, to avoid copying as they grow.
    fileprivate mutating func reserve(like page: Listing, total: Int?) {
        guard let total, total > page.entries.count, !page.entries.isEmpty else { return }
        let expected = min(total, 1 << 21)
        found.reserve(bytes: min(page.body.count / page.entries.count * expected * 21 / 20, 1 << 28), records: expected)
    }

    fileprivate mutating func take(_ check: PageCheck) {
        movedOn += check.movedOn
        timeless += check.timeless
        nameless += check.nameless
        if let time = check.latest { latest = max(latest ?? time, time) }
    }
}

extension TableWalk {
    struct Page {
        var reply: ServiceNowReply
        /// Nil if it is the only page and has the same body as last time.
        var listing: Listing?
        var limit: Int
        /// The server's time of the answer.
        var began: Timestamp
    }

    /// Reads a page; after some failures, a smaller one.
    func page(at position: PagePosition, isFirst: Bool = false) async throws(Failure) -> Page {
        while true {
            let limit = state.limit
            do throws(Failure) {
                let sent = clock.now
                let query = order.query(filter, after: position.place)
                let reply = try await reader.page(query, offset: position.offset, limit: limit)
                state.note(reply, at: clock.now)
                let began = min(reply.serverTime ?? sent, state.serverTime(clock.now))
                if isFirst, let last, let total = reply.total, total <= limit,
                    Fingerprint(content: reply.body, seed: seed) == last
                {
                    return Page(reply: reply, limit: limit, began: began)
                }
                let listing = try scan(reply.body)
                state.succeed()
                return Page(reply: reply, listing: listing, limit: limit, began: began)
            } catch {
                // The server's time limit, a cut answer, or one over Bellhop's limit: a smaller page may help.
                guard [.quota, .badAnswer, .tooLarge, .cut].contains(error.reason), state.shrink() else { throw error }
            }
        }
    }

    /// For `async let`, which does not keep the type of an error.
    func outcome(at position: PagePosition) async -> Result<Page, Failure> {
        do throws(Failure) { return .success(try await page(at: position)) } catch { return .failure(error) }
    }

    private func scan(_ body: [UInt8]) throws(Failure) -> Listing {
        do {
            return try Listing(body, shape: reader.shape)
        } catch {
            throw Failure.badAnswer(
                "The rows of \(reader.table) on \(reader.session.base.place) cannot be read: \(error.description).")
        }
    }
}
