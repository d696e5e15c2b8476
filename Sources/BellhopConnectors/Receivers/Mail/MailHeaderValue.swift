import BellhopCore

/// The value of a header field of a mail, encoded and folded (RFC 5322, RFC 2047).
///
/// All mail headers are written through this type, which prevents header injection: each initializer refuses or encodes text that
/// could end a line.
struct MailHeaderValue: Sendable, Hashable {
    /// The error for a text with a line break or another control character.
    struct Refused: Error, Sendable, Hashable {}

    /// Printable ASCII. Each line after the first is a folded continuation of the field.
    let lines: [String]

    /// The recommended maximum length of a line (RFC 5322, section 2.1.1). Only a long single word exceeds it.
    static let lineLength = 78
    /// The longest encoded word (RFC 2047, section 2).
    private static let encodedWord = 75

    private init(lines: [String]) {
        precondition(lines.allSatisfy { $0.utf8.allSatisfy { 0x20...0x7e ~= $0 } }, "a header's lines are printable ASCII")
        self.lines = lines
    }

    /// Whether a text has neither line breaks nor other control characters.
    static func isLine(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029: false
            default: true
            }
        }
    }

    /// Text for people, such as a subject: unchanged if it is ASCII that can be folded, or else as encoded words.
    /// - Parameter label: the length of the field's name with its colon and blank, which precede the first line.
    init(text: String, after label: Int) throws(Refused) {
        guard Self.isLine(text) else { throw Refused() }
        self.init(lines: Self.folded(text, after: label) ?? Self.encoded(text, after: label))
    }

    /// Mailboxes, one on each line.
    init(_ addresses: [MailAddress], after label: Int) throws(Refused) {
        var lines: [String] = []
        for address in addresses {
            guard Self.isLine(address.name) else { throw Refused() }
            if let last = lines.indices.last { lines[last] += "," }
            let room = lines.isEmpty ? label : 1
            var words = Self.phrase(address.name, after: room)
            let end = words.isEmpty ? address.text : "<\(address.text)>"
            if let last = words.last, last.utf8.count + end.utf8.count + room + 2 <= Self.lineLength {
                words[words.count - 1] += " " + end
            } else {
                words.append(end)
            }
            lines += words
        }
        self.init(lines: lines)
    }

    /// Message-IDs, one on each line.
    init(_ ids: [MessageID]) { self.init(lines: ids.map(\.text)) }

    /// The time in UTC (RFC 5322, section 3.3).
    init(_ time: Timestamp) { self.init(lines: [time.httpDate.replacing("GMT", with: "+0000")]) }

    init(_ text: StaticString) { self.init(lines: [text.description]) }

    /// The id of a list (RFC 2919), made of a name and a host.
    init(list name: String, host: String) {
        let label = name.utf8.map { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") ? ASCII.lower($0) : UInt8(ascii: "-") }
        self.init(lines: ["<\(String(decoding: label, as: UTF8.self)).bellhop.\(host)>"])
    }

    // MARK: Encoding

    /// ASCII text, folded at its blanks. Nil if folding could change it, or if it looks like an encoded word.
    private static func folded(_ text: String, after label: Int) -> [String]? {
        guard text.utf8.allSatisfy({ 0x20...0x7e ~= $0 }), !text.contains("=?"), !text.contains("  "), text.first != " ",
            text.last != " "
        else { return nil }
        var lines: [String] = []
        var line = ""
        var room = lineLength - label
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            guard word.utf8.count < lineLength - label else { return nil }
            if line.isEmpty {
                line = String(word)
            } else if line.utf8.count + 1 + word.utf8.count <= room {
                line += " " + word
            } else {
                lines.append(line)
                line = String(word)
                room = lineLength - 1
            }
        }
        return lines + [line]
    }

    /// Encoded words in UTF-8 and Base64, one on each line; readers ignore the line breaks between them. Never cuts a character.
    private static func encoded(_ text: String, after label: Int) -> [String] {
        let (prefix, suffix) = ("=?UTF-8?B?", "?=")
        var lines: [String] = []
        var bytes: [UInt8] = []
        func room() -> Int {
            let width = min(encodedWord, lineLength - (lines.isEmpty ? label : 1)) - prefix.utf8.count - suffix.utf8.count
            return max(width / 4, 1) * 3
        }
        for scalar in text.unicodeScalars {
            let more = Array(String(scalar).utf8)
            if !bytes.isEmpty, bytes.count + more.count > room() {
                lines.append(prefix + Base64.encode(bytes) + suffix)
                bytes = []
            }
            bytes += more
        }
        lines.append(prefix + Base64.encode(bytes) + suffix)
        return lines
    }

    /// A name before an address: as atoms, quoted, or encoded.
    private static func phrase(_ name: String, after label: Int) -> [String] {
        if name.isEmpty { return [] }
        guard name.utf8.allSatisfy({ 0x20...0x7e ~= $0 }), name.utf8.count < lineLength - label - 2, !name.contains("=?") else {
            return encoded(name, after: label)
        }
        if name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || " -_".utf8.contains($0) }) { return [name] }
        return ["\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""]
    }
}

/// A Message-ID (RFC 5322, section 3.6.4), made of the delivery and the sender's host. It is the same for all attempts of a
/// delivery, so that mail programs and servers recognize duplicates.
struct MessageID: Sendable, Hashable {
    /// With its angle brackets.
    let text: String

    /// - Parameter delivery: its short name.
    init(delivery: String, host: String) { text = "<\(delivery.filter { $0.isASCII && ($0.isLetter || $0.isNumber) })@\(host)>" }

    /// Reads a stored Message-ID; nil for any other text.
    init?(_ stored: String) {
        guard stored.first == "<", stored.last == ">", stored.utf8.count <= 998,
            stored.utf8.dropFirst().dropLast().allSatisfy({ 0x21...0x7e ~= $0 && $0 != 0x3c && $0 != 0x3e })
        else { return nil }
        text = stored
    }
}
