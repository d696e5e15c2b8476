/// A range of text, read as a person reads it and not as YAML does: a bracketed or quoted text or a `${{ }}` is one unit.
struct Excerpt {
    let source: SourceText
    let end: Int

    subscript(_ index: Int) -> UInt8? { index < end ? source.bytes[index] : nil }

    /// The offset after blanks.
    func skipBlanks(_ start: Int) -> Int {
        var index = start
        while let byte = self[index], ASCII.isBlank(byte) { index += 1 }
        return index
    }

    /// Whether the line has `byte` here with a blank or the end after it, which makes it an indicator: `- `, `? ` or `: `.
    func isIndicator(_ byte: UInt8, at index: Int) -> Bool { self[index] == byte && self[index + 1].isBlankOrEnd }

    /// The range without trailing blanks.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var end = range.upperBound
        while end > range.lowerBound, ASCII.isBlank(source.bytes[end - 1]) { end -= 1 }
        return range.lowerBound..<end
    }

    /// The offset after a quoted text that begins at `start`, or nil if it is not closed.
    func skipQuoted(_ start: Int) -> Int? {
        guard let mark = self[start] else { return nil }
        var index = start + 1
        while let byte = self[index] {
            index += 1
            if byte == ASCII.backslash, mark == ASCII.doubleQuote { index += 1 }
            if byte == mark {
                guard mark == ASCII.quote, self[index] == ASCII.quote else { return index }
                index += 1
            }
        }
        return nil
    }

    /// The offset after the matching bracket or brace, or nil if there is none.
    func skipBrackets(_ start: Int) -> Int? {
        var depth = 0
        var index = start
        var hasOpenQuote = false
        while let byte = self[index] {
            switch byte {
            case ASCII.openBrace, ASCII.openBracket, ASCII.openParenthesis: depth += 1
            case ASCII.closeBrace, ASCII.closeBracket, ASCII.closeParenthesis: depth -= 1
            case ASCII.quote, ASCII.doubleQuote:
                guard !hasOpenQuote, opensQuote(index) else { break }
                if let after = skipQuoted(index) {
                    index = after
                    continue
                }
                hasOpenQuote = true
            default: break
            }
            index += 1
            if depth <= 0 { return index }
        }
        return nil
    }

    /// An apostrophe within a word opens no quote.
    func opensQuote(_ index: Int) -> Bool {
        guard let byte = self[index], byte == ASCII.quote || byte == ASCII.doubleQuote else { return false }
        return index == 0 || !ASCII.isWord(source.bytes[index - 1])
    }

    /// Where ` #` begins a comment after a value: outside brackets and quotes.
    func commentStart(_ start: Int) -> Int? {
        var index = start
        // After an unclosed bracket or quote, later ones are not examined, so that each line is scanned only once.
        var isOpen = false
        while let byte = self[index] {
            var after: Int?
            switch byte {
            case ASCII.openBrace, ASCII.openBracket, ASCII.openParenthesis:
                if !isOpen { after = skipBrackets(index) }
                isOpen = after == nil
            case ASCII.quote, ASCII.doubleQuote:
                if !isOpen, opensQuote(index) {
                    after = skipQuoted(index)
                    isOpen = after == nil
                }
            case ASCII.hash where index > 0 && ASCII.isBlank(source.bytes[index - 1]): return index
            default: break
            }
            index = after ?? index + 1
        }
        return nil
    }

    func text(_ range: Range<Int>) -> String { source.text(range) }
}
