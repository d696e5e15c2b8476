/// Percent-encoding in addresses and forms (RFC 3986): encodes everything but letters, digits and `-._~`, so that a value is safe
/// anywhere in an address.
public enum PercentEncoding {
    /// The text's UTF-8, encoded.
    public static func encode(_ text: some StringProtocol) -> String { encode(text, keeping: "-._~") }

    /// The text, encoded except for letters, digits and these characters.
    public static func encode(_ text: some StringProtocol, keeping kept: String) -> String {
        if text.utf8.allSatisfy(\.isASCIIAlphanumeric) { return String(text) }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || kept.utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), hex(byte >> 4), hex(byte & 15)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path with its query. Encodes all characters that RFC 3986 does not allow there, including `[`, `]` and a `%` without two digits,
    /// so that no proxy changes the address. Characters that are already encoded stay as they are.
    public static func encodeAddress(_ text: some StringProtocol) -> String {
        var rest = Substring(text).utf8
        var encoded = ""
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            encoded += encode(Substring(rest[..<percent]), keeping: inAddress)
            let digits = rest[rest.index(after: percent)...].prefix(2)
            let isEncoded = digits.count == 2 && digits.allSatisfy { Hexadecimal.value(of: $0) != nil }
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

    /// The pairs of a query or a form, decoded; a name without `=` has an empty value.
    public static func pairs(_ text: some StringProtocol) -> [(name: String, value: String)] {
        bytePairs(text).map { (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self)) }
    }

    /// The pairs of a form; nil if one of them is not UTF-8.
    public static func validPairs(_ form: some StringProtocol) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for (name, value) in bytePairs(form) {
            guard let name = String(validating: name, as: UTF8.self), let value = String(validating: value, as: UTF8.self) else {
                return nil
            }
            pairs.append((name, value))
        }
        return pairs
    }

    private static func bytePairs(_ text: some StringProtocol) -> [(name: [UInt8], value: [UInt8])] {
        Substring(text).utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { bytes(Substring($0), plusIsSpace: true) }
            return (halves[0], halves.count == 2 ? halves[1] : [])
        }
    }

    /// The text with `%41` read as `A`; a `%` not followed by two hexadecimal digits stays. In a form, `+` is a space.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        String(decoding: bytes(text, plusIsSpace: plusIsSpace), as: UTF8.self)
    }

    private static func bytes(_ text: some StringProtocol, plusIsSpace: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let high = Hexadecimal.value(of: rest[rest.startIndex]),
                let low = Hexadecimal.value(of: rest[rest.startIndex + 1])
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return bytes
    }

    private static func hex(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }
}
