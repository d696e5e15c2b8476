import BellhopCore
import Testing

@Suite struct ChunksTests {
    @Test(arguments: [0, 1, 9, 10, 11, 20, 95])
    func `each element is processed once, and results keep the order`(_ count: Int) async {
        let results = await Array(0..<count).inChunks(of: 10) { Array($0) }
        #expect(results.flatMap(\.self) == Array(0..<count))
        #expect(results.allSatisfy { (1...10).contains($0.count) })
        #expect(results.count == (count + 9) / 10)
    }
}
