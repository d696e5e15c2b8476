/// Collects the pieces of a body in little more memory than the body takes. An array that grows by doubling needs up to three
/// times as much while it moves.
struct BodyBlocks {
    private var blocks: [[UInt8]] = []
    /// How many bytes still fit into the last block.
    private var room = 0
    private let step: Int
    private(set) var count = 0

    /// - Parameter announced: the `Content-Length`, if any.
    init(announced: Int?, step: Int = 4 << 20) {
        self.step = step
        if let announced, announced > 0 { begin(announced) }
    }

    mutating func append(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if room == 0 { begin(blocks.isEmpty ? max(64 << 10, rest.count) : step) }
            let part = rest.prefix(room)
            blocks[blocks.count - 1] += part
            room -= part.count
            count += part.count
            rest = rest.dropFirst(part.count)
        }
    }

    /// The whole body. Each block is freed once it is copied.
    mutating func joined() -> [UInt8] {
        if blocks.count <= 1 { return blocks.popLast() ?? [] }
        var body: [UInt8] = []
        body.reserveCapacity(count)
        blocks.reverse()
        while let block = blocks.popLast() { body += block }
        return body
    }

    private mutating func begin(_ size: Int) {
        blocks.append([])
        blocks[blocks.count - 1].reserveCapacity(size)
        room = size
    }
}
