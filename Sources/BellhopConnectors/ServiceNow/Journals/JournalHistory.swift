import BellhopCore

/// The history that a task shows of one of its journals: its entries, the newest first. Each has a heading such as
/// `2022-11-21 22:50:34 - System Administrator (Additional comments)` and ends with an empty line.
///
/// Only the first line is certainly a heading, because only the instance writes there, and only if it ends with the journal's
/// label from the dictionary (if that is readable). Another line that looks like a heading may be part of an entry's text.
/// Therefore only the text above the known history is read, and entries under its further headings count as unproved.
struct JournalHistory: Sendable {
    /// A possible entry.
    struct Entry: Sendable, Hashable {
        var heading: String
        /// The time in the heading, but never later than that of the entry above.
        var time: Timestamp
        /// The display name.
        var author: String
        var text: String
        /// False if it may be part of the entry above.
        var isProved: Bool
        /// How many equal entries are below it: the time in a heading is that of a second or a minute, in which a text may be written twice.
        var equalsBelow = 0

        /// Unique among all entries of the instance.
        func id(on task: TaskKey, in kind: String) -> String {
            let name = equalsBelow == 0 ? heading : "\(heading) \(equalsBelow)"
            return "history/" + Fingerprint.of("history", task.text, kind, name, text).hex
        }
    }

    /// An earlier state of the history: its length and fingerprint.
    struct Known: Sendable, Hashable {
        var length: Int
        var fingerprint: Fingerprint

        init(_ history: String) {
            length = history.utf8.count
            fingerprint = Fingerprint(content: history)
        }

        init?(json: JSON?) {
            guard let length = json?[0]?.asInt, let hex = json?[1]?.asString, let fingerprint = Fingerprint(hex: hex) else {
                return nil
            }
            self.length = Int(length)
            self.fingerprint = fingerprint
        }

        var json: JSON { [.int(Int64(length)), .string(fingerprint.hex)] }

        /// The text added above this state; nil if the history no longer ends with it, for example after an entry was deleted.
        func above(in history: String) -> String? {
            let bytes = Array(history.utf8)
            guard bytes.count >= length else { return nil }
            let start = bytes.count - length
            guard Fingerprint(content: Array(bytes[start...])) == fingerprint else { return nil }
            return String(decoding: bytes[..<start], as: UTF8.self)
        }
    }

    /// Why a history cannot be read.
    enum Unreadable: Error { case times, heading }

    let entries: [Entry]
    /// Whether the entries are exactly those added to a known history, even if their dates are older.
    let isNew: Bool
    /// The lines of each entry below its heading.
    private let lines: [[Substring]]

    /// How far entries can be out of order: in autumn, clocks are set back an hour.
    private static let disorder = Duration.seconds(3600)

    /// - Parameters:
    ///   - known: the earlier state; nil if the history was not read before.
    ///   - since: without an earlier state, entries from before this time are skipped.
    ///   - labels: the journal's labels from the dictionary; nil if it cannot be read.
    /// - Throws: if the first line is not a heading of this journal in this clock's format.
    init(
        _ history: String, above known: Known?, since: Timestamp, labels: Set<String>? = nil, clock: UserClock
    ) throws(Unreadable) {
        let above = known.flatMap { $0.above(in: history) }
        let since = clock.floor(since)
        isNew = above != nil
        let all = Self.lines(of: above ?? history)
        guard all.contains(where: { !$0.isEmpty }) else {
            (entries, lines) = ([], [])
            return
        }
        guard let label = Self.label(all[0]), labels?.contains(String(label.dropFirst().dropLast())) ?? true else {
            throw .heading
        }
        let headings = Self.headings(among: all, label, clock)
        guard let top = headings.first, top.place == 0 else { throw .times }
        // A forged old time must not end the reading before the entries below it.
        let count = above != nil ? headings.count : (headings.lastIndex { $0.time >= since } ?? -1) + 1
        var entries: [Entry] = []
        var lines: [[Substring]] = []
        for (number, heading) in headings.prefix(count).enumerated() {
            let end = number + 1 < headings.count ? headings[number + 1].place : all.endIndex
            let upper = entries.last?.time ?? heading.time
            let isInOrder = heading.time <= upper && (heading.time >= since || number == 0)
            lines.append(Array(all[(heading.place + 1)..<end]))
            entries.append(
                Entry(
                    heading: String(all[heading.place]), time: isInOrder ? heading.time : upper, author: heading.author,
                    text: Self.text(lines[number]), isProved: number == 0))
        }
        let known = above.map { String(decoding: Array(history.utf8)[$0.utf8.count...], as: UTF8.self) } ?? ""
        Self.countEquals(of: &entries, above: Self.lines(of: known), label, clock)
        self.entries = entries
        self.lines = lines
    }

