extension Base64 {
    /// The bytes of a Base64 text (RFC 4648, section 4), padded or not; nil if invalid.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || padding <= 2 && text.utf8.count % 4 == 0 else { return nil }
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
