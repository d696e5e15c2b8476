import BellhopCore

/// A comment's text: as sent, and as recognized in the journal.
struct CommentText: Sendable, Hashable {
    /// What is sent. The platform renders `[code]…[/code]` as HTML, so those tags are split: `[ code]`.
    let sent: String
    private let normalized: String
    private let likeness: TextLikeness
    /// The reference appended to it, if the connection marks comments: then only that is proof, not similarity.
    private let marker: String?
    /// How many of its lines look like headings of a history.
    let headings: Int

    init(_ text: String, marker: String? = nil) {
        let text = Self.neutralized(text)
        sent = marker.map { "\(text)\n\n\($0)" } ?? text
        self.marker = marker
        normalized = Self.normalized(sent)
        likeness = TextLikeness(text)
        headings = JournalHistory.headings(in: text)
    }

    /// True if there is no text.
    var isEmpty: Bool { normalized.isEmpty }

    /// Whether a journal entry has the same text, ignoring line ends, trailing blanks, and blank lines around it.
    func matches(_ other: String) -> Bool { Self.normalized(other) == normalized }

    /// Whether a journal entry may be this text as the instance altered it: tags removed, digits masked, quotes replaced, or cut.
    func resembles(_ other: String) -> Bool {
        marker.map { other.contains($0) } ?? likeness.covers(TextLikeness(other))
    }

    private static func neutralized(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let bracket = rest.firstIndex(of: "[") {
            let after = rest[rest.index(after: bracket)...]
            result += rest[...bracket]
            let word = after.first == "/" ? after.dropFirst() : after
            if ASCII.equalIgnoringCase(word.prefix(5), "code]") { result += " " }
            rest = after
        }
        return result + rest
    }

    static func normalized(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
            .map { line in
                var line = line
                while line.last?.isWhitespace == true { line = line.dropLast() }
                return line
            }
        let first = lines.firstIndex { !$0.isEmpty } ?? lines.endIndex
        let end = lines.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? first
        return lines[first..<end].joined(separator: "\n")
    }
}
