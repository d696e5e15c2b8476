/// Lowercase hexadecimal digits to words and back, eight digits at a time.
enum Hexadecimal {
    /// The 16 digits of a word.
    static func text(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The 128 bits that 32 lowercase digits stand for; nil when these `count` bytes are anything else.
    static func words(_ bytes: Span<UInt8>, at offset: Int, count: Int) -> (high: UInt64, low: UInt64)? {
        guard count == 32, offset >= 0, offset <= bytes.count - 32 else { return nil }
        let raw = bytes.bytes
        guard let a = eight(raw, offset), let b = eight(raw, offset + 8), let c = eight(raw, offset + 16),
            let d = eight(raw, offset + 24)
        else { return nil }
        return (a << 32 | b, c << 32 | d)
    }

    /// The 32 bits of eight digits. Each byte is looked at in its own place of one word; no sum carries into the next.
    private static func eight(_ bytes: RawSpan, _ offset: Int) -> UInt64? {
        // Bounds-checked; any bits make a UInt64.
        let digits = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones << 7
        guard digits & tops == 0 else { return nil }
        let decimal = (digits &+ ones &* (0x80 - 0x30)) & ~(digits &+ ones &* (0x80 - 0x3a))
        let letter = (digits &+ ones &* (0x80 - 0x61)) & ~(digits &+ ones &* (0x80 - 0x67))
        guard (decimal | letter) & tops == tops else { return nil }
        var nibbles = (digits & (ones &* 0x0f)) &+ (letter & tops) >> 7 &* 9
        nibbles = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff
        nibbles = (nibbles | nibbles >> 8) & 0x0000_ffff_0000_ffff
        return (nibbles | nibbles >> 16) & 0xffff_ffff
    }
}
