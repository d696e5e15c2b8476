/// Why a text is not JSON, and at which byte.
struct JSONError: Error, Sendable, Hashable {
    var message: String
    var offset: Int
}

/// Parses one JSON value (RFC 8259) from bytes; nesting deeper than 100 is refused.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    static func read(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.error("text after the value") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func error(_ message: String) -> JSONError { JSONError(message: message, offset: position) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        guard depth < 100 else { throw error("nested too deeply") }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("the text ends early")
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let expected = Array("\(word)".utf8)
        guard bytes[position...].starts(with: expected) else { throw error("unknown word") }
        position += expected.count
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var members: [JSON.Member] = []
        skipSpace()
        if take("}") { return .object([]) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("a member's name is expected") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw error("a colon is expected") }
            members.append(JSON.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw error("a comma or a closing brace is expected") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var elements: [JSON] = []
        skipSpace()
        if take("]") { return .array([]) }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw error("a comma or a closing bracket is expected") }
        return .array(elements)
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = position
        while let byte = next, "+-.eE0123456789".utf8.contains(byte) { position += 1 }
        let digits = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let value = Double(digits), value.isFinite, digits.first != "+" else {
            position = start
            throw error("a value is expected")
        }
        return .number(digits)
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        var out: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: out, as: UTF8.self) else { throw error("a string is not UTF-8") }
                return text
            case UInt8(ascii: "\\"): try escape(into: &out)
            case ..<0x20: throw error("a control character in a string")
            default: out.append(byte)
            }
        }
        throw error("a string has no end")
    }

    private mutating func escape(into out: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw error("a string has no end") }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0C)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(byte)
        case UInt8(ascii: "u"):
            var code = try fourHexDigits()
            if (0xD800..<0xDC00).contains(code), take("\\"), take("u") {
                let low = try fourHexDigits()
                guard (0xDC00..<0xE000).contains(low) else { throw error("half a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw error("half a surrogate pair") }
            out.append(contentsOf: String(Character(scalar)).utf8)
        default: throw error("an unknown escape")
        }
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        guard position + 4 <= bytes.count,
            let code = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits are expected") }
        position += 4
        return code
    }
}
