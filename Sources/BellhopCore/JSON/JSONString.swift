/// Decodes strings with escapes.
enum JSONString {
    /// The text of a string scanned by ``JSONLexer``.
    static func text(_ bytes: Span<UInt8>, _ range: Range<Int>, hasEscapes: Bool) -> String {
        var copy: [UInt8] = []
        copy.reserveCapacity(range.count)
        for place in range { copy.append(bytes[place]) }
        return hasEscapes ? unescaped(copy[...]) : String(decoding: copy, as: UTF8.self)
    }

    /// The text of a string with escapes scanned by ``JSONLexer``. An unpaired surrogate, as in truncated text, becomes U+FFFD.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var at = bytes.startIndex
        while at < bytes.endIndex {
            guard bytes[at] == UInt8(ascii: "\\") else {
                plain.append(bytes[at])
                at += 1
                continue
            }
            if bytes[at + 1] == UInt8(ascii: "u") {
                let scalar = scalar(bytes, at: &at)
                plain.append(contentsOf: scalar.utf8)
            } else {
                plain.append(short(bytes[at + 1]))
                at += 2
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }

    private static func short(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }

    /// The character written as one or two `\uXXXX` at `at`, which moves past it.
    private static func scalar(_ bytes: ArraySlice<UInt8>, at: inout Int) -> Unicode.Scalar {
        let first = unit(bytes, at: at)
        at += 6
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) ?? "\u{fffd}" }
        guard at + 6 <= bytes.endIndex, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") else {
            return "\u{fffd}"
        }
        let second = unit(bytes, at: at)
        guard UTF16.isTrailSurrogate(second) else { return "\u{fffd}" }
        at += 6
        let value = 0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00)
        return Unicode.Scalar(value) ?? "\u{fffd}"
    }

    private static func unit(_ bytes: ArraySlice<UInt8>, at: Int) -> UInt16 {
        (at + 2..<at + 6).reduce(0) { $0 << 4 | UInt16(Hexadecimal.value(of: bytes[$1]) ?? 0) }
    }
}
