/// The parts of a line as its author meant them: indentation, dashes, a key, a value, a comment.
struct LineParts {
    let number: Int

    /// Offsets of the whole line without its break.
    let line: Range<Int>

    /// The offset of the first character that is not a blank.
    let indentEnd: Int

    /// The range of the key without its colon; nil if there is none.
    let key: Range<Int>?

    /// The range of the value, without blanks and comment after it. Empty if there is none.
    let value: Range<Int>

    let excerpt: Excerpt

    /// The longest line examined, in bytes; a longer correction would not be readable.
    private static let longest = 4096

    init(_ source: SourceText, _ number: Int) {
        self.number = number
        line = source.lineOffsets(number)
        excerpt = Excerpt(source: source, end: line.upperBound)
        indentEnd = excerpt.skipBlanks(line.lowerBound)
        guard line.count <= Self.longest else {
            key = nil
            value = line.upperBound..<line.upperBound
            return
        }
        var start = indentEnd
        while excerpt.isIndicator(ASCII.dash, at: start) || excerpt.isIndicator(ASCII.question, at: start) {
            start = excerpt.skipBlanks(start + 1)
        }
        key = Self.key(excerpt, start)
        if let key { start = excerpt.skipBlanks(excerpt.skipBlanks(key.upperBound) + 1) }
        let comment = excerpt[start] == ASCII.hash ? start : excerpt.commentStart(start)
        value = excerpt.trimmed(start..<max(start, comment ?? line.upperBound))
    }

    /// The number of blanks before the first character that is not a blank.
    var indent: Int { indentEnd - line.lowerBound }

    /// The number of characters before the key, or before the value if there is no key. Dashes count as indentation.
    var contentColumn: Int { (key ?? value).lowerBound - line.lowerBound }

    var isBlank: Bool { indentEnd == line.upperBound }

    var first: UInt8? { value.isEmpty ? nil : excerpt[value.lowerBound] }

    /// The quote or bracket that begins the value.
    var mark: String { excerpt.text(value.prefix(1)) }

    /// Whether the value begins like a plain text of several lines.
    var beginsPlainText: Bool { first.map { !"|>{[\"'".utf8.contains($0) } ?? false }

    /// The blanks before the first character.
    var blanks: String { excerpt.text(line.lowerBound..<indentEnd) }

    var head: String { excerpt.text(line.lowerBound..<value.lowerBound) }

    var valueText: String { excerpt.text(value) }

    func with(_ text: String) -> String { head + text + excerpt.text(value.upperBound..<line.upperBound) }

    private static func key(_ excerpt: Excerpt, _ start: Int) -> Range<Int>? {
        guard let first = excerpt[start] else { return nil }
        if first == ASCII.quote || first == ASCII.doubleQuote {
            guard let end = excerpt.skipQuoted(start) else { return nil }
            return excerpt.isIndicator(ASCII.colon, at: excerpt.skipBlanks(end)) ? start..<end : nil
        }
        guard !"{[#&*!|>%@`,]}".utf8.contains(first) else { return nil }
        var index = start
        while let byte = excerpt[index] {
            if excerpt.isIndicator(ASCII.colon, at: index) { return excerpt.trimmed(start..<index) }
            if byte == ASCII.hash, index > start, ASCII.isBlank(excerpt.source.bytes[index - 1]) { return nil }
            index += 1
        }
        return nil
    }
}
