/// The identity of a record in its source.
///
/// A key of 32 lowercase hexadecimal digits takes 16 bytes and no allocation; any other is stored as text. The form depends only
/// on the text, so that equal texts are equal keys. Keys are ordered by their UTF-8 bytes.
public struct TaskKey: Sendable {
    private enum Storage {
        case digits(high: UInt64, low: UInt64)
        case text(String)
    }

    private let storage: Storage

    public init(_ text: String) {
        var text = text
        text.makeContiguousUTF8()
        let bytes = text.utf8.span
        if let words = Hexadecimal.words(bytes, at: 0, count: bytes.count) {
            storage = .digits(high: words.high, low: words.low)
        } else {
            storage = .text(text)
        }
    }

    /// The key in these bytes; nil unless they are 32 lowercase hexadecimal digits.
    init?(digits bytes: Span<UInt8>, at offset: Int, count: Int) {
        guard let words = Hexadecimal.words(bytes, at: offset, count: count) else { return nil }
        storage = .digits(high: words.high, low: words.low)
    }

    /// Whether the key is 32 lowercase hexadecimal digits. Does not make its text.
    public var isDigits: Bool { bits != nil }

    /// The key as in the source.
    public var text: String {
        switch storage {
        case .digits(let high, let low): Hexadecimal.text(high, low)
        case .text(let text): text
        }
    }

    /// The 128 bits of its digits; nil if it is stored as text.
    public var bits: Fingerprint? {
        switch storage {
        case .digits(let high, let low): Fingerprint(high: high, low: low)
        case .text: nil
        }
    }

    /// 64 well-mixed bits of the key, different for each seed, which prevents chosen collisions.
    @inline(__always)
    func hash(_ seed: Fingerprint) -> UInt64 {
        switch storage {
        case .digits(let high, let low):
            let product = (high ^ seed.high).multipliedFullWidth(by: low ^ seed.low)
            return product.high ^ product.low &+ low
        case .text(let text): return Fingerprint(content: text, seed: seed).low
        }
    }
}

extension TaskKey: Hashable {
    public static func == (left: TaskKey, right: TaskKey) -> Bool {
        switch (left.storage, right.storage) {
        case (.digits(let a, let b), .digits(let c, let d)): a == c && b == d
        case (.text(let left), .text(let right)): left.hasBytes(of: right)
        case (.digits, .text), (.text, .digits): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch storage {
        case .digits(let high, let low):
            hasher.combine(high)
            hasher.combine(low)
        case .text(let text): hasher.combine(text)
        }
    }
}

extension TaskKey: Comparable {
    public static func < (left: TaskKey, right: TaskKey) -> Bool {
        if case .digits(let a, let b) = left.storage, case .digits(let c, let d) = right.storage { return (a, b) < (c, d) }
        return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

extension TaskKey: CustomStringConvertible, ExpressibleByStringLiteral {
    public var description: String { text }
    public init(stringLiteral text: String) { self.init(text) }
}
