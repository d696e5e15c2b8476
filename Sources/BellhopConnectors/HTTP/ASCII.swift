import BellhopCore

enum ASCII {
    /// Whether a text has one of these lengths, and only letters, digits and these other characters.
    static func isName(_ text: some StringProtocol, of lengths: some RangeExpression<Int>, with others: String) -> Bool {
        lengths.contains(text.utf8.count) && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || others.utf8.contains($0) }
    }

    static func equalIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lower($0) == lower($1) }
    }

    static func lower(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

    /// The text with `A` to `Z` in lower case and nothing else changed.
    static func lowercased(_ text: some StringProtocol) -> String { String(decoding: text.utf8.map(lower), as: UTF8.self) }

    static func trimmed(_ text: some StringProtocol) -> Substring {
        // By bytes: a blank before an accent is one character with it.
        var bytes = Substring(text).utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return Substring(bytes)
    }
}
