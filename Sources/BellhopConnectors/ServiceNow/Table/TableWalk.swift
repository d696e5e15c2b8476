import BellhopCore

/// Reads all rows along a walk, page by page. Nothing counts unless all pages were good.
///
/// The server applies a page's limit before its access rules: a page may be short or empty although more follow. Only its count of
/// what is left, which is of before those rules too, tells the end.
struct TableWalk: Sendable {
    /// All that there was.
    struct Rows: Sendable {
        fileprivate(set) var found = ListingBuilder(latestCounts: true)
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

        /// Of two rows with one sys_id the later one.
        var listing: Listing { found.listing }
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
                // By sys_id the way on shows before the rows are looked at, so the server makes the next page meanwhile.
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

    /// What the fingerprint of all pages begins with: rows mean another thing by another walk.
    var seed: Fingerprint { walk.isWhole ? .zero : Fingerprint(high: 1, low: 1) }

    /// Takes in a page's rows once they are what was asked for; the place of the last of them.
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

    /// How many rows there are behind a spot's place, as the server counts them by another way; nil where the account may not ask.
    private func count(from spot: Spot) async throws(Failure) -> Int? {
        var unordered = walk.query(filter, after: spot.place)
        unordered.order = []
        return try await ask.count(unordered)
    }

    /// Fails where a walk would end at a page that contradicts the one before it, unless the server's own count says that no row is left.
    private func confirmEnd(at spot: Spot) async throws(Failure) {
        guard try await count(from: spot) != 0 else { return }
        throw Failure(
            .badAnswer, .retry(after: nil),
            "\(ask.session.base.place) counted more rows of \(ask.table), and then answered twice with an empty page that counts none, so nothing "
                + "of this poll counts. The next poll reads all rows again.")
    }

    func hidden(_ total: Int?, _ limit: Int) -> Failure {
        Failure(
            .tooLarge, .giveUp,
            "\(ask.session.base.place) counts \(total.map { "\($0) more rows" } ?? "more rows") of \(ask.table), and \(Self.mostEmptyPages) pages of "
                + "\(limit) rows one after the other showed none of them: access rules hide them from this account. Narrow the query to rows that the "
                + "account may see, or set a larger `page`.")
    }
}

extension TableWalk {
    /// Where on its way a walk asks for a page.
    struct Spot {
        var place: Walk.Place?
        var offset = 0
        /// How many rows there were from the place on when it was reached.
        var left: Int?
        /// How many rows at least the page before counted behind the place.
        private var promised = 0
        private var wasReadAgain = false
        private var restarts = 0
        private var empty = 0

        /// Where to ask once more: rows before the offset are gone and the others have moved up, so that some may have been passed over.
        func again(_ total: Int?) -> Spot? {
            guard offset > 0, let total, let left, total < left, restarts < mostRestarts else { return nil }
            var spot = self
            (spot.offset, spot.left) = (0, nil)
            spot.restarts += 1
            return spot
        }

        /// Whether suddenly nothing is left of the rows that the page before counted.
        func contradicts(_ page: Page) -> Bool {
            promised > 0 && page.listing?.entries.isEmpty == true && page.reply.total ?? 0 == 0
        }

        /// False when the page in this place was read a second time already.
        mutating func readAgain() -> Bool {
            defer { wasReadAgain = true }
            return !wasReadAgain
        }

        /// Behind a page whose last row is in this place.
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
    /// Makes room for all rows, reckoned from the first page, so that they need not be copied as they become more.
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
