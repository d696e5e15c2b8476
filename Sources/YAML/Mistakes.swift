/// A common mistake that may explain an error, and the corrected lines.
struct Mistake {
    let code: YAMLError.Code
    let message: String
    let help: String
    let range: SourceRange

    /// The lines that `corrected` replaces.
    let lines: ClosedRange<Int>
    let corrected: String

    func described(in error: YAMLError) -> YAMLError {
        YAMLError(code, message, at: range, help: help, corrected: corrected, note: error.note)
    }
}

/// The mistakes that may have caused an error, the most likely first.
struct Mistakes {
    let source: SourceText
    let error: YAMLError
    let keys: KnownKeys

    /// The number of lines before the error in which its cause may begin.
    static let reach = 200

    var all: [Mistake] {
        let line = LineParts(source, error.range.start.line)
        let blank = noBreakSpace(line) ?? lineWithText(above: line.number).flatMap(noBreakSpace)
        let whole = [blank, comment(line), version(line), listWithoutKey(line), missingColon(line)].compactMap { $0 }
        var mistakes = tabs(line) + whole + value(of: line)
        // An error noticed on one line may have begun on another.
        if let context = error.context, context.line != line.number {
            mistakes += value(of: LineParts(source, context.line))
        }
        if let continued = continuation(line) { mistakes.append(continued) }
        return mistakes
    }

    /// A mistake in one line, or up to the line `last`. Without a place, it is where the error is.
    func mistake(
        _ line: LineParts, _ code: YAMLError.Code, _ message: String, _ help: String, at place: Range<Int>? = nil,
        upTo last: Int? = nil, corrected: String
    ) -> Mistake {
        Mistake(
            code: code, message: message, help: help, range: place.map(source.range) ?? error.range,
            lines: line.number...(last ?? line.number), corrected: corrected)
    }

    /// A list below a key that already has a value: the list's own key is missing.
    private func listWithoutKey(_ line: LineParts) -> Mistake? {
        guard let list = keys.lists.first, line.excerpt.isIndicator(ASCII.dash, at: line.indentEnd),
            let head = lineWithText(above: line.number), head.indent <= line.indent, let key = head.key,
            key.lowerBound == head.indentEnd, head.beginsPlainText
        else { return nil }
        return mistake(
            line, .indentation, "a list begins here, and `\(head.excerpt.text(key))` above already has a value",
            "write the list's own key above it, such as `\(list):`; a text of several lines begins with `>-`",
            at: line.indentEnd..<line.indentEnd + 1, corrected: head.blanks + list + ":\n" + line.excerpt.text(line.line))
    }

    /// A value over several lines with content that YAML does not take as text, or a key that is indented too far.
    private func continuation(_ line: LineParts) -> Mistake? {
        var above = line.number - 1
        let farthest = max(0, line.number - Self.reach)
        while above > farthest, case let next = LineParts(source, above), next.isBlank || next.indent >= line.indent {
            above -= 1
        }
        guard above > farthest, !line.isBlank else { return nil }
        let head = LineParts(source, above)
        guard head.key != nil, head.beginsPlainText else { return nil }
        guard let key = line.key, key.lowerBound == line.indentEnd, line.excerpt[key.upperBound] == ASCII.colon,
            source.bytes[key].allSatisfy(ASCII.isKey), line.number == above + 1
        else { return folded(head, line) }
        return mistake(
            line, .indentation, "this key is indented further than the one above, which already has a value",
            "indent both keys alike", at: key,
            corrected: head.blanks + line.excerpt.text(line.indentEnd..<line.line.upperBound))
    }

    /// The correction that writes the value as a block, in which every character is text.
    private func folded(_ head: LineParts, _ line: LineParts) -> Mistake {
        var last = line.number
        while last < min(source.lineCount, line.number + Self.reach), case let next = LineParts(source, last + 1),
            !next.isBlank, next.indent > head.indent
        {
            last += 1
        }
        let text = head.excerpt.text(head.value.lowerBound..<head.line.upperBound)
        let rest = ((head.number + 1)...last).map { "\n" + source.line($0) }.joined()
        let isCut = head.value.upperBound < head.line.upperBound && text.contains(" #")
        let cut = "YAML reads ` #` in the line above as the start of a comment, which ends the value there"
        return mistake(
            head, isCut ? .cutByComment : .colonInValue, isCut ? cut : error.message, "begin a value of several lines with `>-`",
            upTo: last, corrected: head.head + ">-\n" + line.blanks + text + rest)
    }
}
