import BellhopCore
import Testing

@Suite struct JSONWriterTests {
    @Test func `an object written member by member has the same text as the whole value`() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("text", "a \"quote\"")
        writer.name(JSONName("a \"name\""))
        writer.write(1)
        writer.name("empty")
        writer.beginObject()
        writer.endObject()
        writer.name("inner")
        writer.beginObject()
        writer.name(JSONName("a"))
        writer.write(1)
        writer.writeMembers(of: ["b": [true, .null]])
        writer.name("c")
        writer.write(2.5)
        writer.endObject()
        writer.endObject()
        let value: JSON = [
            "text": "a \"quote\"", "a \"name\"": 1, "empty": [:], "inner": ["a": 1, "b": [true, .null], "c": 2.5],
        ]
        #expect(writer.take() == value.encoded())
        writer.write("again")
        #expect(writer.take() == Array(#""again""#.utf8))
    }

    @Test func `a tape is written like the value it was read from`() throws {
        let texts = [
            #""plain für 😀""#, #""""#, #""an \u0041 \"escape\" \/""#, "\"a\u{2028}b\"", "12", "-0.5e3", "true", "null",
            #"{"a":["b",{}]}"#, "\"" + String(repeating: "long ", count: 1000) + "\"",
        ]
        for text in texts {
            let tape = try JSONTape(Array(text.utf8))
            var writer = JSONWriter()
            writer.write(tape.root, of: tape)
            #expect(writer.take() == tape.value(of: tape.root).encoded())
        }
    }
}
