/// Splits the bytes of an expression into tokens, one at a time.
struct Lexer {
    let bytes: [UInt8]
    private(set) var at: Int

    init(_ bytes: [UInt8], from start: Int = 0) {
        self.bytes = bytes
        at = start
    }

    mutating func next() throws(Issue) -> Token {
        skipBlanks()
        let start = at
        guard let byte = peek() else { return Token(kind: .end, range: start..<start) }
        if byte.isLetter {
            if let prefix = literalPrefix() { return try text(from: start, raw: prefix.raw, isBytes: prefix.isBytes) }
            while let next = peek(), next.isLetter || next.isDigit { at += 1 }
            return Token(kind: .identifier(string(start..<at)), range: start..<at)
        }
        if byte.isDigit || (byte == UInt8(ascii: ".") && peek(1)?.isDigit == true) { return try number() }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return try text(from: start, raw: false, isBytes: false)
        case UInt8(ascii: "`"): return try quotedName()
        default: return try symbol()
        }
    }

    func peek(_ ahead: Int = 0) -> UInt8? { at + ahead < bytes.count ? bytes[at + ahead] : nil }

    mutating func advance(_ count: Int = 1) { at += count }

    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The range of the code point at an offset, for error messages.
    func character(at offset: Int) -> Range<Int> {
        var end = min(offset + 1, bytes.count)
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        return offset..<end
    }

    private mutating func skipBlanks() {
        while let byte = peek() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D: at += 1
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
                while let next = peek(), next != 0x0A { at += 1 }
            default: return
            }
        }
    }

    /// Consumes `r`, `b`, `rb` or `br` before a quote.
    private mutating func literalPrefix() -> (raw: Bool, isBytes: Bool)? {
        var raw = false
        var isBytes = false
        for length in 1...2 {
            switch peek(length - 1).map({ $0 | 0x20 }) {
            case UInt8(ascii: "r") where !raw: raw = true
            case UInt8(ascii: "b") where !isBytes: isBytes = true
            default: return nil
            }
            if let quote = peek(length), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                at += length
                return (raw, isBytes)
            }
        }
        return nil
    }

    private mutating func quotedName() throws(Issue) -> Token {
        let start = at
        at += 1
        while let byte = peek(), byte != UInt8(ascii: "`") {
            guard byte.isLetter || byte.isDigit || ".-/ ".utf8.contains(byte) else { throw .badFieldName(at: character(at: at)) }
            at += 1
        }
        guard peek() != nil, at > start + 1 else { throw .badFieldName(at: start..<at) }
        at += 1
        return Token(kind: .quoted(string(start + 1..<at - 1)), range: start..<at)
    }

    private mutating func symbol() throws(Issue) -> Token {
        let start = at
        if let next = peek(1), "=&|".utf8.contains(next), let two = Token.Symbol.byBytes[UInt16(bytes[at]) << 8 | UInt16(next)] {
            at += 2
            return Token(kind: .symbol(two), range: start..<at)
        }
        guard let one = Token.Symbol.byBytes[UInt16(bytes[at])] else {
            let place = character(at: start)
            throw .strangeCharacter(string(place), at: place)
        }
        at += 1
        return Token(kind: .symbol(one), range: start..<at)
    }
}

extension UInt8 {
    var isDigit: Bool { (0x30...0x39).contains(self) }
    /// An ASCII letter or the underscore.
    var isLetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) || self == 0x5F }
    var hexadecimalDigit: UInt32? {
        switch self {
        case 0x30...0x39: UInt32(self) - 0x30
        case 0x41...0x46: UInt32(self) - 0x37
        case 0x61...0x66: UInt32(self) - 0x57
        default: nil
        }
    }
}

/// A token of an expression and its place, in UTF-8 offsets.
struct Token: Sendable {
    enum Kind: Sendable, Hashable {
        case int(UInt64)
        case uint(UInt64)
        case double(Double)
        case string(String)
        case bytes([UInt8])
        case identifier(String)
        /// A field name in backticks.
        case quoted(String)
        case symbol(Symbol)
        case end
    }

    enum Symbol: String, Sendable, CaseIterable {
        case plus = "+", minus = "-", star = "*", slash = "/", percent = "%"
        case equal = "==", unequal = "!=", less = "<", lessOrEqual = "<=", more = ">", moreOrEqual = ">="
        case and = "&&", or = "||", not = "!", question = "?", colon = ":", comma = ",", dot = "."
        case openParenthesis = "(", closeParenthesis = ")", openBracket = "[", closeBracket = "]"
        case openBrace = "{", closeBrace = "}"

        static let byBytes = Dictionary(
            uniqueKeysWithValues: allCases.map { symbol in (symbol.rawValue.utf8.reduce(0) { $0 << 8 | UInt16($1) }, symbol) })
    }

    let kind: Kind
    let range: Range<Int>
}
