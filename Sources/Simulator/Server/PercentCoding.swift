/// Percent-encoding of URLs (RFC 3986 §2.1), and base64 for Basic authentication.
enum PercentCoding {
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

    /// Nil for what is not base64 (RFC 4648 §4).
    static func decodeBase64(_ text: some StringProtocol) -> [UInt8]? {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
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
}
