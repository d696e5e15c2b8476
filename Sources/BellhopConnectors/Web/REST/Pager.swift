import BellhopCore

/// Determines the next page, and detects errors that would cause gaps or duplicates in the list. Sends no requests.
struct Pager: Sendable {
    enum Turn: Sendable, Hashable {
        /// The source's own request, with these parameters.
        case parameters([Parameter])
        case address(HTTPAddress)
    }

    struct Parameter: Sendable, Hashable {
        var name: String
        var value: JSON
    }

    /// The reason why the pages do not form a complete list, as the end of a sentence.
    struct Problem: Error, Sendable, Hashable { var message: String }

    private let paging: Paging?
    private var pages = 0
    private var items = 0
    private var total: Int64?
    /// Whether the previous page announces more.
    private var hasMore = false
    /// The previous page: the combined fingerprint of its items, and its last key.
    private var before: (fingerprint: Fingerprint, last: TaskKey?)?
    private var seen: Set<String> = []

    init(_ paging: Paging?) { self.paging = paging }

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

    /// Adds a page and returns the next request; nil after the last page.
    /// - Parameters:
    ///   - body: the page's JSON; used if a path leads into it.
    ///   - address: where the page came from.
    mutating func next(
        after page: Listing, body: JSON, headers: HeaderFields, from address: HTTPAddress
    ) throws(Problem) -> Turn? {
        guard let paging else { return nil }
        let new = try check(page, body)
        let more = paging.more.flatMap { Self.flag(body[$0]) }
        let turn: Turn?
        switch paging.way {
        case .link: turn = more == false ? nil : try link(paging, body, headers, from: address)
        case .cursor: turn = more == false ? nil : try cursor(paging, body)
        case .page: turn = isLast(new, more) ? nil : numbered(paging, Int64(paging.start + pages))
        // Each page must begin with the last item of the previous one. If not, items moved meanwhile and some would be missed.
        case .offset: turn = isLast(new, more) ? nil : numbered(paging, Int64(items - overlap))
        }
        hasMore = more == true
        guard let turn else {
            if more == true { throw Problem(message: "it says that there is more, but not where") }
            try checkEnd()
            return nil
        }
        // An empty page that marks the end does not count.
        let counted = total == nil && more == nil && (paging.way == .page || paging.way == .offset) ? pages - 1 : pages
        guard counted < paging.maxPages else {
            throw Problem(
                message: "there are more than \(paging.maxPages) pages: ask for larger ones (`size`) or allow more (`max_pages`)"
            )
        }
        return turn
    }

    /// Whether a missing next page (404) may be the end of the list: not if the previous page announces more.
    var mayEndWith404: Bool { paging?.endsWith404 == true && pages > 0 && !hasMore }

    /// Checks that all announced items are there.
    func checkEnd() throws(Problem) {
        if let total, items < total { throw Problem(message: "its pages end after \(items) of \(total) items") }
    }

    /// The number of items at the beginning of the next page that repeat the end of the previous one.
    var overlap: Int { paging?.way == .offset && items > 1 ? 1 : 0 }

    /// The request for the page after the last one; nil if pages have no numbers.
    var beyond: Turn? {
        guard let paging, paging.way == .page else { return nil }
        return numbered(paging, Int64(paging.start + pages))
    }

    /// Whether the answer was one page whose body would change if another page were added. A `Link` field is not in the body.
    var isOneBody: Bool {
        guard let paging else { return true }
        return pages == 1 && (paging.way != .link || paging.next != nil || total != nil)
    }

    /// Checks that a page is consistent with the previous ones; returns the number of new items.
    private mutating func check(_ page: Listing, _ body: JSON) throws(Problem) -> Int {
        guard let paging else { return 0 }
        if let path = paging.total, let count = Self.number(body[path]) {
            if let total, total != count {
                throw Problem(message: "the number of all items changed from \(total) to \(count) while the pages were read")
            }
            total = count
        }
        var builder = FingerprintBuilder()
        for entry in page.entries { builder.add(entry.key.text) }
        let fingerprint = builder.fingerprint
        if let before {
            if before.fingerprint == fingerprint, page.entries.count > overlap {
                throw Problem(message: "two pages in a row are the same: the server may not know the paging's parameters")
            }
            if overlap > 0, before.last != page.entries.first?.key {
                throw Problem(message: "items moved while the pages were read")
            }
            if paging.way == .offset, overlap == 0, !page.entries.isEmpty {
                throw Problem(message: "its pages have one item each, too few to check whether they fit together")
            }
        }
        let new = page.entries.count - overlap
        items += new
        before = (fingerprint, page.entries.last?.key ?? before?.last)
        pages += 1
        if let total, items > total {
            throw Problem(message: "there are \(items) items, more than the \(total) announced by `total`")
        }
        return new
    }

    /// The body says whether a page is the last one, or else an empty page does. A short page proves nothing: servers have their
    /// own limits, and leave out items that the account may not read.
    private func isLast(_ new: Int, _ more: Bool?) -> Bool {
        if let more { return !more }
        if let total, items >= total { return true }
        return new == 0
    }

    private func numbered(_ paging: Paging, _ number: Int64) -> Turn {
        .parameters(size + [Parameter(name: paging.parameter, value: .int(number))])
    }

