import BellhopCore

/// Finds the next page of an answer, and the faults that would make a list with gaps or doubles of it. Decided without asking anybody.
struct Pager: Sendable {
    /// What to ask next.
    enum Turn: Sendable, Hashable {
        /// The source's own request, with these parameters.
        case parameters([Parameter])
        case address(HTTPAddress)
    }

    struct Parameter: Sendable, Hashable {
        var name: String
        var value: JSON
    }

    /// Why pages make no whole answer. One sentence.
    struct Problem: Error, Sendable, Hashable { var message: String }

    private let paging: Paging?
    private var pages = 0
    private var items = 0
    private var total: Int64?
    /// The page before: its items' fingerprints in one, and its last key.
    private var before: (fingerprint: Fingerprint, last: TaskKey?)?
    private var seen: Set<String> = []

    init(_ paging: Paging?) { self.paging = paging }

    /// What to ask first.
    var first: Turn {
        guard let paging else { return .parameters([]) }
        switch paging.way {
        case .link, .cursor: return .parameters(size)
        case .page: return .parameters(size + [Parameter(name: paging.parameter, value: .int(Int64(paging.start)))])
        case .offset: return .parameters(size + [Parameter(name: paging.parameter, value: 0)])
        }
    }

    private var size: [Parameter] {
        guard let paging, let name = paging.sizeParameter, let size = paging.size else { return [] }
        return [Parameter(name: name, value: .int(Int64(size)))]
    }

    /// Takes in a page and says what to ask next; nil after the last.
    ///
    /// - Parameters:
    ///   - body: the page's JSON; read where a path leads into it.
    ///   - address: where the page came from.
    mutating func next(
        after page: Listing, body: JSON, headers: HeaderFields, from address: HTTPAddress
    ) throws(Problem) -> Turn? {
        guard let paging else { return nil }
        try check(page, body)
        if let more = paging.more, !Self.isTrue(body[more]) { return nil }
        let turn: Turn?
        switch paging.way {
        case .link: turn = try link(paging, body, headers, from: address)
        case .cursor: turn = try cursor(paging, body)
        case .page: turn = isLast(page) ? nil : numbered(paging, Int64(paging.start + pages))
        case .offset:
            // Each page begins with the last row of the one before: where it does not, rows moved meanwhile and some would be missed.
            turn = isLast(page) || page.entries.count < 2 ? nil : numbered(paging, Int64(items - 1))
        }
        if turn != nil, pages >= paging.mostPages {
            throw Problem(
                message: "there are more than \(paging.mostPages) pages: ask for larger ones (`size`) or allow more (`max_pages`)"
            )
        }
        return turn
    }

    /// How many items at the beginning of the next page are the end of the one before.
    var overlap: Int { paging?.way == .offset && pages > 0 ? 1 : 0 }

    private mutating func check(_ page: Listing, _ body: JSON) throws(Problem) {
        guard let paging else { return }
        if let path = paging.total, let count = body[path]?.asInt {
            if let total, total != count {
                throw Problem(message: "the number of all items changed from \(total) to \(count) while the pages were read")
            }
            total = count
        }
        var builder = FingerprintBuilder()
        for entry in page.entries { builder.add(entry.key.text) }
        let fingerprint = builder.fingerprint
        if let before {
            if before.fingerprint == fingerprint, page.entries.count > 1 || paging.way != .offset && !page.entries.isEmpty {
                throw Problem(message: "two pages in a row are the same: the server may not know the paging's parameters")
            }
            if paging.way == .offset, before.last != page.entries.first?.key {
                throw Problem(message: "items moved while the pages were read")
            }
        }
        items += page.entries.count - overlap
        before = (fingerprint, page.entries.last?.key ?? before?.last)
        pages += 1
    }

    private func isLast(_ page: Listing) -> Bool {
        if let total { return items >= total || page.entries.isEmpty }
        if let size = paging?.size { return page.entries.count < size }
        return page.entries.isEmpty
    }

    private func numbered(_ paging: Paging, _ number: Int64) -> Turn {
        .parameters(size + [Parameter(name: paging.parameter, value: .int(number))])
    }

    private mutating func cursor(_ paging: Paging, _ body: JSON) throws(Problem) -> Turn? {
        guard let path = paging.next, let value = body[path], let text = Self.word(value) else { return nil }
        guard seen.insert(text).inserted else {
            throw Problem(message: "the same cursor came twice: the pages go in a circle")
        }
        return .parameters(size + [Parameter(name: paging.parameter, value: value)])
    }

    private mutating func link(
        _ paging: Paging, _ body: JSON, _ headers: HeaderFields, from address: HTTPAddress
    ) throws(Problem) -> Turn? {
        let found = paging.next.map { body[$0].flatMap(Self.word) } ?? LinkField.target(of: "next", in: headers)
        guard let found else { return nil }
        guard let target = address.resolving(found) else { throw Problem(message: "the link to the next page is no address") }
        guard target.hasOrigin(of: address), target.userInfo == nil else {
            throw Problem(message: "the link to the next page leads to another host (\(target.place)), which is not followed")
        }
        guard target != address, seen.insert(target.text).inserted else {
            throw Problem(message: "the same link came twice: the pages go in a circle")
        }
        return .address(target)
    }

    /// A cursor's text; nil for what means that there is none.
    private static func word(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : text
        case .int(let number): String(number)
        case .null, .bool, .double, .array, .object: nil
        }
    }

    private static func isTrue(_ value: JSON?) -> Bool {
        switch value {
        case .bool(let flag)?: flag
        case .string(let text)?: text == "true"
        case .int(let number)?: number != 0
        case nil, .null?, .double?, .array?, .object?: false
        }
    }
}
