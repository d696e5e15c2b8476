import BellhopCore

/// A mail's text, encoded for servers and networks that pass only lines of ASCII (RFC 2045).
struct MailBody: Sendable, Hashable {
    enum Encoding: String, Sendable, Hashable {
        case quotedPrintable = "quoted-printable"
        case base64
    }

    /// The shorter of the two: quoted-printable is readable, but makes text of other scripts three times as long.
    let encoding: Encoding
    /// Lines of at most 76 characters, each with CR LF.
    let bytes: [UInt8]

    /// The longest encoded line (RFC 2045, section 6.7 and 6.8).
    static let lineLength = 76

    /// - Parameter text: its lines end in a newline.
    init(_ text: String) {
        let wide = text.utf8.lazy.filter { $0 >= 0x80 || $0 == UInt8(ascii: "=") }.count
        // Quoted-printable takes three characters for each of these bytes, Base64 four for three bytes.
        encoding = 6 * wide <= text.utf8.count ? .quotedPrintable : .base64
        bytes = encoding == .base64 ? Self.base64(text) : Self.quotedPrintable(text)
    }

    private static let lineEnd: [UInt8] = [0x0d, 0x0a]

    private static func base64(_ text: String) -> [UInt8] {
        let canonical = text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).joined(separator: lineEnd)
        var encoded = Array(Base64.encode(Array(canonical)).utf8)[...]
        var lines: [UInt8] = []
        while !encoded.isEmpty {
            lines += encoded.prefix(lineLength)
            lines += lineEnd
            encoded = encoded.dropFirst(lineLength)
        }
        return lines
    }

    /// Encodes more than is required: blanks at the end of a line; a full stop at its beginning, which could end the mail in
    /// SMTP; and the F of `From `, before which some programs insert a `>`.
    private static func quotedPrintable(_ text: String) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for line in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false) {
            var length = 0
            let isMailbox = line.starts(with: "From ".utf8)
            for (place, byte) in line.enumerated() {
                let isLast = place == line.count - 1
                let isPlain: Bool =
                    switch byte {
                    case UInt8(ascii: "="): false
                    case 0x20, 0x09: !isLast
                    case UInt8(ascii: "."): length > 0
                    case UInt8(ascii: "F"): place > 0 || !isMailbox
                    default: 0x21...0x7e ~= byte
                    }
                if length + (isPlain ? 1 : 3) > lineLength - (isLast ? 0 : 1) {
                    encoded.append(UInt8(ascii: "="))
                    encoded += lineEnd
                    length = 0
                }
                // At the beginning of a line after a soft break, too.
                if isPlain, length > 0 || byte != UInt8(ascii: ".") {
                    encoded.append(byte)
                    length += 1
                } else {
                    encoded += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                    length += 3
                }
            }
            encoded += lineEnd
        }
        return encoded
    }
}
