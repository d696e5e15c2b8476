extension Mistakes {
    /// A value that YAML does not take as the intended text.
    func value(of line: LineParts) -> [Mistake] {
        guard let first = line.first else { return [] }
        if let flow = aroundLine(line) { return corrected(line, by: flow) }
        switch first {
        case ASCII.openBrace, ASCII.openBracket: return bracket(line)
        case ASCII.quote, ASCII.doubleQuote: return quote(line)
        case ASCII.exclamation where line.valueText.hasPrefix("!!"): return []
        // An error of this kind later in the value has nothing to do with the value's start.
        case _ where error.code.isUnknownName && error.range.start.offset != line.value.lowerBound: return []
        case _ where error.code == .unknownAlias && line.valueText.utf8.count == error.range.columnsOnOneLine:
            return [mistake(line, error.code, error.message, error.help ?? "", at: nil, Quoting.quote(line.valueText))]
        case _ where "!&*@`%|>,]}".utf8.contains(first):
            return [
                quoted(line, .leadingCharacter, Self.meaning(of: first), at: line.value.lowerBound..<line.value.lowerBound + 1)
            ]
        case ASCII.dash, ASCII.question:
            let isIndicator = line.excerpt[line.value.lowerBound + 1].isBlankOrEnd
            let message = isIndicator ? Self.meaning(of: first) : error.message
            return [quoted(line, isIndicator ? .leadingCharacter : .colonInValue, message, at: nil)]
        default: return plain(line)
        }
    }

    private func plain(_ line: LineParts) -> [Mistake] {
        guard let colon = line.value.first(where: { line.excerpt[$0] == ASCII.colon && line.excerpt[$0 + 1].isBlankOrEnd }) else {
            return []
        }
        let message = "YAML reads a colon followed by a space as the end of a key"
        return nested(line, colon) + [quoted(line, .colonInValue, message, at: colon..<colon + 1)]
    }

    /// `do: comment: hi`: a key that belongs under another key but is written on its line.
    private func nested(_ line: LineParts, _ colon: Int) -> [Mistake] {
        let inner = line.value.lowerBound..<colon
        guard let key = line.key, source.bytes[inner].allSatisfy({ ASCII.isWord($0) || $0 == ASCII.dash }) else { return [] }
        let (outer, name) = (line.excerpt.text(key), line.excerpt.text(inner))
        if keys.lists.contains(outer) {
            let head = line.excerpt.text(line.line.lowerBound..<line.excerpt.skipBlanks(key.upperBound) + 1)
            let blanks = String(repeating: " ", count: line.contentColumn + 2)
            return [
                Mistake(
                    code: .colonInValue, message: "`\(name)` is on the same line as `\(outer)`, which holds a list",
                    help: "begin each entry with `- `, on a line of its own", range: source.range(inner),
                    lines: line.number...line.number,
                    corrected: head + "\n" + blanks + "- " + line.excerpt.text(line.value.lowerBound..<line.line.upperBound))
            ]
        }
        guard keys.mappings.contains(outer) else { return [] }
        return [
            mistake(
                line, .colonInValue, "`\(name)` is on the same line as `\(outer)`, but not in brackets",
                "put `{` and `}` around it", at: inner, "{" + line.valueText + "}")
        ]
    }

    private func bracket(_ line: LineParts) -> [Mistake] {
        let start = line.value.lowerBound
        let flow = FlowLine(line.excerpt, from: start, errorOffset: error.range.start.offset)
        var mistakes = corrected(line, by: flow)
        if let end = flow.end ?? line.excerpt.skipBrackets(start), end < line.value.upperBound {
            let after = line.excerpt.skipBlanks(end)
            let rest = after..<max(after, line.value.upperBound)
            if source.bytes[rest].allSatisfy({ $0 == ASCII.closeBrace || $0 == ASCII.closeBracket }) {
                let value = line.excerpt.text(start..<end)
                mistakes.append(
                    mistake(line, .unclosedBracket, "this closing bracket has no opening bracket", "delete it", at: rest, value))
                return mistakes
            }
            let bracket = excerptCharacter(line, start)
            let message =
                "YAML reads a value that begins with `\(bracket)` as a \(bracket == "[" ? "list" : "mapping"), and text follows it"
            mistakes.append(quoted(line, .textAfterBracket, message, at: rest))
        }
        return mistakes
    }

    private func corrected(_ line: LineParts, by flow: FlowLine) -> [Mistake] {
        guard let first = flow.edits.min(by: { $0.range.lowerBound < $1.range.lowerBound }) else { return [] }
        let range = first.code == .commaInFlow && error.code == .commaInFlow ? error.range : source.range(first.range)
        return [
            Mistake(
                code: first.code, message: Self.meaning(inFlow: first.code, source.bytes[first.range.lowerBound], error),
                help: first.code == .missingColon ? "put a space after the colon" : "put the value in quotes", range: range,
                lines: line.number...line.number, corrected: flow.corrected(line.line))
        ]
    }

    /// The line as part of a `{` or `[` opened on a line above; nil if none is open.
    private func aroundLine(_ line: LineParts) -> FlowLine? {
        guard let context = error.context, context.line < line.number, let opening = source.byte(context.offset),
            opening == ASCII.openBrace || opening == ASCII.openBracket
        else { return nil }
        return FlowLine(line.excerpt, from: line.indentEnd, within: opening, errorOffset: error.range.start.offset)
    }

    private func quote(_ line: LineParts) -> [Mistake] {
        let text = line.valueText
        guard let end = line.excerpt.skipQuoted(line.value.lowerBound) else {
            let mark = excerptCharacter(line, line.value.lowerBound)
            guard !text.dropFirst().contains(mark) else { return [] }
            return [
                mistake(
                    line, .unclosedQuote, "the quote that opens here is never closed", "close the quote", at: nil, text + mark)
            ]
        }
        let inner = String(text.dropFirst().dropLast())
        guard end < line.value.upperBound else {
            guard error.code == .badEscape, let help = error.help else { return [] }
            return [mistake(line, .badEscape, error.message, help, at: nil, "\"" + Quoting.doublingBackslashes(inner) + "\"")]
        }
        let after = line.excerpt.skipBlanks(end)
        let place = after..<line.value.upperBound
        let mark = excerptCharacter(line, line.value.lowerBound)
        let message = "YAML reads a value that begins with `\(mark)` as a quoted text, and more follows the closing quote"
        // In 'It's broken' and "say "hi" now" the outer quotes are meant for YAML; in "a" == b they are not.
        let isWithin = text.last == text.first && line.excerpt[end].map(ASCII.isWord) ?? false
        let help = isWithin ? "use the other kind of quotes around the text" : "put the whole value in quotes"
        return [mistake(line, .textAfterQuote, message, help, at: place, Quoting.quote(isWithin ? inner : text))]
    }

    private func quoted(_ line: LineParts, _ code: YAMLError.Code, _ message: String, at place: Range<Int>?) -> Mistake {
        mistake(line, code, message, "put the whole value in quotes", at: place, Quoting.quote(line.valueText))
    }

    private func mistake(
        _ line: LineParts, _ code: YAMLError.Code, _ message: String, _ help: String, at place: Range<Int>?, _ value: String
    ) -> Mistake {
        Mistake(
            code: code, message: message, help: help, range: place.map(source.range) ?? error.range,
            lines: line.number...line.number,
            corrected: line.with(value))
    }

    private func excerptCharacter(_ line: LineParts, _ index: Int) -> String { line.excerpt.text(index..<index + 1) }
}

extension Mistakes {
    /// The meaning that YAML gives a character at the start of a value.
    fileprivate static func meaning(of first: UInt8) -> String {
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
    fileprivate static func meaning(inFlow code: YAMLError.Code, _ first: UInt8, _ error: YAMLError) -> String {
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
