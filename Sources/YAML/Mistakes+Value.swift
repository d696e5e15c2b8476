extension Mistakes {
    /// A value that YAML does not take as the intended text.
    func value(of line: LineParts) -> [Mistake] {
        guard let first = line.first else { return [] }
        if let flow = aroundLine(line) { return [corrected(line, by: flow)].compactMap { $0 } }
        switch first {
        case ASCII.openBrace, ASCII.openBracket: return bracket(line)
        case ASCII.quote, ASCII.doubleQuote: return [quote(line)].compactMap { $0 }
        case ASCII.exclamation where line.valueText.hasPrefix("!!"): return []
        // An error of this kind later in the value has nothing to do with the value's start.
        case _ where error.code.isUnknownName && error.range.start.offset != line.value.lowerBound: return []
        case _ where error.code == .unknownAlias && line.valueText.utf8.count == error.range.columnsOnOneLine:
            return [quoted(line, error.code, error.message, error.help ?? "")]
        case _ where "!&*@`%|>,]}".utf8.contains(first):
            let place = line.value.lowerBound..<line.value.lowerBound + 1
            return [quoted(line, .leadingCharacter, Self.meaning(of: first), at: place)]
        case ASCII.dash, ASCII.question:
            return line.excerpt.isIndicator(first, at: line.value.lowerBound)
                ? [quoted(line, .leadingCharacter, Self.meaning(of: first))] : [quoted(line, .colonInValue, error.message)]
        default: return plain(line)
        }
    }

    private func plain(_ line: LineParts) -> [Mistake] {
        guard let colon = line.value.first(where: { line.excerpt.isIndicator(ASCII.colon, at: $0) }) else { return [] }
        let message = "YAML reads a colon followed by a space as the end of a key"
        let text = quoted(line, .colonInValue, message, at: colon..<colon + 1)
        return [nested(line, colon), text].compactMap { $0 }
    }

    /// `do: comment: hi`: a key that belongs under another key but is written on its line.
    private func nested(_ line: LineParts, _ colon: Int) -> Mistake? {
        let inner = line.value.lowerBound..<colon
        guard let key = line.key, source.bytes[inner].allSatisfy(ASCII.isKey) else { return nil }
        let outer = line.excerpt.text(key)
        let message = "`\(line.excerpt.text(inner))` is on the same line as `\(outer)`"
        if keys.lists.contains(outer) {
            let head = line.excerpt.text(line.line.lowerBound..<line.excerpt.skipBlanks(key.upperBound) + 1)
            let blanks = String(repeating: " ", count: line.contentColumn + 2)
            return mistake(
                line, .colonInValue, message + ", which holds a list", "begin each entry with `- `, on a line of its own",
                at: inner,
                corrected: head + "\n" + blanks + "- " + line.excerpt.text(line.value.lowerBound..<line.line.upperBound))
        }
        guard keys.mappings.contains(outer) else { return nil }
        return mistake(
            line, .colonInValue, message + ", but not in brackets", "put `{` and `}` around it", at: inner,
            corrected: line.with("{" + line.valueText + "}"))
    }

    private func bracket(_ line: LineParts) -> [Mistake] {
        let start = line.value.lowerBound
        let flow = FlowLine(line.excerpt, from: start, errorOffset: error.range.start.offset)
        return [corrected(line, by: flow), textAfterBracket(line, flow.end ?? line.excerpt.skipBrackets(start))].compactMap { $0 }
    }

    private func textAfterBracket(_ line: LineParts, _ end: Int?) -> Mistake? {
        guard let end, end < line.value.upperBound else { return nil }
        let after = line.excerpt.skipBlanks(end)
        let rest = after..<max(after, line.value.upperBound)
        if source.bytes[rest].allSatisfy({ $0 == ASCII.closeBrace || $0 == ASCII.closeBracket }) {
            let corrected = line.with(line.excerpt.text(line.value.lowerBound..<end))
            let message = "this closing bracket has no opening bracket"
            return mistake(line, .unclosedBracket, message, "delete it", at: rest, corrected: corrected)
        }
        let kind = line.first == ASCII.openBracket ? "list" : "mapping"
        let message = "YAML reads a value that begins with `\(line.mark)` as a \(kind), and text follows it"
        return quoted(line, .textAfterBracket, message, at: rest)
    }

    private func corrected(_ line: LineParts, by flow: FlowLine) -> Mistake? {
        guard let first = flow.edits.min(by: { $0.range.lowerBound < $1.range.lowerBound }) else { return nil }
        return mistake(
            line, first.code, Self.meaning(inFlow: first.code, source.bytes[first.range.lowerBound], error),
            first.code == .missingColon ? "put a space after the colon" : "put the value in quotes",
            at: first.code == .commaInFlow && error.code == .commaInFlow ? nil : first.range,
            corrected: flow.corrected(line.line))
    }

    /// The line as part of a `{` or `[` opened on a line above; nil if none is open.
    private func aroundLine(_ line: LineParts) -> FlowLine? {
        guard let context = error.context, context.line < line.number, let opening = source.byte(context.offset),
            opening == ASCII.openBrace || opening == ASCII.openBracket
        else { return nil }
        return FlowLine(line.excerpt, from: line.indentEnd, within: opening, errorOffset: error.range.start.offset)
    }

    private func quote(_ line: LineParts) -> Mistake? {
        let text = line.valueText
        guard let end = line.excerpt.skipQuoted(line.value.lowerBound) else {
            guard !text.dropFirst().contains(line.mark) else { return nil }
            let message = "the quote that opens here is never closed"
            return mistake(line, .unclosedQuote, message, "close the quote", corrected: line.with(text + line.mark))
        }
        let inner = String(text.dropFirst().dropLast())
        guard end < line.value.upperBound else {
            guard error.code == .badEscape, let help = error.help else { return nil }
            let corrected = line.with("\"" + Quoting.doublingBackslashes(inner) + "\"")
            return mistake(line, .badEscape, error.message, help, corrected: corrected)
        }
        let place = line.excerpt.skipBlanks(end)..<line.value.upperBound
        let message = "YAML reads a value that begins with `\(line.mark)` as a quoted text, and more follows the closing quote"
        // In 'It's broken' and "say "hi" now" the outer quotes are meant for YAML; in "a" == b they are not.
        let isWithin = text.last == text.first && line.excerpt[end].map(ASCII.isWord) ?? false
        let help = isWithin ? "use the other kind of quotes around the text" : "put the whole value in quotes"
        let corrected = line.with(Quoting.quote(isWithin ? inner : text))
        return mistake(line, .textAfterQuote, message, help, at: place, corrected: corrected)
    }

    private func quoted(
        _ line: LineParts, _ code: YAMLError.Code, _ message: String, _ help: String = "put the whole value in quotes",
        at place: Range<Int>? = nil
    ) -> Mistake {
        mistake(line, code, message, help, at: place, corrected: line.with(Quoting.quote(line.valueText)))
    }

    /// The meaning that YAML gives a character at the start of a value.
    private static func meaning(of first: UInt8) -> String {
        switch first {
        case ASCII.exclamation: "YAML reads `!` at the start of a value as a tag"
        case ASCII.ampersand: "YAML reads `&` at the start of a value as an anchor"
        case UInt8(ascii: "*"): "YAML reads `*` at the start of a value as an alias"
        case ASCII.bar, ASCII.greater:
            "YAML reads `\(Character(Unicode.Scalar(first)))` at the start of a value as a block of text below it"
        case ASCII.dash: "YAML reads `- ` at the start of a value as a list"
        case ASCII.question: "YAML reads `? ` at the start of a value as a key"
        case UInt8(ascii: "`"): "a value cannot begin with a backtick"
        default: "a value cannot begin with `\(Character(Unicode.Scalar(first)))`"
        }
    }

    /// Why a value between brackets needs quotes.
    private static func meaning(inFlow code: YAMLError.Code, _ first: UInt8, _ error: YAMLError) -> String {
        switch code {
        case .templateInFlow: "between `{` and `}` or `[` and `]`, `${{ }}` needs quotes around the whole value"
        case .commaInFlow: "between `{` and `}` a comma ends the value"
        case .cutByComment where first == ASCII.hash: "YAML reads `#` at the start of a value as the start of a comment"
        case .cutByComment: "YAML reads ` #` as the start of a comment, which cuts this value short"
        case .colonInValue: "YAML reads a colon followed by a space as the end of a key"
        case .textAfterBracket: "a value with brackets in it needs quotes here"
        case .textAfterQuote: "YAML reads a value that begins with a quote as a quoted text, and more follows the closing quote"
        case .leadingCharacter: meaning(of: first)
        case .missingColon: "a colon needs a space after it to end a key"
        default: error.message
        }
    }
}

extension YAMLError.Code {
    /// Whether the error is an unknown alias or tag, rather than a syntax error.
    fileprivate var isUnknownName: Bool { self == .unknownAlias || self == .unknownTag }
}
