/// Finds where an expression inside other text ends, as the lexer sees it.
public enum ExpressionScanner {
    /// The offset of the `}}` that closes an expression beginning at `start` (after `${{`), or nil if there is none.
    ///
    /// A `}}` inside a string, a comment or a map literal does not count. In a text that the lexer rejects, the next plain `}}`
    /// is used, so that the error is reported for the expression and not for the whole text.
    public static func end(of bytes: [UInt8], from start: Int) -> Int? {
        var lexer = Lexer(bytes, from: start)
        var braces = 0
        while true {
            guard let token = try? lexer.next() else { return plainEnd(of: bytes, from: start) }
            switch token.kind {
            case .symbol(.openBrace): braces += 1
            case .symbol(.closeBrace):
                if braces > 0 {
                    braces -= 1
                } else {
                    guard lexer.peek() == UInt8(ascii: "}") else { return plainEnd(of: bytes, from: start) }
                    return token.range.lowerBound
                }
            case .end: return plainEnd(of: bytes, from: start)
            default: break
            }
        }
    }

    private static func plainEnd(of bytes: [UInt8], from start: Int) -> Int? {
        var at = start
        while at + 1 < bytes.count {
            if bytes[at] == UInt8(ascii: "}"), bytes[at + 1] == UInt8(ascii: "}") { return at }
            at += 1
        }
        return nil
    }
}
