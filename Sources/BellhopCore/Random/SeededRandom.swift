/// Random numbers that are the same for the same seed (SplitMix64), for tests and simulations.
public struct SeededRandom: RandomNumberGenerator, Sendable, Hashable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }

    /// True on average once in `count` calls.
    public mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    /// Lowercase hexadecimal digits.
    public mutating func hex(_ count: Int = 32) -> String {
        var digits = ""
        while digits.utf8.count < count {
            let word = String(next(), radix: 16)
            digits += String(repeating: "0", count: 16 - word.utf8.count) + word
        }
        return String(digits.prefix(count))
    }
}
