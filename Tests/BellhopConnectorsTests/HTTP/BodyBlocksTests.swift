import Testing

@testable import BellhopConnectors

@Suite struct BodyBlocksTests {
    /// Bytes that depend on their index.
    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    @Test(arguments: [nil, 0, 5, 1000, 2000] as [Int?], [0, 1, 999, 1000, 1001])
    func `a body that arrives in pieces is joined correctly, whatever size was announced`(_ announced: Int?, _ size: Int) {
        let body = Self.bytes(size)
        for piece in [1, 7, 64, 5000] {
            var blocks = BodyBlocks(announced: announced, step: 64)
            var rest = body[...]
            while !rest.isEmpty {
                blocks.append(rest.prefix(piece))
                rest = rest.dropFirst(piece)
            }
            #expect(blocks.count == size)
            #expect(blocks.joined() == body)
        }
    }

    @Test func `a body without an announced size takes little more memory than its size`() {
        let piece = Self.bytes(60_000)
        var blocks = BodyBlocks(announced: nil, step: 1 << 20)
        for _ in 0..<100 { blocks.append(piece) }
        let body = blocks.joined()
        #expect(body.count == 6_000_000)
        #expect(body.capacity < 6_500_000)
    }
}
