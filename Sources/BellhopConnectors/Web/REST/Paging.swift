import BellhopCore

/// The setting `paging` of a source of kind `rest`.
struct Paging: Sendable, Hashable {
    enum Way: String, Sendable, Hashable, CaseIterable {
        /// The answer links to the next page, in a `Link` field (RFC 8288) or in its body.
        case link
        case page
        case offset
        /// The answer contains a cursor for the next page.
        case cursor
    }

    var way: Way
    var parameter: String
    /// The page size to request; nil for the server's default. The server may send fewer rows.
    var size: Int?
    var sizeParameter: String?
    /// The number of the first page.
    var start: Int
    /// The path in the body to the next page's address or cursor.
    var next: JSON.Path?
    /// The path in the body to whether there are more pages.
    var more: JSON.Path?
    /// The path in the body to the total number of rows.
    var total: JSON.Path?
    /// Whether parameters go into the JSON body rather than the query.
    var inBody: Bool
    var maxPages: Int
    /// The size limit of all pages together, in bytes.
    var largestList: Int
    /// Whether the page after the last one is missing (404) rather than empty.
    var endsWith404: Bool

    static let settings: [Setting] = [
        Setting(
            "by", .oneOf(Way.allCases.map(\.rawValue)), required: true,
            "Whether a link, a page number, an offset or a cursor names the next page."),
        Setting("parameter", .text, "The parameter that names the page; by default `page`, `offset` or `cursor`."),
        Setting("size", .integer(1...100_000), "The number of items per page; the server may have its own limit."),
        Setting("size_parameter", .text, "The parameter for the page size, such as per_page."),
        Setting("start", .integer(0...1), "The number of the first page; by default 1."),
        Setting(
            "next", .text,
            "The path to the next page's cursor, or, for `by: link`, to its address in the body instead of the Link header."
        ),
        Setting(
            "more", .text,
            "The path to a boolean that says whether there are more pages. Without it and `total`, pages by number or offset are read until one is empty."
        ),
        Setting(
            "total", .text,
            "The path to the number of all items; if the pages have a different number of items, or it changes between pages, the poll fails."
        ),
        Setting("in", .oneOf(["query", "body"]), default: "query", "Whether the parameters go into the query or the JSON body."),
        Setting(
            "end", .oneOf(["empty", "not_found"]), default: "empty",
            "What follows the last page: an empty page, or 404. After a 404 the page before is read again; if it is unchanged, the list has ended."
        ),
        Setting("max_pages", .integer(1...10_000), default: "100", "The largest number of pages; with more, the poll fails."),
        Setting(
            "max_total", .size, default: "128MB", least: "1KB",
            "The largest size of all pages together; with more, the poll fails. A poll uses about twice that much memory."),
    ]

    /// Reads the checked record; nil if there is none.
    init?(_ settings: Settings, source: String) throws(ConnectorError) {
        guard let record = settings.record("paging") else { return nil }
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: source, setting: "paging.\(setting)", message)
        }
        func path(_ setting: String) throws(ConnectorError) -> JSON.Path? {
            guard let text = record.text(setting) else { return nil }
            guard let path = JSON.Path(text: text), !path.steps.isEmpty else {
                throw problem(setting, "`\(text)` is not a path: write names with dots between them, as in meta.next.")
            }
            return path
        }
        guard let way = record.text("by").flatMap(Way.init) else {
            throw problem("by", "Set how pages are addressed: link, page, offset or cursor.")
        }
        self.way = way
        parameter = record.text("parameter") ?? way.rawValue
        size = record.integer("size")
        sizeParameter = record.text("size_parameter")
        start = record.integer("start") ?? 1
        next = try path("next")
        more = try path("more")
        total = try path("total")
        inBody = record.text("in") == "body"
        maxPages = record.integer("max_pages") ?? 100
        largestList = record.integer("max_total") ?? 128 << 20
        endsWith404 = record.text("end") == "not_found"
        if endsWith404, way != .page, way != .offset {
            throw problem("end", "Only pages by number or offset are read until one is missing.")
        }
        if sizeParameter != nil, size == nil { throw problem("size", "`size_parameter` needs `size`.") }
        switch way {
        case .cursor where next == nil: throw problem("next", "A cursor needs `next`: the path to it in the answer.")
        case .offset where size ?? 0 < 2:
            throw problem("size", "An offset needs `size`: how many items a page has at most, 2 or more.")
        case .link where inBody: throw problem("in", "A link is followed as is; it has no parameters.")
        case .link, .page, .offset, .cursor: break
        }
        if inBody, settings.record("json") == nil {
            throw problem("in", "Parameters can go into the body only if the source has one: `json: {…}`.")
        }
    }
}

/// Checks whether the answers contain what the paging needs: a typo in its paths would end a list early and unnoticed.
struct PagingCheck: Sendable {
    private let paging: Paging
    /// The names of the values that some page has.
    private var found: Set<String> = []
    private var hasLink = false
    private var items = 0
    /// The number of items of the latest page.
    private var last = 0

    init(_ paging: Paging) { self.paging = paging }

    mutating func note(_ count: Int, body: JSON, headers: HeaderFields) {
        items += count
        last = count
        // A value that is present but empty means the end.
        for (name, path) in paths where body[path] != nil { found.insert(name) }
        if headers["Link"] != nil { hasLink = true }
    }

    /// Describes the values that are missing in all pages; nil if there is no doubt.
    var words: String? {
        guard items > 0 else { return nil }
        var absent = paths.filter { !found.contains($0.name) && ($0.name != "next" || mayGoOn) }
            .map { "nothing at `\($0.path)` (`paging.\($0.name)`)" }
        if paging.way == .link, paging.next == nil, !hasLink, mayGoOn { absent.append("no field `Link`") }
        return absent.isEmpty ? nil : absent.joined(separator: " and ")
    }

    /// A sentence for people; nil if there is no doubt.
    func notice(of source: String) -> String? {
        words.map { words in
            let isNamed = paging.way == .link || paging.way == .cursor
            return "The answers to source \(source) have \(words)"
                + (isNamed && mayGoOn
                    ? ": the list may continue after these \(items) items, and the rest is not read."
                    : ": whether the list is complete is unknown.")
        }
    }

    private var paths: [(name: String, path: JSON.Path)] {
        [("next", paging.next), ("more", paging.more), ("total", paging.total)].compactMap { name, path in
            path.map { (name: name, path: $0) }
        }
    }

    /// Whether another page may follow: the last page is full, and no page has a paging value. Many servers omit the link to a
    /// page that does not exist.
    private var mayGoOn: Bool {
        guard found.isEmpty else { return false }
        if let size = paging.size { return last >= size }
        // Common default page sizes.
        return last >= 10 && (last.isMultiple(of: 10) || last.isMultiple(of: 25))
    }
}
