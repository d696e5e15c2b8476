import BellhopCore

extension RESTSource {
    /// The result of one pass through the pages.
    struct Pages {
        /// Empty if the known answer is still current (304).
        var all: [Listing] = []
        /// Their total size in bytes.
        var size = 0
        /// The keys of all items, unless all items are kept.
        var keys: Set<TaskKey> = []
        var validators = Validators()
        /// When the first page was answered, by the server's clock if it reports its time, or else by ours.
        var answered: Timestamp
        /// The request for the last page, and the fingerprint of its items.
        var latest: (request: HTTPRequest, fingerprint: Fingerprint)?
        /// The number of items of each page.
        var counts: [Int] = []
        /// The request for the page after the last one; nil if it cannot be requested.
        var beyond: Pager.Turn?
        /// Whether the pages contain the values that the paging needs.
        var check: PagingCheck?

        /// Whether the list may continue after its empty last page: if the page before it is full, or if at least as many known
        /// items are missing as a page has.
        /// - Parameter missing: the number of known items that are not in the list.
        func mayBeCut(missing: Int) -> Bool {
            guard counts.count > 1, counts.last == 0, let largest = counts.max() else { return false }
            return counts[counts.count - 2] == largest || missing >= largest
        }
    }

    /// Items of the pages.
    enum Wanted {
        case only(Set<TaskKey>)
        case others(than: Set<TaskKey>)

        func contains(_ key: TaskKey) -> Bool {
            switch self {
            case .only(let keys): keys.contains(key)
            case .others(let keys): !keys.contains(key)
            }
        }
    }

    /// Reads all pages.
    /// - Parameter wanted: the items to keep; nil for all.
    func pages(
        adding more: [(String, String)], validators known: Validators, keeping wanted: Wanted? = nil
    ) async throws(Failure) -> Pages {
        var pager = Pager(paging)
        var turn = pager.first
        var pages = Pages(answered: session.now, check: paging.map { PagingCheck($0) })
        while true {
            var request = request(turn, adding: more)
            let isFirst = pages.latest == nil
            if isFirst { request.headers = request.headers.with(known.headers) }
            let answer: (response: HTTPResponse, address: HTTPAddress)
            do throws(Failure) {
                answer = try await session.read(request)
            } catch  where error.reason == .goneOrHidden && pager.mayEndWith404 {
                try await confirmEnd(pages, pager)
                return pages
            }
            let (response, place) = answer
            if response.status == 304 {
                guard isFirst, known != Validators() else { throw unusable("it got an unexpected 304 (unchanged)") }
                pages.validators = known
                return pages
            }
            if isFirst, let date = response.headers["Date"].flatMap({ Timestamp(httpDate: $0) }) { pages.answered = date }
            let page = try listing(response)
            let body = try body(response)
            pages.check?.note(page.entries.count, body: body, headers: response.headers)
            let overlap = pager.overlap
            let next = try rethrowing(as: { unusable($0.message) }) { () throws(Pager.Problem) in
                try pager.next(after: page, body: body, headers: response.headers, from: place)
            }
            let first = page.entries.first?.key
            try take(overlap == 0 ? page : page.without { $0.key == first }, wanted, into: &pages)
            pages.latest = (request, Self.fingerprint(of: page))
            pages.counts.append(page.entries.count)
            guard let next else {
                pages.beyond = pager.beyond
                if pager.isOneBody, request.method == "GET" { pages.validators = Validators(response.headers) }
                return pages
            }
            turn = next
        }
    }

    private func take(_ page: Listing, _ wanted: Wanted?, into pages: inout Pages) throws(Failure) {
        var page = page
        if let wanted {
            pages.keys.formUnion(page.entries.lazy.map(\.key))
            page = page.without { !wanted.contains($0.key) }
            guard !page.entries.isEmpty else { return }
        }
        pages.size += page.body.count
        pages.all.append(page)
        guard let most = paging?.largestList, pages.size > most else { return }
        throw Failure(
            .tooLarge, .retry(after: nil),
            "The pages of \(session.label) are together larger than the \(TransportError.size(most)) that `paging.max_total` of source \(name) allows: "
                + "ask for less (`query`), or allow more.")
    }

