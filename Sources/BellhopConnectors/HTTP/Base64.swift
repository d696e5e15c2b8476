/// Base64 of RFC 4648, section 4, as Basic authentication uses it.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: some Collection<UInt8>) -> String {
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
    static func basic(username: String, password: String) -> String {
        "Basic " + encode(Array("\(username):\(password)".utf8))
    }
}
