/// The tokens of JSON, found in bytes: whitespace, strings, numbers and literals (RFC 8259, sections 2, 6, 7).
///
/// Long text is examined eight bytes at a time: byte by byte, `poll` takes 15 % more instructions and `table.sync` 7 %. Loads
/// of eight bytes are bounds-checked; `unsafeLoadUnaligned` is only unsafe for types with invalid bit patterns.
enum JSONLexer {
    /// A scanned token.
    struct Word {
        /// The position after the token; for a string, of its closing quote.
        var end: Int
        /// For a string: it has escapes. For a number: it is whole.
        var flag: Bool
    }

    /// Where a text begins: after a byte order mark, which a parser may ignore (RFC 8259, section 8.1).
    static func start(_ bytes: Span<UInt8>) -> Int {
        bytes.count >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf ? 3 : 0
    }

    /// The first position from `start` on that is not whitespace.
    @inline(__always)
    static func skipBlanks(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count {
            let byte = bytes[at]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { break }
            at &+= 1
        }
        return at
    }

    /// Reads a string whose first byte after the opening quote is at `start`; checks all of it, including UTF-8 and escapes.
    @inline(__always)
    static func string(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> Word {
        let end = plain(bytes, from: start)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") { return Word(end: end, flag: false) }
        return try difficultString(bytes, from: end)
    }

    /// The first position from `start` on with a quote, a backslash, a control character or a byte beyond ASCII.
    @inline(__always)
    private static func plain(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let raw = bytes.bytes
        var at = start
        while at <= bytes.count &- 8 {
            let word = UInt64(littleEndian: raw.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            // Sets a byte's top bit for a quote, a backslash, below 0x20 or not ASCII; the lowest such bit is exact.
            let quote = (word ^ ones &* 0x22) &- ones
            let backslash = (word ^ ones &* 0x5c) &- ones
            let control = word &- ones &* 0x20
            let stops = (quote | backslash | control | word) & (ones &* 0x80)
            if stops != 0 { return at &+ stops.trailingZeroBitCount / 8 }
            at &+= 8
        }
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x80 { break }
            at &+= 1
        }
        return at
    }

    /// Continues at a position in a string that is not plain.
    @inline(never)
    private static func difficultString(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> Word {
        var at = start
        var hasEscapes = false
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""): return Word(end: at, flag: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                at = try escape(bytes, at: at)
            case let byte where byte < 0x20: throw JSONError(.controlCharacter(byte), at: at)
            case 0x80...: at = try character(bytes, at: at)
            default: at = plain(bytes, from: at + 1)
            }
        }
        throw JSONError(.ended, at: bytes.count)
    }

    /// The position after the escape whose backslash is at `at`.
    private static func escape(_ bytes: Span<UInt8>, at: Int) throws(JSONError) -> Int {
        guard at + 1 < bytes.count else { throw JSONError(.ended, at: bytes.count) }
        switch bytes[at + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            return at + 2
        case UInt8(ascii: "u"):
            for digit in at + 2..<at + 6 {
                guard digit < bytes.count else { throw JSONError(.ended, at: bytes.count) }
                guard Hexadecimal.value(of: bytes[digit]) != nil else { throw JSONError(.escape, at: at) }
            }
            return at + 6
        default: throw JSONError(.escape, at: at)
        }
    }

    /// The position after the character of two to four bytes at `at` (Unicode, table 3-7: well-formed UTF-8).
    private static func character(_ bytes: Span<UInt8>, at: Int) throws(JSONError) -> Int {
        let second: ClosedRange<UInt8>
        let length: Int
        switch bytes[at] {
        case 0xc2...0xdf: (second, length) = (0x80...0xbf, 2)
        case 0xe0: (second, length) = (0xa0...0xbf, 3)
        case 0xed: (second, length) = (0x80...0x9f, 3)
        case 0xe1...0xef: (second, length) = (0x80...0xbf, 3)
        case 0xf0: (second, length) = (0x90...0xbf, 4)
        case 0xf1...0xf3: (second, length) = (0x80...0xbf, 4)
        case 0xf4: (second, length) = (0x80...0x8f, 4)
        default: throw JSONError(.notUTF8, at: at)
        }
        for place in 1..<length {
            guard at + place < bytes.count else { throw JSONError(.ended, at: bytes.count) }
            let allowed = place == 1 ? second : 0x80...0xbf
            guard allowed.contains(bytes[at + place]) else { throw JSONError(.notUTF8, at: at) }
        }
        return at + length
    }

    /// Reads a number that starts at `start`. It is whole if it has neither fraction nor exponent.
    static func number(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> Word {
        var at = start
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        let digits = try self.digits(bytes, from: at)
        if bytes[at] == UInt8(ascii: "0"), digits > at + 1 { throw JSONError(.number, at: start) }
        at = digits
        var isWhole = true
        if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
            isWhole = false
            at = try self.digits(bytes, from: at + 1)
        }
        if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            at += 1
            if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
            at = try self.digits(bytes, from: at)
        }
        return Word(end: at, flag: isWhole)
    }

    /// The position after one or more digits.
    private static func digits(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var at = start
        while at < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[at]) { at += 1 }
        guard at > start else { throw at < bytes.count ? JSONError(.number, at: at) : JSONError(.ended, at: at) }
        return at
    }

    /// Reads `true`, `false` or `null`, whose first letter is at `start`; returns the position after it.
    static func literal(_ bytes: Span<UInt8>, from start: Int, _ word: StaticString) throws(JSONError) -> Int {
        let length = word.utf8CodeUnitCount
        for place in 1..<length {
            guard start + place < bytes.count else { throw JSONError(.ended, at: bytes.count) }
            let expected = word.withUTF8Buffer { $0[place] }
            guard bytes[start + place] == expected else { throw JSONError(.unexpected(bytes[start + place]), at: start + place) }
        }
        return start + length
    }
}
