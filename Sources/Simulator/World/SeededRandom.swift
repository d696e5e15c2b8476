/// A small random number generator (SplitMix64) with reproducible results.
struct SeededRandom: RandomNumberGenerator, Sendable, Hashable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Lower-case hexadecimal digits, as in a sys_id.
    mutating func hex(_ count: Int = 32) -> String {
        var digits = ""
        while digits.utf8.count < count {
            let word = String(next(), radix: 16)
            digits += String(repeating: "0", count: 16 - word.utf8.count) + word
        }
        return String(digits.prefix(count))
    }
}
