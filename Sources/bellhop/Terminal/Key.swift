/// A key as a line editor understands it.
enum Key: Hashable {
    case text(String)
    case enter, tab, backspace, delete, left, right, up, down, home, end, wordLeft, wordRight
    /// Esc by itself.
    case escape
    case eraseToEnd, eraseToStart, eraseWord, clearScreen
    /// Ctrl-C.
    case interrupt
    /// Ctrl-D.
    case endOfInput
}

/// Decodes a terminal's input into keys: UTF-8, control characters, and the escape sequences of ECMA-48 that common terminals use
/// for keys. Line breaks in pasted text count as enter.
struct KeyReader {
    private var pending: [UInt8] = []

    /// How long a terminal may take between the bytes of one key.
    static let escapeDelay = Duration.milliseconds(50)

    /// Whether the last byte was Esc: a key by itself, if no other byte follows.
    var mayBeEscape: Bool { pending == [0x1B] }

    /// The pending key, if no byte follows.
    mutating func end() -> Key? {
        guard mayBeEscape else { return nil }
        pending = []
        return .escape
    }

    /// The key that the byte completes, if any.
    mutating func read(_ byte: UInt8) -> Key? {
        pending.append(byte)
        switch pending[0] {
        case 0x1B: return escape()
        case 0x00..<0x20, 0x7F:
            pending = []
            return Self.control(byte)
        default: return text()
        }
    }

    private mutating func text() -> Key? {
        let length: Int
        switch pending[0] {
        case 0xC2..<0xE0: length = 2
        case 0xE0..<0xF0: length = 3
        case 0xF0..<0xF5: length = 4
        default: length = 1
        }
        if pending.count > 1, pending[pending.count - 1] & 0xC0 != 0x80 {
            // The character is incomplete: start again with this byte.
            let byte = pending[pending.count - 1]
            pending = []
            return read(byte)
        }
        guard pending.count == length else { return nil }
        defer { pending = [] }
        return String(validating: pending, as: UTF8.self).map(Key.text)
    }

    /// `ESC [ parameters letter`, `ESC O letter`, or `ESC` and a key held with Alt.
    private mutating func escape() -> Key? {
        guard pending.count > 1 else { return nil }
        let last = pending[pending.count - 1]
        switch pending[1] {
        case UInt8(ascii: "["), UInt8(ascii: "O"):
            guard pending.count > 2 else { return nil }
            if last == 0x1B {
                pending = [last]
                return nil
            }
            guard (0x40..<0x7F).contains(last) || pending.count > 16 else { return nil }
            defer { pending = [] }
            return Self.sequence(String(decoding: pending[2...], as: UTF8.self))
        case 0x1B: pending = [last]
        default:
            pending = []
            switch last {
            case UInt8(ascii: "b"): return .wordLeft
            case UInt8(ascii: "f"): return .wordRight
            case 0x7F: return .eraseWord
            default: break
            }
        }
        return nil
    }

    private static func sequence(_ text: String) -> Key? {
        switch text {
        case "A": .up
        case "B": .down
        case "C": .right
        case "D": .left
        case "H", "1~", "7~": .home
        case "F", "4~", "8~": .end
        case "3~": .delete
        case "1;3C", "1;5C": .wordRight
        case "1;3D", "1;5D": .wordLeft
        default: nil
        }
    }

    private static func control(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x0D, 0x0A: .enter
        case 0x09: .tab
        case 0x08, 0x7F: .backspace
        case 0x01: .home
        case 0x02: .left
        case 0x03: .interrupt
        case 0x04: .endOfInput
        case 0x05: .end
        case 0x06: .right
        case 0x0B: .eraseToEnd
        case 0x0C: .clearScreen
        case 0x0E: .down
        case 0x10: .up
        case 0x15: .eraseToStart
        case 0x17: .eraseWord
        default: nil
        }
    }
}
