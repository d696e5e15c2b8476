/// The bytes of a slot's text, at an address that is valid until the next event.
struct SlotText {
    fileprivate(set) var start: UnsafeMutablePointer<UInt8>?
    /// The number of bytes, or a marker if there is no text.
    fileprivate(set) var count: Int
    /// The event that the text belongs to.
    fileprivate(set) var event: UInt64

    private static let noText = -1
    private static let failure = -2

    static var empty: SlotText { SlotText(start: nil, count: noText, event: 0) }
    static func noText(event: UInt64) -> SlotText { SlotText(start: nil, count: noText, event: event) }
    static func failure(event: UInt64) -> SlotText { SlotText(start: nil, count: failure, event: event) }
    static func bytes(_ bytes: UnsafeMutableBufferPointer<UInt8>, event: UInt64) -> SlotText {
        SlotText(start: bytes.baseAddress, count: bytes.count, event: event)
    }

    /// The text, or nil if the value is not a text.
    @inline(__always)
    var bytes: UnsafeBufferPointer<UInt8>? { count >= 0 ? UnsafeBufferPointer(start: start, count: count) : nil }

    /// Whether the value is not a text.
    var isNone: Bool { count == Self.noText }
}

/// Memory for the texts of one event, allocated piece by piece and freed at once.
struct TextArena {
    private var blocks: [UnsafeMutableBufferPointer<UInt8>] = []
    private var block = 0
    private var used = 0

    private static let blockSize = 16 << 10

    /// Forgets all texts; keeps the memory for the next ones, except what an unusual event needed.
    mutating func reset() {
        block = 0
        used = 0
        while blocks.count > 4 { blocks.removeLast().deallocate() }
    }

    mutating func copy(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeMutableBufferPointer<UInt8> {
        while block < blocks.count, blocks[block].count - used < text.count {
            block += 1
            used = 0
        }
        if block == blocks.count {
            blocks.append(.allocate(capacity: max(Self.blockSize, text.count)))
            used = 0
        }
        let place = UnsafeMutableBufferPointer(rebasing: blocks[block][used..<used + text.count])
        _ = place.initialize(from: text)
        used += text.count
        return place
    }

    /// Frees the memory; the arena's owner calls it once.
    mutating func free() {
        for block in blocks { block.deallocate() }
        blocks = []
    }
}
