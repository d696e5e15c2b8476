/// A 128-bit hash of a content or a list of facts: equal fingerprints mean, for practical purposes, equal content.
///
/// The seeds are fixed and the result is the same on every machine, so that fingerprints may be stored. It is fast, not
/// cryptographic: it only shows what to look at more closely. Use ``Identity`` where collisions must not be made on purpose.
public struct Fingerprint: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// All bits zero. A stored zero means that there is no fingerprint.
    public static let zero = Fingerprint(high: 0, low: 0)

    /// The fingerprint of these bytes, computed at about memory speed. A different `seed` gives an unrelated result, for the same bytes
    /// in another context.
    public init(content bytes: Span<UInt8>, seed: Fingerprint = .zero) {
        self = FingerprintMixer.fingerprint(of: bytes.bytes, seed: seed)
    }

    /// The fingerprint of these bytes; see ``init(content:seed:)``.
    public init(content bytes: [UInt8], seed: Fingerprint = .zero) {
        self.init(content: bytes.span, seed: seed)
    }

    /// The fingerprint of this text's UTF-8, without normalization.
    public init(content text: String, seed: Fingerprint = .zero) {
        var text = text
        text.makeContiguousUTF8()
        self.init(content: text.utf8.span, seed: seed)
    }
}

extension Fingerprint: CustomStringConvertible {
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
