/// A 128-bit hash of a content or a list of facts: equal fingerprints mean, for practical purposes, equal content.
///
/// The seeds are fixed and the result is the same on every machine, so that fingerprints may be stored. It is fast, not
/// cryptographic. Use ``Identity`` where an attacker could gain from a collision.
public struct Fingerprint: Sendable, Hashable, CustomStringConvertible {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// All bits zero. A stored zero means that there is no fingerprint.
    public static let zero = Fingerprint(high: 0, low: 0)

    /// The fingerprint of these bytes, computed at about memory speed. With another `seed`, the same bytes have an unrelated
    /// fingerprint: use one seed per context.
    public init(content bytes: Span<UInt8>, seed: Fingerprint = .zero) {
        self = FingerprintMixer.fingerprint(of: bytes.bytes, seed: seed)
    }

    /// The fingerprint of these bytes; see ``init(content:seed:)``.
    public init(content bytes: [UInt8], seed: Fingerprint = .zero) { self.init(content: bytes.span, seed: seed) }

    /// The fingerprint of this text's UTF-8, without normalization.
    public init(content text: String, seed: Fingerprint = .zero) {
        var text = text
        text.makeContiguousUTF8()
        self.init(content: text.utf8.span, seed: seed)
    }

    /// The fingerprint as 32 lowercase hexadecimal digits.
    public var hex: String { Hexadecimal.text(high, low) }

    public var description: String { hex }

    /// Parses 32 lowercase hexadecimal digits; nil for anything else.
    public init?(hex: String) {
        var hex = hex
        hex.makeContiguousUTF8()
        let bytes = hex.utf8.span
        guard let words = Hexadecimal.words(bytes, at: 0, count: bytes.count) else { return nil }
        self.init(high: words.high, low: words.low)
    }
}

/// A fingerprint of facts, added one after the other.
///
/// Each fact includes its kind and its length, so that `("ab", "c")` and `("a", "bc")`, or the text `1` and the number 1, are
/// different facts. Allocates nothing.
public struct FingerprintBuilder: Sendable {
    private var mixer = FingerprintMixer(seed: Kind.facts)
    private var count = 0

    /// The seeds that separate the kinds of fact.
    private enum Kind {
        static let facts = Fingerprint(high: 1, low: 0)
        static let text = Fingerprint(high: 2, low: 0)
        static let bytes = Fingerprint(high: 3, low: 0)
        static let number = Fingerprint(high: 4, low: 0)
        static let fingerprint = Fingerprint(high: 5, low: 0)
    }

    public init() {}

    /// Adds a text as UTF-8.
    public mutating func add(_ text: String) { absorb(Fingerprint(content: text, seed: Kind.text)) }

    public mutating func add(_ bytes: [UInt8]) { absorb(Fingerprint(content: bytes, seed: Kind.bytes)) }

    public mutating func add(_ number: Int64) {
        var mixer = FingerprintMixer(seed: Kind.number)
        mixer.absorb(UInt64(bitPattern: number), 0)
        absorb(mixer.finished(count: 1))
    }

    public mutating func add(_ fingerprint: Fingerprint) {
        var mixer = FingerprintMixer(seed: Kind.fingerprint)
        mixer.absorb(fingerprint.high, fingerprint.low)
        absorb(mixer.finished(count: 1))
    }

    /// The fingerprint of the facts so far; more may follow.
    public var fingerprint: Fingerprint { mixer.finished(count: count) }

    private mutating func absorb(_ fact: Fingerprint) {
        mixer.absorb(fact.high, fact.low)
        count += 1
    }
}

extension Fingerprint {
    /// The fingerprint of text facts, in this order: `Fingerprint.of("task_created", scope, key)`.
    public static func of(_ facts: String...) -> Fingerprint {
        var builder = FingerprintBuilder()
        for fact in facts { builder.add(fact) }
        return builder.fingerprint
    }
}

/// The hash behind ``Fingerprint``: keyed multiplications of 64 by 64 bits, folded.
///
/// Two lanes read every pair of words in opposite roles with different keys, for 128 bits of state; from 32 bytes on two such
/// pairs of lanes run in parallel. A zero factor loses nothing, because the other factor is added to the product.
struct FingerprintMixer {
    private var first: UInt64
    private var second: UInt64

    /// The fractional parts of the square roots of the first eight primes.
    private static let keys: [8 of UInt64] = [
        0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
    ]

    init(seed: Fingerprint) {
        first = seed.high ^ Self.keys[0]
        second = seed.low ^ Self.keys[1]
    }

    @inline(__always)
    mutating func absorb(_ x: UInt64, _ y: UInt64) {
        first = Self.mix(first, x, y, Self.keys[2])
        second = Self.mix(second, y, x, Self.keys[3])
    }

    /// The result after `count` bytes or facts.
    func finished(count: Int) -> Fingerprint {
        var last = self
        last.absorb(UInt64(truncatingIfNeeded: count), Self.keys[4])
        var (high, low) = (last.first &+ last.second, last.second)
        low &+= high
        high = Self.scatter(high)
        low = Self.scatter(low)
        high &+= low
        low &+= high
        return Fingerprint(high: high, low: low)
    }

    static func fingerprint(of bytes: RawSpan, seed: Fingerprint) -> Fingerprint {
        let count = bytes.byteCount
        var lanes = FingerprintMixer(seed: seed)
        guard count >= 16 else {
            lanes.absorb(word(bytes, from: 0, to: min(8, count)), word(bytes, from: 8, to: count))
            return lanes.finished(count: count)
        }
        var at = 0
        if count >= 32 {
            var others = FingerprintMixer(seed: Fingerprint(high: seed.low ^ keys[6], low: seed.high ^ keys[7]))
            while at <= count &- 32 {
                lanes.absorb(word(bytes, at), word(bytes, at &+ 8))
                others.absorb(word(bytes, at &+ 16), word(bytes, at &+ 24))
                at &+= 32
            }
            lanes.absorb(others.first, others.second)
        }
        if count &- at >= 16 { lanes.absorb(word(bytes, at), word(bytes, at &+ 8)) }
        lanes.absorb(word(bytes, count &- 16), word(bytes, count &- 8))  // may overlap; the count makes it unambiguous
        return lanes.finished(count: count)
    }

    @inline(__always)
    private static func mix(_ state: UInt64, _ x: UInt64, _ y: UInt64, _ key: UInt64) -> UInt64 {
        let (left, right) = (state ^ x, y ^ key)
        let product = left.multipliedFullWidth(by: right)
        return ((product.high ^ product.low) &+ (left << 27 | left >> 37)) ^ right
    }

    /// Spreads each bit over the whole word; a bijection.
    private static func scatter(_ word: UInt64) -> UInt64 {
        var word = (word ^ word >> 32) &* (keys[5] | 1)
        word = (word ^ word >> 29) &* (keys[6] | 1)
        return word ^ word >> 32
    }

    /// The eight bytes at an offset. The load is bounds-checked, and any bits are a valid UInt64.
    @inline(__always)
    private static func word(_ bytes: RawSpan, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The bytes of a range of at most eight, zero-extended.
    private static func word(_ bytes: RawSpan, from start: Int, to end: Int) -> UInt64 {
        var word: UInt64 = 0
        for offset in stride(from: end - 1, through: start, by: -1) {
            word = word << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
        return word
    }
}
