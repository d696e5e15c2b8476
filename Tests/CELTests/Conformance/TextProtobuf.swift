/// A message in the text format of protocol buffers, as used by the conformance suite: fields by name, without a schema.
///
/// A class, because a message contains messages.
final class TextMessage {
    enum Field {
        /// A number, an enumerator or a bool, as written.
        case word(String)
        /// A string or bytes, unescaped.
        case text([UInt8])
        case message(TextMessage)
    }

    var fields: [(name: String, value: Field)] = []

    subscript(name: String) -> Field? { fields.first { $0.name == name }?.value }
    func all(_ name: String) -> [Field] { fields.filter { $0.name == name }.map(\.value) }
    func message(_ name: String) -> TextMessage? { self[name]?.message }
    func messages(_ name: String) -> [TextMessage] { all(name).compactMap(\.message) }
    func string(_ name: String) -> String? { self[name]?.string }
    func bool(_ name: String) -> Bool { self[name]?.string == "true" }

    struct Malformed: Error { let offset: Int }

    static func parse(_ bytes: [UInt8]) throws -> TextMessage {
        var reader = Reader(bytes: bytes)
        return try reader.message(until: nil)
    }
}

extension TextMessage.Field {
    var message: TextMessage? {
        if case .message(let message) = self { return message }
        return nil
    }

    var string: String? {
        switch self {
        case .word(let word): word
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .message: nil
        }
    }
}

private struct Reader {
    let bytes: [UInt8]
    var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func message(until end: UInt8?) throws -> TextMessage {
        let message = TextMessage()
        while true {
            skip()
            guard at < bytes.count else {
                if end == nil { return message }
                throw TextMessage.Malformed(offset: at)
            }
            if bytes[at] == end {
                at += 1
                return message
            }
            let name = try self.name()
            skip()
            if take(":") { skip() }
            if take("[") {
                // A list of values of one field.
                skip()
                while !take("]") {
                    message.fields.append((name, try value()))
                    skip()
                    _ = take(",")
                    skip()
                }
            } else {
                message.fields.append((name, try value()))
            }
            skip()
            if !take(",") { _ = take(";") }
        }
    }

    private mutating func value() throws -> TextMessage.Field {
        guard at < bytes.count else { throw TextMessage.Malformed(offset: at) }
        if take("{") { return .message(try message(until: UInt8(ascii: "}"))) }
        if take("<") { return .message(try message(until: UInt8(ascii: ">"))) }
        if bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") {
            var text: [UInt8] = []
            while at < bytes.count, bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") {
                text += try string()
                skip()
            }
            return .text(text)
        }
        let start = at
        while at < bytes.count, !" \t\r\n,;]}>#".utf8.contains(bytes[at]) { at += 1 }
        guard at > start else { throw TextMessage.Malformed(offset: at) }
        return .word(String(decoding: bytes[start..<at], as: UTF8.self))
    }

    private mutating func name() throws -> String {
        let start = at
        if take("[") {
            while at < bytes.count, bytes[at] != UInt8(ascii: "]") { at += 1 }
            at += 1
        } else {
            while at < bytes.count, isNamePart(bytes[at]) { at += 1 }
        }
        guard at > start, at <= bytes.count else { throw TextMessage.Malformed(offset: at) }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private func isNamePart(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
    }

    private mutating func string() throws -> [UInt8] {
        let quote = bytes[at]
        at += 1
        var text: [UInt8] = []
        while at < bytes.count, bytes[at] != quote {
            guard bytes[at] == UInt8(ascii: "\\"), at + 1 < bytes.count else {
                text.append(bytes[at])
                at += 1
                continue
            }
            at += 1
            let letter = bytes[at]
            at += 1
            let plain: [UInt8: UInt8] = [
                UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
                UInt8(ascii: "t"): 9, UInt8(ascii: "v"): 11,
            ]
            switch letter {
            case UInt8(ascii: "x"), UInt8(ascii: "X"): text.append(UInt8(truncatingIfNeeded: digits(16, atMost: 2)))
            case UInt8(ascii: "u"), UInt8(ascii: "U"):
                let number = digits(16, atMost: letter == UInt8(ascii: "u") ? 4 : 8)
                text += Array(String(UnicodeScalar(number) ?? "\u{FFFD}").utf8)
            case 0x30...0x37:
                at -= 1
                text.append(UInt8(truncatingIfNeeded: digits(8, atMost: 3)))
            default: text.append(plain[letter] ?? letter)
            }
        }
        guard at < bytes.count else { throw TextMessage.Malformed(offset: at) }
        at += 1
        return text
    }

    private mutating func digits(_ radix: Int, atMost count: Int) -> UInt32 {
        var value: UInt32 = 0
        var taken = 0
        while taken < count, at < bytes.count, let digit = Int(String(UnicodeScalar(bytes[at])), radix: radix) {
            value = value * UInt32(radix) + UInt32(digit)
            at += 1
            taken += 1
        }
        return value
    }

    private mutating func take(_ character: Character) -> Bool {
        guard at < bytes.count, bytes[at] == character.asciiValue else { return false }
        at += 1
        return true
    }

    private mutating func skip() {
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "#") {
                while at < bytes.count, bytes[at] != 0x0A { at += 1 }
            } else if " \t\r\n".utf8.contains(bytes[at]) {
                at += 1
            } else {
                return
            }
        }
    }
}