    private mutating func cursor(_ paging: Paging, _ body: JSON) throws(Problem) -> Turn? {
        guard let path = paging.next, let value = body[path], !Self.isEnd(value) else { return nil }
        if let reason = Self.objection(to: value, inBody: paging.inBody) {
            throw Problem(message: "`\(path)` (`paging.next`) is \(reason)")
        }
        guard seen.insert(value.text(.sorted)).inserted else {
            throw Problem(message: "the same cursor came twice: the pages repeat")
        }
        return .parameters(size + [Parameter(name: paging.parameter, value: value)])
    }

    /// Why a cursor cannot be sent back as it came, as the end of a sentence; nil if it can.
    private static func objection(to cursor: JSON, inBody: Bool) -> String? {
        switch cursor {
        case .null, .int, .string: nil
        case .bool: "a boolean, not a cursor: if it says whether there are more pages, name it as `paging.more`"
        case .double(let number):
            abs(number) < 0x1p53 ? nil : "a number with more digits than can be sent back exactly"
        case .array, .object:
            inBody ? nil : "an \(cursor.kindName), which can be sent back only in a JSON body: `paging.in: body`"
        }
    }

    private mutating func link(
        _ paging: Paging, _ body: JSON, _ headers: HeaderFields, from address: HTTPAddress
    ) throws(Problem) -> Turn? {
        let found: JSON? = paging.next.map { body[$0] } ?? LinkField.target(of: "next", in: headers).map(JSON.string)
        guard let found, !Self.isEnd(found) else { return nil }
        guard var target = found.asString.flatMap({ address.resolving($0) }) else {
            throw Problem(message: "the link to the next page is not an address")
        }
        // Behind a proxy, many servers write http into links to themselves.
        if address.isSecure, !target.isSecure, target.host == address.host, [80, address.port].contains(target.port) {
            (target.isSecure, target.port) = (true, address.port)
        }
        guard target.hasOrigin(of: address), target.userInfo == nil else {
            throw Problem(message: "the link to the next page leads to another host (\(target.place)), which is not followed")
        }
        guard target != address, seen.insert(target.text).inserted else {
            throw Problem(message: "the same link came twice: the pages repeat")
        }
        return .address(target)
    }

    /// Whether the value of a cursor or link means that there is none, as 0 does.
    private static func isEnd(_ value: JSON) -> Bool {
        switch value {
        case .null: true
        case .bool(let flag): !flag
        case .int(let number): number == 0
        case .double(let number): number == 0
        case .string(let text): text.isEmpty || text == "0"
        case .array(let elements): elements.isEmpty
        case .object(let members): members.isEmpty
        }
    }

    /// Whether the body announces further pages; nil if it does not say.
    private static func flag(_ value: JSON?) -> Bool? {
        switch value {
        case .bool(let flag)?: flag
        case .string("true")?, .string("1")?: true
        case .string("false")?, .string("0")?: false
        case .int(let number)?: number != 0
        case nil, .null?, .string?, .double?, .array?, .object?: nil
        }
    }

    private static func number(_ value: JSON?) -> Int64? {
        switch value {
        case .int(let number)?: number
        case .double(let number)?: Int64(exactly: number)
        case .string(let text)?: Int64(text)
        case nil, .null?, .bool?, .array?, .object?: nil
        }
    }
}

/// The header field `Link` (RFC 8288): the part that paging needs.
enum LinkField {
    /// The target of the first link with this relation; nil if there is none.
    static func target(of relation: String, in headers: HeaderFields) -> String? {
        for value in headers.all("Link") {
            for link in links(value) where link.relations.contains(where: { ASCII.equalIgnoringCase($0, relation) }) {
                return link.target
            }
        }
        return nil
    }

    /// The links of one field: `<target>; rel="a b"; title="x, y", <…>`.
    private static func links(_ value: String) -> [(target: String, relations: [String])] {
        var links: [(target: String, relations: [String])] = []
        var rest = Substring(value)
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            let target = String(ASCII.trimmed(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
            var relations: [String]?
            while let (name, value) = parameter(&rest) {
                // Of duplicate `rel` parameters the first counts.
                if ASCII.equalIgnoringCase(name, "rel"), relations == nil {
                    relations = value.split(separator: " ").map(String.init)
                }
            }
            links.append((target, relations ?? []))
        }
        return links
    }

    /// Reads `; name=value`; nil at the end of a link.
    private static func parameter(_ rest: inout Substring) -> (name: String, value: String)? {
        rest = ASCII.trimmed(rest)
        guard rest.first == ";" else { return nil }
        rest = ASCII.trimmed(rest.dropFirst())
        let name = rest.prefix { !"=;,".contains($0) }
        rest = rest[name.endIndex...]
        guard rest.first == "=" else { return (String(ASCII.trimmed(name)), "") }
        rest = ASCII.trimmed(rest.dropFirst())
        var value = ""
        if rest.first == "\"" {
            rest = rest.dropFirst()
            while let character = rest.popFirst(), character != "\"" {
                if character == "\\", let next = rest.popFirst() { value.append(next) } else { value.append(character) }
            }
        } else {
            let token = rest.prefix { !";,".contains($0) }
            value = String(ASCII.trimmed(token))
            rest = rest[token.endIndex...]
        }
        return (String(ASCII.trimmed(name)), value)
    }
}
