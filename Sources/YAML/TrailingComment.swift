/// A comment after a plain scalar, on its last line.
///
/// Most authors intend a comment. In an expression or a template, the author may have intended ` #` as text, which YAML cuts off.
public struct TrailingComment: Sendable, Hashable {
    /// From `#` to the end of the line.
    public let range: SourceRange

    /// The characters from `#` to the end of the line.
    public let text: String
}

extension Node {
    /// The comment that ended this plain scalar; nil for other nodes, and if there is none.
    public var trailingComment: TrailingComment? {
        guard let scalar, scalar.style == .plain, alias == nil else { return nil }
        var index = range.end.offset
        while let byte = source.byte(index), ASCII.isBlank(byte) { index += 1 }
        guard source.byte(index) == ASCII.hash else { return nil }
        let end = source.lineOffsets(range.end.line).upperBound
        let place = source.range(index..<end)
        return TrailingComment(range: place, text: source.text(in: place))
    }

    /// The error, with the corrected line, if a comment cut this plain scalar short: a `${{`, a bracket or a quote is left open
    /// before the comment. Call this only if the scalar is an expression or a template.
    public func cutByComment() -> YAMLError? {
        guard let comment = trailingComment, let text = scalarText, leavesOpen(text) else { return nil }
        return cutByComment(comment)
    }

    /// The error for a comment that certainly cut the scalar short, because the rest of the scalar cannot be parsed.
    public func cutByComment(_ comment: TrailingComment) -> YAMLError {
        let message = "YAML reads ` #` as the start of a comment, which cuts this value short"
        let help = "put the whole value in quotes"
        return YAMLError(.cutByComment, message, at: comment.range, help: help, corrected: line(correcting: comment))
    }

    /// The line with quotes around the scalar and its comment; nil if quotes alone do not correct the line.
    private func line(correcting comment: TrailingComment) -> String? {
        let number = range.start.line
        guard range.end.line == number else { return nil }
        let line = source.lineOffsets(number)
        let whole = Excerpt(source: source, end: line.upperBound).trimmed(range.start.offset..<line.upperBound)
        let corrected = source.text(line.lowerBound..<whole.lowerBound) + Quoting.quote(source.text(whole))
        let finder = MistakeFinder(source, Limits(bytes: .max, depth: .max, nodes: .max))
        return finder.isFixed(by: corrected, in: number...number) ? corrected : nil
    }

    /// Whether a text leaves a `${{`, a bracket or a quote open.
    private func leavesOpen(_ text: String) -> Bool {
        var open: [UInt8] = []
        var quote: UInt8?
        var before: UInt8 = ASCII.space
        for byte in text.utf8 {
            defer { before = byte }
            if let mark = quote {
                if byte == mark, before != ASCII.backslash { quote = nil }
                continue
            }
            switch byte {
            // An apostrophe within a word is not a quote.
            case ASCII.doubleQuote, ASCII.quote: if !ASCII.isWord(before) || !open.isEmpty { quote = byte }
            case ASCII.openBrace, ASCII.openBracket, ASCII.openParenthesis: open.append(byte)
            case ASCII.closeBrace, ASCII.closeBracket, ASCII.closeParenthesis: _ = open.popLast()
            default: break
            }
        }
        return !open.isEmpty || quote != nil
    }
}
