import BellhopCore
import Testing

struct JSONTapeTests {
    @Test func `parts of a body are found without reading the rest`() throws {
        let tape = try JSONTape(Array(#"{"x":[1,{"y":2}],"result":[{"a\n":"b\t","c":null},7],"x":"last"}"#.utf8))
        #expect(tape.kind(of: tape.root) == .object)
        #expect(tape.member("x", of: tape.root).map(tape.value(of:)) == "last")
        let result = try #require(tape.member("result", of: tape.root))
        #expect([0, 1].map { tape.element($0, of: result).map(tape.kind(of:)) } == [.object, .number])
        #expect(tape.find(try #require(JSON.Path(text: "result[0].c"))).map(tape.kind(of:)) == .null)
        #expect(tape.find(try #require(JSON.Path(text: "result[2]"))) == nil)
        #expect(
            tape.find(try #require(JSON.Path(text: "result[0]"))).flatMap { tape.member("a\n", of: $0) }.map(tape.value(of:))
                == "b\t")
        #expect(tape.element(0, of: tape.root) == nil)
        #expect(tape.value(of: result) == [["a\n": "b\t", "c": .null], 7])
    }
}
