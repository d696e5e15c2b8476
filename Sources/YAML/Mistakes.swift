/// A common mistake that may explain an error, and the corrected lines.
struct Mistake {
    let code: YAMLError.Code
    let message: String
    let help: String
    let range: SourceRange

    /// The lines that `corrected` replaces.
    let lines: ClosedRange<Int>
    let corrected: String

    /// The error, described as this mistake.
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
        var mistakes = tabs(line) + comment(line) + version(line) + listWithoutKey(line) + missingColon(line) + value(of: line)
        // An error noticed on one line may have begun on another.
        if let context = error.context, context.line != line.number {
            mistakes += value(of: LineParts(source, context.line))
        }
        return mistakes + continuation(line)
    }

    /// A list below a key that already has a value: the list's own key is missing.
    private func listWithoutKey(_ line: LineParts) -> [Mistake] {
        guard let list = keys.lists.first, line.excerpt[line.indentEnd] == ASCII.dash,
            line.excerpt[line.indentEnd + 1].isBlankOrEnd, let head = lineWithText(above: line.number),
            head.indent <= line.indent, let key = head.key,
            key.lowerBound == head.indentEnd, let first = head.first, !"|>{[\"'".utf8.contains(first)
        else { return [] }
        let name = head.excerpt.text(key)
        let blanks = head.excerpt.text(head.line.lowerBound..<head.indentEnd)
        return [
            Mistake(
                code: .indentation, message: "a list begins here, and `\(name)` above already has a value",
                help: "write the list's own key above it, such as `\(list):`; a text of several lines begins with `>-`",
                range: source.range(line.indentEnd..<line.indentEnd + 1), lines: line.number...line.number,
                corrected: blanks + list + ":\n" + line.excerpt.text(line.line))
        ]
    }

    /// A value over several lines with content that YAML does not take as text, or a key that is indented too far.
    private func continuation(_ line: LineParts) -> [Mistake] {
        var above = line.number - 1
        let farthest = max(0, line.number - Self.reach)
        while above > farthest, case let next = LineParts(source, above), next.isBlank || next.indent >= line.indent {
            above -= 1
        }
        guard above > farthest, !line.isBlank else { return [] }
        let head = LineParts(source, above)
        guard head.key != nil, let first = head.first, !"|>{[\"'".utf8.contains(first) else { return [] }
        if let key = line.key, key.lowerBound == line.indentEnd, line.excerpt[key.upperBound] == ASCII.colon,
            source.bytes[key].allSatisfy({ ASCII.isWord($0) || $0 == ASCII.dash }), line.number == above + 1
        {
            let blanks = head.excerpt.text(head.line.lowerBound..<head.indentEnd)
            return [
                Mistake(
                    code: .indentation, message: "this key is indented further than the one above, which already has a value",
                    help: "indent both keys alike", range: source.range(key), lines: line.number...line.number,
                    corrected: blanks + line.excerpt.text(line.indentEnd..<line.line.upperBound))
            ]
        }
        return [folded(head, line)]
    }

    /// The correction that writes the value as a block, in which every character is text.
    private func folded(_ head: LineParts, _ line: LineParts) -> Mistake {
        var last = line.number
        while last < min(source.lineCount, line.number + Self.reach), case let next = LineParts(source, last + 1),
            !next.isBlank, next.indent > head.indent
        {
            last += 1
        }
        let indent = line.excerpt.text(line.line.lowerBound..<line.indentEnd)
        let text = head.excerpt.text(head.value.lowerBound..<head.line.upperBound)
        let rest = ((head.number + 1)...last).map { "\n" + source.line($0) }.joined()
        let isCut = head.value.upperBound < head.line.upperBound && text.contains(" #")
        return Mistake(
            code: isCut ? .cutByComment : .colonInValue,
            message: isCut
                ? "YAML reads ` #` in the line above as the start of a comment, which ends the value there" : error.message,
            help: "begin a value of several lines with `>-`", range: error.range, lines: head.number...last,
            corrected: head.head + ">-\n" + indent + text + rest)
    }
}
