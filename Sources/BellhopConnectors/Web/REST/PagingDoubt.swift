import BellhopCore

/// Checks whether the answers contain what the paging needs: a typo in its paths would end a list early and unnoticed.
struct PagingDoubt: Sendable {
    private let paging: Paging
    /// The names of the values that some page has.
    private var found: Set<String> = []
    private var hasLink = false
    private var items = 0
    /// The number of items of the latest page.
    private var last = 0

    init(_ paging: Paging) { self.paging = paging }

    /// Records a page.
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
