/// Percent-encoding of RFC 3986: encodes everything but letters, digits and `-._~`, so that a value is safe anywhere in an
/// address.
public enum PercentEncoding {
    /// The text's UTF-8, encoded.
    public static func encode(_ text: some StringProtocol) -> String { encode(text, keeping: "-._~") }

    /// The text, encoded except for letters, digits and these characters.
    static func encode(_ text: some StringProtocol, keeping kept: String) -> String {
        if text.utf8.allSatisfy({ ASCII.isAlphanumeric($0) }) { return String(text) }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if ASCII.isAlphanumeric(byte) || kept.utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hex(byte >> 4))
                bytes.append(hex(byte & 15))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path with its query, encoding what RFC 3986 does not allow there: including `[` and `]`, and a `%` that encodes nothing.
    /// Existing encoding stays. Leaves nothing that an intermediary would encode again.
    static func encodeAddress(_ text: some StringProtocol) -> String {
        var rest = Substring(text).utf8
        var encoded = ""
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            encoded += encode(Substring(rest[..<percent]), keeping: inAddress)
            let digits = rest[rest.index(after: percent)...].prefix(2)
            let isEncoded = digits.count == 2 && digits.allSatisfy { ASCII.isDigit($0) || ASCII.lower($0) &- 0x61 < 6 }
            encoded += isEncoded ? "%" : "%25"
            rest = rest[rest.index(after: percent)...]
        }
        return encoded + encode(Substring(rest), keeping: inAddress)
    }

    private static let inAddress = "-._~:/?@!$&'()*+,;="

    /// `name=value` pairs joined by `&`, for a query or a form.
    public static func query(_ pairs: [(String, String)]) -> String {
        pairs.map { encode($0) + "=" + encode($1) }.joined(separator: "&")
    }

    /// The text with `%41` read as `A`; a `%` not followed by two hexadecimal digits stays.
    public static func decode(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(Substring(rest.prefix(2)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hex(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }
}