    /// Counts the equal entries below each entry, also among the known lines, so that its id does not depend on what was known.
    private static func countEquals(of entries: inout [Entry], above known: [Substring], _ label: String, _ clock: UserClock) {
        var counts: [[String]: Int] = [:]
        let headings = Self.headings(among: known, label, clock)
        for (number, heading) in headings.enumerated() {
            let end = number + 1 < headings.count ? headings[number + 1].place : known.endIndex
            counts[[String(known[heading.place]), Self.text(Array(known[(heading.place + 1)..<end]))], default: 0] += 1
        }
        for number in entries.indices.reversed() {
            let content = [entries[number].heading, entries[number].text]
            entries[number].equalsBelow = counts[content, default: 0]
            counts[content, default: 0] += 1
        }
    }

    static let empty = JournalHistory()

    private init() { (entries, isNew, lines) = ([], true, []) }

    /// The possible texts of an entry: alone, and joined with up to `more` entries below, which may be part of it.
    func texts(of number: Int, joining more: Int) -> [String] {
        var joined = lines[number]
        var texts = [entries[number].text]
        for next in entries.indices.dropFirst(number + 1).prefix(more) {
            joined += [entries[next].heading[...]] + lines[next]
            texts.append(Self.text(joined))
        }
        return texts
    }

    /// How many lines of a text look like history headings.
    static func headings(in text: String) -> Int {
        lines(of: text).count { line in line.last == ")" && dash(in: line) != nil && line.contains(where: \.isNumber) }
    }

    // MARK: Headings

    private struct Heading {
        var place: Int
        var time: Timestamp
        var author: String
    }

    /// The first line, and each line after an empty one that has a time in the user's format, a name and this journal's label,
    /// and is not later than the first.
    private static func headings(among lines: [Substring], _ label: String, _ clock: UserClock) -> [Heading] {
        var headings: [Heading] = []
        for place in lines.indices where place == 0 || (place > 1 && lines[place - 1].allSatisfy(\.isWhitespace)) {
            let line = lines[place]
            guard line.hasSuffix(label), let dash = Self.dash(in: line), let time = clock.read(line[..<dash.lowerBound]),
                dash.upperBound <= line.index(line.endIndex, offsetBy: -label.count)
            else { continue }
            if let top = headings.first, time > top.time + disorder { continue }
            let author = ASCII.trimmed(String(line[dash.upperBound...].dropLast(label.count)))
            headings.append(Heading(place: place, time: time, author: String(author)))
        }
        return headings
    }

    /// The dash before the author. By scalars: a blank before an accent, with which a name may begin, is one character with it.
    private static func dash(in line: Substring) -> Range<Substring.Index>? {
        line.unicodeScalars.firstRange(of: " - ".unicodeScalars)
    }

    /// The journal's label in parentheses, in the user's language, taken from the end of the first heading: `(Additional
    /// comments)`.
    private static func label(_ heading: Substring) -> String? {
        guard heading.last == ")" else { return nil }
        var depth = 0
        for place in heading.indices.reversed() {
            if heading[place] == ")" { depth += 1 }
            if heading[place] == "(" { depth -= 1 }
            if depth == 0 { return String(heading[place...]) }
        }
        return nil
    }

    private static func lines(of text: String) -> [Substring] {
        text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    }

    private static func text(_ lines: [Substring]) -> String {
        lines.reversed().drop { $0.isEmpty }.reversed().joined(separator: "\n")
    }
}
