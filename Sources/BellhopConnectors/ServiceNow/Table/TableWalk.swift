import BellhopCore

/// Reads all rows of a walk, page by page. The result counts only if all pages were good.
///
/// The server applies a page's limit before its access rules, so a page may be short or empty although more follow. Only its
/// count of remaining rows, also taken before those rules, shows the end.
struct TableWalk: Sendable {
    /// The result of a walk.
    struct Rows: Sendable {
        fileprivate(set) var found = ListingBuilder(latestCounts: true)
        /// Of the bodies of all pages in sequence.
        var fingerprint: Fingerprint
        /// The server's time of the first answer.
        var began: Timestamp
        /// Rows that changed during the walk and no longer match; the next poll sees them.
        var movedOn = 0
        /// The latest row time; in a full walk only of new or changed rows.
        var latest: Timestamp?
        /// Rows without a readable time.
        var timeless: [TaskKey] = []
        /// Invalid values in place of a sys_id.
        var nameless: [String] = []
        /// The number of rows at the first page, including hidden ones; nil if the server does not say.
        var counted: Int?
        /// True if there was one page, the same as last time, and it was not parsed.
        var isSame = false

        /// Of two rows with one sys_id, the later one.
        var listing: Listing { found.listing }
    }

    var ask: TableAsk
    var filter: EncodedQuery
    var walk: Walk
    /// The row's time field, even if the walk is not by time.
    var timeField: String
    var state: TableState
    var clock: any AgentClock
    /// The only page's fingerprint last time; nil if it must be parsed.
    var last: Fingerprint?
    /// The known rows: unchanged ones need no check.
    var known: KnownTasks

    private static let mostRestarts = 5
    /// This many consecutive empty pages end a walk.
    static let mostEmptyPages = 100

    func run() async throws(Failure) -> Rows {
        var spot = Spot()
        var page = try await page(at: spot, isFirst: true)
        var rows = Rows(fingerprint: seed, began: page.began, counted: page.reply.total)
        while let listing = page.listing {
            if let again = spot.again(page.reply.total) {
                spot = again
                page = try await self.page(at: spot)
                continue
            }
            if spot.contradicts(page) {
                if spot.readAgain() {
                    page = try await self.page(at: spot)
                    continue
                }
                try await confirmEnd(at: spot)
            }
            if spot.offset == 0 { spot.left = page.reply.total }
            let isMore = try await isMore(page, at: spot, isEmpty: listing.entries.isEmpty)
            if isMore, walk.isWhole {
                // By sys_id the next place is known before the rows are checked: the next page is requested meanwhile.
                let last = listing.entries.last { $0.key.isDigits }.map { Walk.Place(key: $0.key, time: nil) }
                let next = try spot.next(last, page, self)
                async let coming = outcome(at: next)
                try take(listing, page, after: spot.place, &rows)
                (spot, page) = (next, try await coming.get())
            } else {
                let last = try take(listing, page, after: spot.place, &rows)
                guard isMore else { return rows }
                spot = try spot.next(last, page, self)
                page = try await self.page(at: spot)
            }
        }
        rows.fingerprint = Fingerprint(content: page.reply.body, seed: seed)
        rows.isSame = true
        return rows
    }

    /// The start of the fingerprint of all pages: the same rows mean something else in another walk.
    var seed: Fingerprint { walk.isWhole ? .zero : Fingerprint(high: 1, low: 1) }

    /// Adds a page's rows once they are checked; returns the position of the last.
    @discardableResult
    private func take(
        _ listing: Listing, _ page: Page, after place: Walk.Place?, _ rows: inout Rows
    ) throws(Failure) -> Walk.Place? {
        var reading = RowsReading(self, began: rows.began, after: place)
        let read = try reading.read(listing)
        if place == nil { rows.reserve(like: read, total: page.reply.total) }
        do {
            try rows.found.add(read)
        } catch {
            throw Failure(
                .badAnswer, .retry(after: nil),
                "The rows of \(ask.table) on \(ask.session.base.place) cannot be listed: \(error.description).")
        }
        rows.fingerprint = Fingerprint(content: page.reply.body, seed: rows.fingerprint)
        rows.take(reading)
        return reading.last
    }

