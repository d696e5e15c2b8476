extension ScalarPlaces {
    /// Reads a plain or quoted scalar without its quotes.
    mutating func addFlow(_ source: SourceText, _ range: Range<Int>, _ style: Scalar.Style) {
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = source.bytes[index]
            if ASCII.isSpace(byte) {
                index = addSpace(source, index, range.upperBound, isEscaped: false)
            } else if style == .singleQuoted, byte == ASCII.quote {
                write([ASCII.quote], for: index..<index + 2)
                index += 2
            } else if style == .doubleQuoted, byte == ASCII.backslash {
                index = addEscape(source, index, range.upperBound)
            } else {
                let start = index
                while index < range.upperBound, isOrdinary(source.bytes[index], style) { index += 1 }
                copy(source, start..<index)
            }
        }
    }

    private func isOrdinary(_ byte: UInt8, _ style: Scalar.Style) -> Bool {
        if ASCII.isSpace(byte) { return false }
        return switch style {
        case .singleQuoted: byte != ASCII.quote
        case .doubleQuoted: byte != ASCII.backslash
        case .plain, .literal, .folded: true
        }
    }

    /// Blanks within a line stay; a line break becomes a space, further ones become line breaks, and blanks around them are
    /// removed. An escaped line break adds no space.
    private mutating func addSpace(_ source: SourceText, _ start: Int, _ limit: Int, isEscaped: Bool) -> Int {
        var index = start
        while index < limit, ASCII.isBlank(source.bytes[index]) { index += 1 }
        guard isEscaped || (index < limit && ASCII.isBreak(source.bytes[index])) else {
            copy(source, start..<index)
            return index
        }
        var breaks: [Range<Int>] = []
        while index < limit {
            let length = source.breakLength(index)
            if length > 0 { breaks.append(index..<index + length) }
            guard length > 0 || ASCII.isBlank(source.bytes[index]) else { break }
            index += max(1, length)
        }
        if !isEscaped, breaks.count == 1 { write([ASCII.space], for: breaks[0]) }
        for line in breaks.dropFirst(isEscaped ? 0 : 1) { write([ASCII.newline], for: line) }
        return index
    }

    private mutating func addEscape(_ source: SourceText, _ start: Int, _ limit: Int) -> Int {
        guard start + 1 < limit else { return limit }
        let byte = source.bytes[start + 1]
        if ASCII.isBreak(byte) {
            return addSpace(source, start + 1 + source.breakLength(start + 1), limit, isEscaped: true)
        }
        let digits =
            switch byte {
            case UInt8(ascii: "x"): 2
            case UInt8(ascii: "u"): 4
            case UInt8(ascii: "U"): 8
            default: 0
            }
        let end = min(start + 2 + digits, limit)
        let code = digits == 0 ? Self.escaped(byte) : UInt32(source.text(start + 2..<end), radix: 16)
        let scalar = code.flatMap(Unicode.Scalar.init) ?? "\u{FFFD}"
        write(Array(Character(scalar).utf8), for: start..<end)
        return end
    }

    /// The meaning of a letter after a backslash (YAML 1.2.2, 5.7).
    private static func escaped(_ byte: UInt8) -> UInt32 {
        switch byte {
        case UInt8(ascii: "0"): 0
        case UInt8(ascii: "a"): 7
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "t"): 9
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "v"): 0x0B
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "e"): 0x1B
        case UInt8(ascii: "N"): 0x85
        case UInt8(ascii: "_"): 0xA0
        case UInt8(ascii: "L"): 0x2028
        case UInt8(ascii: "P"): 0x2029
        default: UInt32(byte)
        }
    }
}
