/// Percent-encoding of URLs (RFC 3986 §2.1), and base64 for Basic authentication.
enum PercentCoding {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func decode(_ text: some StringProtocol) -> String { decode(text, plusIsBlank: false) }
    static func decodeForm(_ text: some StringProtocol) -> String { decode(text, plusIsBlank: true) }

    private static func decode(_ text: some StringProtocol, plusIsBlank: Bool) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Character(Unicode.Scalar(bytes[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(bytes[index + 2])).hexDigitValue
            {
                out.append(UInt8(high * 16 + low))
                index += 3
            } else {
                out.append(plusIsBlank && bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Encodes everything but unreserved characters.
    static func encode(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                out.append(character)
            } else {
                out += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return out
    }

    /// Nil if the text is not base64 (RFC 4648 §5).
    static func decodeBase64URL(_ text: some StringProtocol) -> [UInt8]? {
        decodeBase64(String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }))
    }

    /// URL-safe base64 (RFC 4648 §5), without padding.
    static func base64URL(_ bytes: [UInt8]) -> String {
        encodeBase64(bytes).filter { $0 != "=" }.replacing("+", with: "-").replacing("/", with: "_")
    }

    /// Nil if the text is not base64 (RFC 4648 §4).
    static func decodeBase64(_ text: some StringProtocol) -> [UInt8]? {
        var out: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return out
    }

    static func encodeBase64(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let part = bytes[start..<min(start + 3, bytes.count)]
            var word = part.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            word <<= UInt32(8 * (3 - part.count))
            for place in 0..<4 {
                out.append(place <= part.count ? alphabet[Int(word >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
