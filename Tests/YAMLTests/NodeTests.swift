import Testing
import YAML

@Suite struct NodeTests {
    @Test func `a mapping keeps the order of its keys`() throws {
        let node = try root("do: 1\nrule: a\nwhen: x == 1\n")
        #expect(node.mapping?.names == ["do", "rule", "when"])
        #expect(outline(node) == #"{do: 1, rule: "a", when: "x == 1"}"#)
    }

    @Test func `the key and the value of a pair have places of their own`() throws {
        let pair = try #require(try root("rule: a\nwhen:  x == 1  # CEL\n").mapping?["when"])
        #expect(pair.key.range.description == "2:1-2:5")
        #expect(pair.value.range.description == "2:8-2:14")
        #expect(pair.value.range.start.offset == 15)
    }

    @Test func `columns count Unicode scalars, and offsets count bytes`() throws {
        let node = try root("größe: „straße“\nemoji: [👩‍👩‍👧, ü]\n")
        let value = try #require(node["größe"])
        #expect(value.range.start == Position(offset: 9, line: 1, column: 8))
        #expect(value.range.end == Position(offset: 22, line: 1, column: 16))
        let umlaut = try #require(node["emoji"]?.items?.last)
        #expect(umlaut.range.start.column == 16)
        #expect(node.source.text(in: umlaut.range) == "ü")
    }

    @Test(arguments: ["\n", "\r\n", "\r"]) func `places do not depend on the kind of line break`(_ lineBreak: String) throws {
        let text = ["a: ä", "b:", "  - c", "  - {d: é, e: f}"].joined(separator: lineBreak)
        let entry = try #require(try root(text)["b"]?.items?.last)
        #expect(entry["e"]?.range.description == "4:15-4:16")
        #expect(entry["e"].map { $0.source.text(in: $0.range) } == "f")
        #expect(entry.source.line(4) == "  - {d: é, e: f}")
    }

    @Test func `a byte order mark is not a character`() throws {
        let node = try root("\u{FEFF}a: ä\nb: c\n")
        #expect(node.range.start == Position(offset: 3, line: 1, column: 1))
        #expect(node["b"]?.range.start == Position(offset: 12, line: 2, column: 4))
        #expect(node.source.line(1) == "a: ä")
    }

    @Test func `a block ends with its last element, and a bracketed value with its bracket`() throws {
        let node = try root("a:\n  - b\n  - c: d\n\n\n# end\ne: [1,\n  2 ]\nf: |\n  text\n\n\n")
        #expect(node["a"]?.range.description == "2:3-3:9")
        #expect(node["e"]?.range.description == "7:4-8:6")
        #expect(node["f"]?.range.description == "9:4-10:7")
    }

    @Test func `the place of a missing value is after its colon`() throws {
        let value = try #require(try root("a:\nb: 1\n")["a"])
        #expect(value.isNull)
        #expect(value.range.description == "1:3-1:3")
        #expect(value.scalarText == "")
    }

    @Test func `the last value of a text without a final line break ends with the text`() throws {
        #expect(try root("ä: [b]").range.description == "1:1-1:7")
        #expect(try root("? b ")["b"]?.range.description == "1:5-1:5")
    }

    @Test func `the range of a node excludes its anchor and tag`() throws {
        let node = try root("a: &x !!str  12\nb: !!map\n  c: d\ne: !!str &y 'f'\n")
        #expect(node["a"]?.range.description == "1:14-1:16")
        #expect(node["b"]?.range.description == "3:3-3:7")
        #expect(node["e"]?.range.description == "4:13-4:16")
    }

    @Test func `a stream can hold several documents`() throws {
        let documents = try YAML.parse("rule: a\n---\nrule: b\n--- # nothing\n...\n---\n[c]\n")
        #expect(documents.map { outline($0.root) } == [#"{rule: "a"}"#, #"{rule: "b"}"#, "null", #"["c"]"#])
        #expect(documents.map(\.isEmpty) == [false, false, true, false])
        #expect(documents[1].root.range.description == "3:1-3:8")
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "\u{FEFF}"])
    func `a text without content has no documents`(_ text: String) throws { #expect(try YAML.parse(text).isEmpty) }

    @Test func `kinds of nodes have names for messages`() throws {
        let items = try #require(try root("[~, true, 1, 1.5, a, [], {}]").items)
        #expect(
            items.map(\.kind.description) == [
                "nothing", "true or false", "a whole number", "a number", "a text", "a list", "a mapping",
            ])
    }

    @Test func `an accessor for another kind of node returns nil`() throws {
        let node = try root("a: [1]\n")
        #expect(node["b"] == nil)
        #expect(node.items == nil)
        #expect(node.scalarText == nil)
        #expect(node["a"]?.mapping == nil)
        #expect(node["a"]?["x"] == nil)
    }

    @Test func `the directive %YAML 1.2 is accepted`() throws {
        #expect(outline(try root("%YAML 1.2\n---\na: yes\n")) == #"{a: "yes"}"#)
    }

    @Test func `JSON is read as YAML`() throws {
        let node = try root(#"{"a":[1,2.5,null,true,"\u00e9\/"],"b":{"c":"d"}}"#)
        #expect(outline(node) == #"{a: [1, 2.5, null, true, "é/"], b: {c: "d"}}"#)
    }
}
