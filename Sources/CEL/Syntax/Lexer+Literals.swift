extension Lexer {
    /// A number: a decimal or `0x` int, a uint with `u`, a double with a point or an exponent.
    mutating func number() throws(Issue) -> Token {
        let start = at
        if peek() == UInt8(ascii: "0"), let x = peek(1), x | 0x20 == UInt8(ascii: "x"), peek(2)?.hexadecimalDigit != nil {
            advance(2)
            while peek()?.hexadecimalDigit != nil { advance() }
            return try whole(UInt64(string(start + 2..<at), radix: 16), from: start)
        }
        while peek()?.isDigit == true { advance() }
        var isDouble = false
        if peek() == UInt8(ascii: "."), peek(1)?.isDigit == true {
            isDouble = true
            advance()
            while peek()?.isDigit == true { advance() }
        }
        if let e = peek(), e | 0x20 == UInt8(ascii: "e") {
            let signed = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-")
            if peek(signed ? 2 : 1)?.isDigit == true {
                isDouble = true
                advance(signed ? 2 : 1)
                while peek()?.isDigit == true { advance() }
            }
        }
        guard isDouble else { return try whole(UInt64(string(start..<at)), from: start) }
        try endOfNumber(from: start)
        guard let value = Double(string(start..<at)), value.isFinite else { throw .numberTooLarge(at: start..<at) }
        return Token(kind: .double(value), range: start..<at)
    }

    private mutating func whole(_ value: UInt64?, from start: Int) throws(Issue) -> Token {
        let isUnsigned = peek().map { $0 | 0x20 } == UInt8(ascii: "u")
        if isUnsigned { advance() }
        try endOfNumber(from: start)
        guard let value else { throw .numberTooLarge(at: start..<at) }
        return Token(kind: isUnsigned ? .uint(value) : .int(value), range: start..<at)
    }

    private mutating func endOfNumber(from start: Int) throws(Issue) {
        guard peek()?.isLetter == true else { return }
        while let next = peek(), next.isLetter || next.isDigit { advance() }
        throw Issue("bad-number", "`\(string(start..<at))` is not a number", at: start..<at)
    }

    /// A string or bytes literal whose quotes begin at the current offset; `start` is the offset of its prefix.
    mutating func text(from start: Int, raw: Bool, isBytes: Bool) throws(Issue) -> Token {
        let quote = bytes[at]
        let isTriple = peek(1) == quote && peek(2) == quote
        advance(isTriple ? 3 : 1)
        var result: [UInt8] = []
        while true {
            guard let byte = peek() else { throw .unterminatedText(isTriple: isTriple, at: start..<at) }
            if byte == quote, !isTriple || (peek(1) == quote && peek(2) == quote) {
                advance(isTriple ? 3 : 1)
                break
            }
            if !isTriple, byte == 0x0A || byte == 0x0D { throw .unterminatedText(isTriple: false, at: start..<at) }
            if byte == UInt8(ascii: "\\"), !raw {
                try escape(into: &result, isBytes: isBytes)
            } else {
                result.append(byte)
                advance()
            }
        }
        if isBytes { return Token(kind: .bytes(result), range: start..<at) }
        return Token(kind: .string(String(decoding: result, as: UTF8.self)), range: start..<at)
    }

    private mutating func escape(into result: inout [UInt8], isBytes: Bool) throws(Issue) {
        let start = at
        advance()
        guard let letter = peek() else { throw .badEscape(at: start..<at) }
        advance()
        switch letter {
        case UInt8(ascii: "a"): result.append(0x07)
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "v"): result.append(0x0B)
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "?"):
            result.append(letter)
        case UInt8(ascii: "x"), UInt8(ascii: "X"): try code(digits: 2, radix: 16, from: start, into: &result, asByte: isBytes)
        case UInt8(ascii: "u") where !isBytes: try code(digits: 4, radix: 16, from: start, into: &result, asByte: false)
        case UInt8(ascii: "U") where !isBytes: try code(digits: 8, radix: 16, from: start, into: &result, asByte: false)
        case UInt8(ascii: "0")...UInt8(ascii: "3"):
            advance(-1)
            try code(digits: 3, radix: 8, from: start, into: &result, asByte: isBytes)
        default: throw .badEscape(at: start..<max(at, character(at: at - 1).upperBound))
        }
    }

    private mutating func code(digits: Int, radix: UInt32, from start: Int, into result: inout [UInt8], asByte: Bool)
        throws(Issue)
    {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = peek()?.hexadecimalDigit, digit < radix else { throw .badEscape(at: start..<at) }
            value = value << (radix == 8 ? 3 : 4) | digit
            advance()
        }
        if asByte {
            result.append(UInt8(truncatingIfNeeded: value))
        } else {
            guard let scalar = UnicodeScalar(value) else { throw .badEscape(at: start..<at) }
            result.append(contentsOf: UTF8.encode(scalar) ?? .init())
        }
    }
}
