/// An index of a JSON text, twelve bytes per value and name, for finding any part without making strings.
///
/// Building it validates the whole text, so that later reads cannot fail. Values are made on demand.
public struct JSONTape: Sendable {
    public enum Kind: UInt8, Sendable, Hashable {
        case null, `false`, `true`, number, string, array, object
    }

    /// The position of one value on its tape.
    public struct Node: Sendable, Hashable {
        let index: Int
    }

    /// One value or one member's name.
    struct Entry {
        /// For a string or a name: the position after the opening quote.
        var start: UInt32
        /// In bytes; for a string without its quotes.
        var length: UInt32
        /// Three bits for the kind, one for the flag, and 28 for the number of entries: that of the value and those inside it.
        var info: UInt32

        init(_ kind: Kind, _ range: Range<Int>, flag: Bool) {
            start = UInt32(truncatingIfNeeded: range.lowerBound)
            length = UInt32(truncatingIfNeeded: range.count)
            info = 1 << 4 | (flag ? 8 : 0) | UInt32(kind.rawValue)
        }

        var kind: Kind { Kind(rawValue: UInt8(info & 7)) ?? .null }  // the three bits are always a kind
        /// Whether a string or a name has escapes, or a number is whole.
        var flag: Bool { info & 8 != 0 }
        var size: Int { Int(info >> 4) }
        var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
    }

    public let bytes: [UInt8]
    let entries: [Entry]

    /// The default limit for the nesting of arrays and objects.
    public static let defaultDepth = 512

    /// Parses a JSON text.
    public init(_ bytes: [UInt8], depth: Int = defaultDepth) throws(JSONError) {
        guard bytes.count <= UInt32.max else { throw JSONError(.tooLong(Int(UInt32.max)), at: Int(UInt32.max)) }
        var walker = JSONWalker(depthLimit: depth)
        var recorder = JSONTapeRecorder(capacity: bytes.count / 16)
        let text = bytes.span
        let end = try JSONLexer.skipBlanks(text, from: walker.walk(text, from: JSONLexer.start(text), &recorder))
        guard end == bytes.count else { throw JSONError(.trailing, at: end) }
        self.bytes = bytes
        entries = recorder.entries
    }

    /// The value of the whole text.
    public var root: Node { Node(index: 0) }
}

/// Builds the tape.
struct JSONTapeRecorder: JSONVisitor {
    var entries: [JSONTape.Entry] = []
    /// The entries of the open arrays and objects.
    private var open: [Int] = []
    private static let limit = 1 << 28 - 1

    init(capacity: Int) { entries.reserveCapacity(max(4, capacity)) }

    @inline(__always)
    mutating func scalar(_ kind: JSONTape.Kind, _ range: Range<Int>, flag: Bool) {
        entries.append(JSONTape.Entry(kind, range, flag: flag))
    }

    @inline(__always)
    mutating func key(_ range: Range<Int>, hasEscapes: Bool, in bytes: Span<UInt8>) {
        entries.append(JSONTape.Entry(.string, range, flag: hasEscapes))
    }

    mutating func open(_ kind: JSONTape.Kind, at start: Int) {
        open.append(entries.count)
        entries.append(JSONTape.Entry(kind, start..<start, flag: false))
    }

    mutating func close(at end: Int) throws(JSONError) {
        guard let index = open.popLast() else { preconditionFailure("the grammar closes only open containers") }
        let size = entries.count - index
        guard size <= Self.limit else { throw JSONError(.tooLong(Self.limit), at: end) }
        entries[index].length = UInt32(truncatingIfNeeded: end) &- entries[index].start
        entries[index].info = entries[index].info & 15 | UInt32(truncatingIfNeeded: size) << 4
    }
}
