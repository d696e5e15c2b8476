import BellhopCore

/// Whether the pages of an answer had what the paging looks for in them: a slip in its paths would end a list early, and nobody would see.
struct PagingDoubt: Sendable {
    private let paging: Paging
    private var met: Set<String> = []
    private var hasLink = false
    private var items = 0
    private var last = 0

    init(_ paging: Paging) { self.paging = paging }

    /// Takes in a page.
    mutating func note(_ count: Int, body: JSON, headers: HeaderFields) {
        items += count
        last = count
        // What is there and empty says that there is no more.
        for (name, path) in paths where body[path] != nil { met.insert(name) }
        if headers["Link"] != nil { hasLink = true }
    }

    /// What was in no page, in words; nil where nothing is in doubt.
    var words: String? {
        guard items > 0 else { return nil }
        var absent = paths.filter { !met.contains($0.name) && ($0.name != "next" || mayGoOn) }
            .map { "nothing at `\($0.path)` (`paging.\($0.name)`)" }
        if paging.way == .link, paging.next == nil, !hasLink, mayGoOn { absent.append("no field `Link`") }
        return absent.isEmpty ? nil : absent.joined(separator: " and ")
    }

    /// What a person should know, in a sentence.
    func notice(of source: String) -> String? {
        words.map { words in
            let isNamed = paging.way == .link || paging.way == .cursor
            return "The answers to source \(source) have \(words)"
                + (isNamed && mayGoOn
                    ? ": the list may go on after these \(items) items, and what follows is not read."
                    : ": whether the list is whole is not known from it.")
        }
    }

    private var paths: [(name: String, path: JSON.Path)] {
        [("next", paging.next), ("more", paging.more), ("total", paging.total)].compactMap { name, path in
            path.map { (name: name, path: $0) }
        }
    }

    /// Whether the last page is a full one, after which there may be another, and nothing in it says that there is none. Many servers leave
    /// out the way to a page that is not there.
    private var mayGoOn: Bool {
        guard met.isEmpty else { return false }
        if let size = paging.size { return last >= size }
        // Sizes that servers take by themselves.
        return last >= 10 && (last.isMultiple(of: 10) || last.isMultiple(of: 25))
    }
}
