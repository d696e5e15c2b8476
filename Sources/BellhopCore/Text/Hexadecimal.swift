/// Hexadecimal digits: of bytes, and of words of 64 bits, eight digits at a time.
public enum Hexadecimal {
    /// The 32 digits of two words.
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        String(unsafeUninitializedCapacity: 32) { digits in
            for place in 0..<16 {
                let shift = UInt64(60 - place * 4)
                digits.initializeElement(at: place, to: digit(high >> shift))
                digits.initializeElement(at: place + 16, to: digit(low >> shift))
            }
            return 32
        }
    }

    /// The 16 digits of a word.
    static func text(_ word: UInt64) -> String { String(text(word, 0).prefix(16)) }

    /// A random text of 16 digits per word, from the system's generator.
    public static func random(words: Int = 1) -> String {
        (0..<words).map { _ in text(UInt64.random(in: .min ... .max)) }.joined()
    }

    /// The lowercase digits of these bytes.
    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)  // for a SHA-256, a sequence that does not say its length
        for byte in bytes {
            digits.append(digit(UInt64(byte >> 4)))
            digits.append(digit(UInt64(byte)))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The bytes of a text of digits, lowercase or uppercase; nil for any other text.
    public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[place]), let low = value(of: digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The value of a digit, lowercase or uppercase; nil for any other character.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The digit of the lowest four bits.
    private static func digit(_ word: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: word & 15)
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// The 128 bits of 32 lowercase digits; nil if these `count` bytes are anything else.
    static func words(_ bytes: Span<UInt8>, at offset: Int, count: Int) -> (high: UInt64, low: UInt64)? {
        guard count == 32, offset >= 0, offset <= bytes.count - 32 else { return nil }
        let raw = bytes.bytes
        guard let a = eight(raw, offset), let b = eight(raw, offset + 8), let c = eight(raw, offset + 16),
            let d = eight(raw, offset + 24)
        else { return nil }
        return (a << 32 | b, c << 32 | d)
    }

    /// The 128 bits of a text of 32 lowercase digits; nil for any other text.
    static func words(_ text: String) -> (high: UInt64, low: UInt64)? {
        let bytes = Array(text.utf8)
        return words(bytes.span, at: 0, count: bytes.count)
    }

    /// The 32 bits of eight digits, processed in parallel in one word; no sum carries into the next byte. One digit after the other
    /// would take 3 % more instructions of `poll`.
    private static func eight(_ bytes: RawSpan, _ offset: Int) -> UInt64? {
        // Bounds-checked; any bits are a valid UInt64.
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
