import Testing

@testable import YAML

/// The places in the file of the characters of a value.
@Suite struct ScalarPlacesTests {
    /// The place of the first occurrence of `needle` in the value of `a`.
    private func place(of needle: String, in text: String) throws -> String {
        let node = try #require(try root(text)["a"])
        let value = Array(try #require(node.scalarText).utf8)
        let wanted = Array(needle.utf8)
        let offset = try #require((0...value.count - wanted.count).first { Array(value[$0..<$0 + wanted.count]) == wanted })
        return node.range(ofUTF8: offset..<offset + wanted.count).description
    }

    @Test(arguments: [
        ("a: one recrod two\n", "recrod", "1:8-1:14"),
        ("a: größer recrod\n", "recrod", "1:11-1:17"),
        ("a: one\n  two\n\n  recrod three\n", "recrod", "4:3-4:9"),
        ("a: 'it''s a recrod'\n", "recrod", "1:13-1:19"),
        ("a: 'it''s'\n", "'", "1:7-1:9"),
        ("a: 'one\n  two recrod'\n", "recrod", "2:7-2:13"),
        ("a: \"x \\\"recrod\\\" y\"\n", "recrod", "1:9-1:15"),
        ("a: \"x \\\"recrod\\\" y\"\n", "\"", "1:7-1:9"),
        ("a: \"\\u00e9\\x41 é recrod\"\n", "recrod", "1:18-1:24"),
        ("a: \"\\U0001F600recrod\"\n", "recrod", "1:15-1:21"),
        ("a: \"one \\\n   recrod\"\n", "recrod", "2:4-2:10"),
        ("a: \"one \\\n   \\  recrod\"\n", "recrod", "2:7-2:13"),
        ("a: \"one\n\n   recrod\"\n", "recrod", "3:4-3:10"),
        ("a: |\n  one\n  ä recrod\n", "recrod", "3:5-3:11"),
        ("a: |2\n    one\n  recrod\n", "recrod", "3:3-3:9"),
        ("a: |2-\n    one\n     recrod\n", "recrod", "3:6-3:12"),
        ("a: >\n  one\n  two\n\n  recrod\n", "recrod", "5:3-5:9"),
        ("a: >-  # folded\n\n\n   one\n     more\n   recrod\n", "recrod", "6:4-6:10"),
        ("a: >+\n  one\n  recrod\n\n\n", "recrod", "3:3-3:9"),
        ("a: |\r\n  one\r\n  recrod\r\n", "recrod", "3:3-3:9"),
        ("a: &x !!str one recrod\n", "recrod", "1:17-1:23"),
    ])
    func `a word of a value has its place in the file`(_ text: String, _ word: String, _ place: String) throws {
        #expect(try self.place(of: word, in: text) == place)
    }

    @Test func `an indentation indicator counts from the parent`() throws {
        let node = try root("x:\n  - y:\n      - a: |1\n          one\n         two\n")
        let block = try #require(node["x"]?.items?.first?["y"]?.items?.first?["a"])
        #expect(block.scalarText == " one\ntwo\n")
        #expect(block.range(ofUTF8: 5..<5).start.description == "5:10")
    }

    @Test func `a block without a line of its own is empty`() throws {
        let node = try #require(try root("- a: |2-\n  # no line of the block\n").items?.first?["a"])
        #expect(node.scalarText == "")
        #expect(node.range(ofUTF8: 0..<0).start.line == 2)
    }

    @Test func `the end of a value has a place`() throws {
        #expect(try root("a: one\n")["a"]?.range(ofUTF8: 3..<3).start.description == "1:7")
        #expect(try root("a: 'one'\n")["a"]?.range(ofUTF8: 3..<3).start.description == "1:8")
        #expect(try root("a: |-\n  one\n\n")["a"]?.range(ofUTF8: 3..<3).start.description == "2:6")
        #expect(try root("a:\nb: 1\n")["a"]?.range(ofUTF8: 0..<0).start.description == "1:3")
        #expect(try root("a: ''\n")["a"]?.range(ofUTF8: 0..<0).start.description == "1:5")
    }

    @Test func `offsets beyond the value, and nodes without text, have the nearest place`() throws {
        let node = try root("a: one\nb: [1]\n")
        #expect(node["a"]?.range(ofUTF8: 99..<99).start.description == "1:7")
        #expect(node["a"]?.range(ofUTF8: -1 ..< -1).start.description == "1:4")
        #expect(node["b"]?.range(ofUTF8: 5..<5).start.description == "2:4")
        #expect(node["a"]?.range(ofUTF8: 1..<99).description == "1:5-1:7")
    }

    @Test func `the places of a value's characters are in order, in every style`() throws {
        let value = "größe == \"ä\" && it's 👍 or\nnot\n\n  deep\nend"
        let texts = [
            "a: 'größe == \"ä\" && it''s 👍 or\n\n  not\n\n\n  deep'\n",
            "a: \"größe == \\\"ä\\\" && it's \\U0001F44D or\\nnot\"\n",
            "a: |-\n" + value.split(separator: "\n", omittingEmptySubsequences: false).map { "   \($0)\n" }.joined(),
            "a: >\n" + value.split(separator: "\n", omittingEmptySubsequences: false).map { "   \($0)\n" }.joined(),
            "a: größe && it's 👍 or\n  not\n\n\n  deep\n",
        ]
        for text in texts {
            let node = try #require(try root(text)["a"])
            let scalar = try #require(node.scalar)
            let places = ScalarPlaces(scalar, node.range, in: node.source)
            #expect(String(decoding: places.bytes, as: UTF8.self) == scalar.text)
            let offsets = (0...scalar.text.utf8.count).map(places.offset)
            #expect(offsets == offsets.sorted())
            // Each character that is unescaped in the file stands at its place.
            for (offset, byte) in scalar.text.utf8.enumerated() where byte > 0x40 && byte < 0x7F {
                #expect(node.source.bytes[offsets[offset]] == byte || node.source.bytes[offsets[offset]] == 0x5C)
            }
        }
    }
}
