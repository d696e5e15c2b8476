extension Value {
    /// The value as JSON text: times and durations as text, bytes in base64, an absent optional as null, objects by their fields.
    /// Numbers that JSON cannot hold (NaN and the infinities) become text.
    public var json: String {
        var text = ""
        writeJSON(into: &text, depth: 0)
        return text
    }

    private static let deepest = 128

    private func writeJSON(into text: inout String, depth: Int) {
        guard depth < Self.deepest else {
            text += "null"
            return
        }
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .int(let value): text += String(value)
        case .uint(let value): text += String(value)
        case .double(let value): text += value.isFinite ? Numbers.text(value) : Self.quoted(Numbers.text(value))
        case .string(let value): text += Self.quoted(value)
        case .bytes(let value): text += Self.quoted(Base64.encode(value))
        case .timestamp, .duration, .type: text += Self.quoted(self.text ?? "")
        case .optional(let value): (value ?? .null).writeJSON(into: &text, depth: depth)
        case .list(let list):
            text += "["
            for i in 0..<list.count {
                if i > 0 { text += "," }
                list[i].writeJSON(into: &text, depth: depth + 1)
            }
            text += "]"
        case .map(let map): Self.writeJSON(of: map.entries.map { ($0.text ?? "", $1) }, into: &text, depth: depth)
        case .object(let object):
            if let plain = object.text {
                text += Self.quoted(plain)
            } else {
                Self.writeJSON(of: object.fieldNames.map { ($0, object.value(named: $0) ?? .null) }, into: &text, depth: depth)
            }
        }
    }

    private static func writeJSON(of members: [(String, Value)], into text: inout String, depth: Int) {
        text += "{"
        for (index, member) in members.enumerated() {
            if index > 0 { text += "," }
            text += quoted(member.0) + ":"
            member.1.writeJSON(into: &text, depth: depth + 1)
        }
        text += "}"
    }
}

/// Base 64 with the standard alphabet (RFC 4648 §4). Bellhop's core has its own, because neither module depends on the other.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                result.append(place <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Accepts text with or without padding; nil if it is not base 64.
    static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        while digits.last == UInt8(ascii: "="), digits.count > 0 { digits.removeLast() }
        guard text.utf8.count - digits.count <= 2, digits.count % 4 != 1 else { return nil }
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var held = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            bits = (bits << 6 | value) & 0xFFFFFF
            held += 6
            if held >= 8 {
                held -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        return result
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
