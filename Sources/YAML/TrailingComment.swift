/// A comment behind a plain scalar, on the line on which the scalar ends.
///
/// Most are meant as comments. In an expression or a template a ` #` may have been meant as text, and YAML cut it off.
public struct TrailingComment: Sendable, Hashable {
    /// From `#` to the end of the line.
    public let range: SourceRange

    /// The characters from `#` to the end of the line.
    public let text: String
}

extension Node {
    /// The comment that ended this plain scalar; nil for all other nodes, and where nothing follows.
    public var trailingComment: TrailingComment? {
        guard let scalar, scalar.style == .plain, alias == nil else { return nil }
        var index = range.end.offset
        while let byte = source.byte(index), ASCII.isBlank(byte) { index += 1 }
        guard source.byte(index) == ASCII.hash else { return nil }
        let end = source.lineOffsets(range.end.line).upperBound
        let place = source.range(index..<end)
        return TrailingComment(range: place, text: source.text(in: place))
    }

    /// The fault, with the line as it should read, where a comment cut this plain scalar short: a `${{`, a bracket or a quote
    /// is left open before it. Ask for it where the scalar is an expression or a template.
    public func cutByComment() -> YAMLError? {
        guard let comment = trailingComment, let text = scalarText, Openings(text).isOpen else { return nil }
        return cutByComment(comment)
    }

    /// The fault of a comment that is known to have cut the scalar short, because what is left of it cannot be read.
    public func cutByComment(_ comment: TrailingComment) -> YAMLError {
        let message = "YAML takes ` #` for the start of a comment, which cuts this value short"
        let help = "put the whole value in quotes"
        return YAMLError(.cutByComment, message, at: comment.range, help: help, mended: line(mending: comment))
    }
}

extension Node {
    /// The line with quotes around the scalar and its comment; nil where that alone does not mend it.
    private func line(mending comment: TrailingComment) -> String? {
        let number = range.start.line
        guard range.end.line == number else { return nil }
        let line = source.lineOffsets(number)
        let whole = Excerpt(source: source, end: line.upperBound).trimmed(range.start.offset..<line.upperBound)
        let mended = source.text(line.lowerBound..<whole.lowerBound) + Quoting.quote(source.text(whole))
        let slip = Slip(
            code: .cutByComment, message: "", help: "", range: comment.range, lines: number...number, mended: mended)
        return Mender(source, Limits(bytes: .max, depth: .max, nodes: .max)).isCured(by: slip) ? mended : nil
    }
}
