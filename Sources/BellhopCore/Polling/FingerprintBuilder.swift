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