    private func isMore(_ page: Page, at spot: Spot, isEmpty: Bool) async throws(Failure) -> Bool {
        if let total = page.reply.total { return total > spot.offset + page.limit }
        if !isEmpty { return true }
        return try await count(from: spot).map { $0 > spot.offset + page.limit } ?? false
    }

    /// The number of rows after a spot's place, by a separate count; nil if the account may not ask.
    private func count(from spot: Spot) async throws(Failure) -> Int? {
        var unordered = walk.query(filter, after: spot.place)
        unordered.order = []
        return try await ask.count(unordered)
    }

    /// Fails if a walk would end at a page that contradicts the previous one, unless the server's own count says no row is left.
    private func confirmEnd(at spot: Spot) async throws(Failure) {
        guard try await count(from: spot) != 0 else { return }
        throw Failure(
            .badAnswer, .retry(after: nil),
            "\(ask.session.base.place) counted more rows of \(ask.table), and then answered twice with an empty page that counts none, so this "
                + "poll is discarded. The next poll reads all rows again.")
    }

    func hidden(_ total: Int?, _ limit: Int) -> Failure {
        Failure(
            .tooLarge, .giveUp,
            "\(ask.session.base.place) counts \(total.map { "\($0) more rows" } ?? "more rows") of \(ask.table), and \(Self.mostEmptyPages) pages of "
                + "\(limit) rows in sequence showed none of them: access rules hide them from this account. Narrow the query to rows that the "
                + "account may see, or set a larger `page`.")
    }
}

extension TableWalk {
    /// The position of a page request.
    struct Spot {
        var place: Walk.Place?
        var offset = 0
        /// The number of rows from that place on when it was reached.
        var left: Int?
        /// The minimal number of rows after this place, by the previous page's count.
        private var promised = 0
        private var wasReadAgain = false
        private var restarts = 0
        private var empty = 0

        /// Where to restart: rows before the offset are gone and the others moved up, so some may have been skipped.
        func again(_ total: Int?) -> Spot? {
            guard offset > 0, let total, let left, total < left, restarts < mostRestarts else { return nil }
            var spot = self
            (spot.offset, spot.left) = (0, nil)
            spot.restarts += 1
            return spot
        }

        /// Whether nothing is left of the rows that the previous page counted.
        func contradicts(_ page: Page) -> Bool {
            promised > 0 && page.listing?.entries.isEmpty == true && page.reply.total ?? 0 == 0
        }

        /// False if the page at this place was already read twice.
        mutating func readAgain() -> Bool {
            defer { wasReadAgain = true }
            return !wasReadAgain
        }

        /// The spot after a page whose last row is at this place.
        func next(_ last: Walk.Place?, _ page: Page, _ walk: TableWalk) throws(Failure) -> Spot {
            var spot = self
            spot.empty = page.listing?.entries.isEmpty == true ? empty + 1 : 0
            guard spot.empty < TableWalk.mostEmptyPages else { throw walk.hidden(page.reply.total, page.limit) }
            if let last, last != place {
                spot.promised = (left ?? 0) - offset - page.limit
                (spot.place, spot.offset, spot.left, spot.wasReadAgain) = (last, 0, nil, false)
            } else {
                spot.offset += page.limit
            }
            return spot
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

    fileprivate mutating func take(_ reading: RowsReading) {
        movedOn += reading.movedOn
        timeless += reading.timeless
        nameless += reading.nameless
        if let time = reading.latest { latest = max(latest ?? time, time) }
    }
}

extension TableWalk {
    /// One answered page.
    struct Page {
        var reply: ServiceNowReply
        /// Nil if it is the only page and the same as last time.
        var listing: Listing?
        var limit: Int
        /// The server's time of the answer.
        var began: Timestamp
    }

    /// One page, made as small as the server requires.
    func page(at spot: Spot, isFirst: Bool = false) async throws(Failure) -> Page {
        while true {
            let limit = state.limit
            do throws(Failure) {
                let sent = clock.now
                let reply = try await ask.page(walk.query(filter, after: spot.place), offset: spot.offset, limit: limit)
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

    func outcome(at spot: Spot) async -> Result<Page, Failure> {
        do throws(Failure) { return .success(try await page(at: spot)) } catch { return .failure(error) }
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
}
