/// Base64 of RFC 4648, section 4, as Basic authentication uses it.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var rest = bytes[...]
        while !rest.isEmpty {
            let group = Array(rest.prefix(3))
            rest = rest.dropFirst(3)
            let word =
                UInt32(group[0]) << 16 | UInt32(group.count > 1 ? group[1] : 0) << 8 | UInt32(group.count > 2 ? group[2] : 0)
            for place in 0..<4 {
                let isPadding = place > group.count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(word >> (18 - 6 * UInt32(place)) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The value of an `Authorization` field for a name and a password (RFC 7617, in UTF-8).
    public static func basic(username: String, password: String) -> String {
        "Basic " + encode(Array("\(username):\(password)".utf8))
    }

    /// Whether a text must be filled up with `=` to a multiple of four characters.
    public enum Padding: Sendable { case required, optional }

    /// The bytes of a Base64 text (RFC 4648, section 4); nil if invalid.
    public static func decode(_ text: some StringProtocol, padding rule: Padding = .optional) -> [UInt8]? {
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 && rule == .optional || padding <= 2 && text.utf8.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        var word: UInt32 = 0
        var bits = 0
        for byte in text.utf8.dropLast(padding) {
            guard let value = value(of: byte) else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: word >> bits))
            }
        }
        // Six bits alone are not a byte, and leftover bits must be zero.
        return bits < 6 && word & (1 << bits - 1) == 0 ? bytes : nil
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Base64 of RFC 4648, section 5, without padding, as OAuth uses it for tokens and proofs.
public enum Base64URL {
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(
            Base64.encode(bytes).compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }

    /// The bytes of a text; nil if invalid.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Base64.decode(String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }))
    }
}
