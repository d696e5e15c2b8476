/// A `{…}` or `[…]` on one line as its author meant it, with the quotes that YAML needs.
struct FlowLine {
    private(set) var edits: [(range: Range<Int>, text: String, code: YAMLError.Code)] = []

    /// The end of the outermost bracket; nil if it is not closed on this line.
    private(set) var end: Int?

    private let excerpt: Excerpt

    /// The place of the error; aliases and anchors elsewhere are left alone.
    private let errorOffset: Int

    /// - Parameter opening: the bracket, if it opens on a line above this one.
    init(_ excerpt: Excerpt, from start: Int, within opening: UInt8? = nil, errorOffset: Int) {
        (self.excerpt, self.errorOffset) = (excerpt, errorOffset)
        end = collection(opening == nil ? start + 1 : start, isMapping: (opening ?? excerpt[start]) == ASCII.openBrace)
    }

    func corrected(_ range: Range<Int>) -> String {
        var text = ""
        var index = range.lowerBound
        for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) where edit.range.lowerBound >= index {
            text += excerpt.text(index..<edit.range.lowerBound) + edit.text
            index = edit.range.upperBound
        }
        return text + excerpt.text(index..<max(index, range.upperBound))
    }

    /// Reads the content of a list or mapping; returns the offset after its bracket.
    private mutating func collection(_ start: Int, isMapping: Bool) -> Int? {
        var index = start
        var last: Range<Int>?
        while true {
            index = excerpt.skipBlanks(index)
            guard let byte = excerpt[index] else { return nil }
            switch byte {
            case ASCII.closeBrace, ASCII.closeBracket: return index + 1
            case ASCII.comma: index += 1
            default:
                if isMapping, let after = entry(index, &last) {
                    index = after
                } else if !isMapping, let after = value(valueOfPair(index) ?? index)?.after {
                    index = after
                } else {
                    return nil
                }
            }
        }
    }

    /// The start of the value of a list element that is a pair, as in `[log: text]`; nil if the element is a plain value.
    private func valueOfPair(_ start: Int) -> Int? {
        var colon = start
        while let byte = excerpt[colon], ASCII.isKey(byte) { colon += 1 }
        guard colon > start, excerpt.isIndicator(ASCII.colon, at: colon) else { return nil }
        let begin = excerpt.skipBlanks(colon + 1)
        return excerpt[begin] == nil || isEnd(begin) ? nil : begin
    }

    /// Reads `key: value`. Text without a colon belongs to the value before it: its comma was meant as text.
    private mutating func entry(_ start: Int, _ last: inout Range<Int>?) -> Int? {
        var colon = start
        if excerpt.opensQuote(start) { colon = excerpt.skipQuoted(start).map(excerpt.skipBlanks) ?? start }
        while let byte = excerpt[colon], !isColon(colon), byte != ASCII.comma, byte != ASCII.closeBrace {
            colon = offsetAfterUnit(colon)
        }
        if isColon(colon) {
            let begin = excerpt.skipBlanks(colon + 1)
            guard let byte = excerpt[begin], byte != ASCII.comma, byte != ASCII.closeBrace else { return begin }
            guard let found = value(begin) else { return nil }
            last = found.range
            return found.after
        }
        let text = excerpt.trimmed(start..<colon)
        if let before = last {
            let joined = before.lowerBound..<text.upperBound
            edits.removeAll { joined.contains($0.range.lowerBound) }
            add(joined, .commaInFlow)
            last = joined
        } else if let glued = text.first(where: { excerpt[$0] == ASCII.colon }) {
            edits.append((glued..<glued + 1, ": ", .missingColon))
        }
        return colon
    }

    /// Reads one value; returns its own range and the offset after it.
    private mutating func value(_ start: Int) -> (range: Range<Int>, after: Int)? {
        var index = start
        var code: YAMLError.Code?
        switch excerpt[start] {
        case ASCII.openBrace, ASCII.openBracket:
            let before = edits.count
            guard let after = collection(start + 1, isMapping: excerpt[start] == ASCII.openBrace) else { return nil }
            index = excerpt.skipBlanks(after)
            if isEnd(index) { return (start..<after, index) }
            edits.removeSubrange(before...)
            code = .textAfterBracket
        case ASCII.quote, ASCII.doubleQuote:
            guard let after = excerpt.skipQuoted(start) else { return nil }
            index = excerpt.skipBlanks(after)
            if isEnd(index) { return (start..<after, index) }
            // `["a": 1]` and `{? "a": 1}` are pairs.
            if excerpt[index] == ASCII.colon { return (start..<index, index + 1) }
            code = .textAfterQuote
        default: break
        }
        while !isEnd(index) { index = offsetAfterUnit(index) }
        let range = excerpt.trimmed(start..<index)
        if let code = code ?? codeOfPlain(range) { add(range, code) }
        return (range, index)
    }

    private func isEnd(_ index: Int) -> Bool {
        switch excerpt[index] {
        case nil, ASCII.comma, ASCII.closeBrace, ASCII.closeBracket: true
        default: false
        }
    }

    /// The offset after a character, or after a whole bracket or quoted text.
    private func offsetAfterUnit(_ index: Int) -> Int {
        switch excerpt[index] {
        case ASCII.openBrace, ASCII.openBracket, ASCII.openParenthesis: excerpt.skipBrackets(index) ?? excerpt.end
        case ASCII.quote, ASCII.doubleQuote: excerpt.opensQuote(index) ? excerpt.skipQuoted(index) ?? index + 1 : index + 1
        default: index + 1
        }
    }

    private func isColon(_ index: Int) -> Bool {
        guard excerpt[index] == ASCII.colon else { return false }
        return excerpt[index + 1].isBlankOrEnd || isEnd(index + 1)
    }

    /// Why a value between brackets needs quotes.
    private func codeOfPlain(_ range: Range<Int>) -> YAMLError.Code? {
        var previous: UInt8 = 0
        var code: YAMLError.Code?
        for index in range {
            let byte = excerpt.source.bytes[index]
            if byte == ASCII.openBrace, previous == ASCII.dollar { return .templateInFlow }
            switch byte {
            case ASCII.openBrace, ASCII.closeBrace, ASCII.openBracket, ASCII.closeBracket: code = code ?? .textAfterBracket
            case ASCII.comma: code = code ?? .commaInFlow
            case ASCII.hash where previous == 0 || ASCII.isBlank(previous): code = code ?? .cutByComment
            case _ where excerpt.isIndicator(ASCII.colon, at: index): code = code ?? .colonInValue
            default: break
            }
            previous = byte
        }
        guard let first = range.first.map({ excerpt.source.bytes[$0] }) else { return code }
        let isLeading = "!@`%|>".utf8.contains(first) || "*&".utf8.contains(first) && range.contains(errorOffset)
        return code ?? (isLeading ? .leadingCharacter : nil)
    }

    private mutating func add(_ range: Range<Int>, _ code: YAMLError.Code) {
        edits.append((range, Quoting.quote(excerpt.text(range)), code))
    }
}
