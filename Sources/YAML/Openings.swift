/// Whether a text leaves a `${{`, a bracket or a quote open.
struct Openings {
    let isOpen: Bool

    init(_ text: String) {
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
        isOpen = !open.isEmpty || quote != nil
    }
}