    /// The limit of passes to find missing items.
    private static let maxPasses = 3

    /// Reads the pages again if known items are missing, and adds those that it finds; or, if nothing is known yet, all that it finds. If an
    /// item is removed while pages are read, later items move up, and one of them can move to a page that was already read. If the new pass
    /// lacks an item of the previous one, it may have missed others too, so another pass follows.
    /// - Returns: the list, and the number of known items that it still lacks.
    func completed(_ listing: Listing, known: KnownTasks) async throws(Failure) -> (listing: Listing, missing: Int) {
        var listing = listing
        var missing = Set(known.compare(with: listing).gone)
        var before: Set<TaskKey>?
        for _ in 1..<Self.maxPasses where known.isEmpty || !missing.isEmpty {
            let listed = Set(listing.entries.lazy.map(\.key))
            let again = try await pages(
                adding: [], validators: Validators(), keeping: known.isEmpty ? .others(than: listed) : .only(missing))
            if !again.all.isEmpty {
                listing = try joined([listing] + again.all, latestCounts: true)
                missing.subtract(again.keys)
            }
            if (before ?? listed).isSubset(of: again.keys) { break }
            before = again.keys
        }
        return (listing, missing.count)
    }

    /// Reads several pages of changes again, before later changes are asked for: if an item that changes meanwhile moves to a
    /// later page, others move up, and one of them can move to a page that was already read. If the new pass lacks an item of the
    /// previous ones, another follows. Pages by offset show by their overlap that items moved.
    func settled(_ listing: Listing, of first: Pages, adding changes: [(String, String)]) async throws(Failure) -> Listing {
        guard paging?.way != .offset, first.counts.count(where: { $0 > 0 }) > 1 else { return listing }
        var listing = listing
        for _ in 1..<Self.maxPasses {
            let before = Set(listing.entries.lazy.map(\.key))
            let again = try joined(try await pages(adding: changes, validators: Validators()).all, latestCounts: true)
            listing = try joined([listing, again], latestCounts: true)
            if before.isSubset(of: again.entries.lazy.map(\.key)) { break }
        }
        return listing
    }

    /// Checks that an empty page is the end of the list: the page after it must be empty too. If that one cannot be requested,
    /// the empty page is read again.
    func confirmEmptyEnd(_ pages: Pages, adding more: [(String, String)]) async throws(Failure) {
        guard let latest = pages.latest else { return }
        let response: HTTPResponse
        do throws(Failure) {
            response = try await session.read(pages.beyond.map { request($0, adding: more) } ?? latest.request).response
        } catch  where error.reason == .goneOrHidden && pages.beyond != nil {
            return
        }
        guard try listing(response).entries.isEmpty else {
            throw unusable("one of its pages was empty, although there are more items behind it")
        }
    }

    /// Checks that a missing page is the end of the list, and that the list itself still exists: the previous page must be
    /// unchanged.
    private func confirmEnd(_ pages: Pages, _ pager: Pager) async throws(Failure) {
        guard let latest = pages.latest else { return }
        let response = try await session.read(latest.request).response
        guard try Self.fingerprint(of: listing(response)) == latest.fingerprint else {
            throw unusable("the page after its last one does not exist (404), and the last one has changed meanwhile")
        }
        do throws(Pager.Problem) { try pager.checkEnd() } catch { throw unusable(error.message) }
    }

    /// Identifies a page's items and their states.
    private static func fingerprint(of page: Listing) -> Fingerprint {
        var builder = FingerprintBuilder()
        for entry in page.entries {
            builder.add(entry.key.text)
            builder.add(entry.fingerprint)
        }
        return builder.fingerprint
    }
}
