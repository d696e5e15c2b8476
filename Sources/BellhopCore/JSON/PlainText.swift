/// Finds text that needs no escape in JSON.
enum PlainText {
    /// The first position from `start` on that needs an escape. Examines eight bytes at a time: `stops` has a byte's top bit set
    /// for a quote, a backslash, below 0x20 or 0xe2, the first byte of U+2028 and U+2029; the lowest such bit is exact.
    static func end(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let raw = bytes.bytes
        var at = start
        while at <= bytes.count &- 8 {
            // Bounds-checked; any bits are a valid UInt64.
            let word = UInt64(littleEndian: raw.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            let (quote, backslash, separator) = (word ^ ones &* 0x22, word ^ ones &* 0x5c, word ^ ones &* 0xe2)
            let low = (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word
            let stops = (low | (separator &- ones) & ~separator) & (ones &* 0x80)
            if stops == 0 {
                at &+= 8
                continue
            }
            at &+= stops.trailingZeroBitCount / 8
            if needsEscape(bytes, at) { return at }
            at &+= 1
        }
        while at < bytes.count, !needsEscape(bytes, at) { at &+= 1 }
        return at
    }

    private static func needsEscape(_ bytes: Span<UInt8>, _ at: Int) -> Bool {
        let byte = bytes[at]
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return true }
        return byte == 0xe2 && at + 2 < bytes.count && bytes[at + 1] == 0x80 && bytes[at + 2] & 0xfe == 0xa8
    }
}
