import BellhopCore
@testable import BellhopRules
import BellhopTesting
import Testing

@Suite struct MarkdownTests {
    typealias Inline = Message.Inline

    /// The Markdown of a text in which each `@` is a hole for a value: "V1", "V2", …
    private static func read(_ text: String) -> [Message.Block] {
        var holes = 0
        let units = text.unicodeScalars.map { scalar -> MarkdownTemplate.Unit in
            guard scalar == "@" else { return .scalar(scalar) }
            defer { holes += 1 }
            return .hole(holes)
        }
        return MarkdownTemplate(units).filled((0..<holes).map { "V\($0 + 1)" })
    }

    @Test(
        arguments: [
            ("plain words", [.text("plain words")]),
            ("**bold** and *italic*", [.strong([.text("bold")]), .text(" and "), .emphasis([.text("italic")])]),
            ("__bold__ and _italic_", [.strong([.text("bold")]), .text(" and "), .emphasis([.text("italic")])]),
            ("***both***", [.strong([.emphasis([.text("both")])])]),
            ("**bold *and italic* again**", [.strong([.text("bold "), .emphasis([.text("and italic")]), .text(" again")])]),
            ("*italic **and bold***", [.emphasis([.text("italic "), .strong([.text("and bold")])])]),
            ("snake_case_name stays", [.text("snake_case_name stays")]),
            ("2 * 3 * 4", [.text("2 * 3 * 4")]),
            ("**open", [.text("**open")]),
            ("`code *as is*`", [.code([.text("code *as is*")])]),
            ("``a ` b``", [.code([.text("a ` b")])]),
            ("`open", [.text("`open")]),
            (#"\*not italic\* \[no link\](x)"#, [.text("*not italic* [no link](x)")]),
            (#"a \ b"#, [.text(#"a \ b"#)]),
            ("[a label](https://x.example/y)", [.link(label: [.text("a label")], address: [.text("https://x.example/y")])]),
            ("[**a**](https://x)", [.link(label: [.strong([.text("a")])], address: [.text("https://x")])]),
            ("[a](https://x/(b))", [.link(label: [.text("a")], address: [.text("https://x/(b)")])]),
            ("[a] (b)", [.text("[a] (b)")]), ("[a](b c)", [.text("[a](b c)")]), ("[a](", [.text("[a](")]),
            ("@", [.value("V1")]),
            ("**@**: @", [.strong([.value("V1")]), .text(": "), .value("V2")]),
            ("_@_", [.emphasis([.value("V1")])]),
            ("@_@_", [.value("V1"), .text("_"), .value("V2"), .text("_")]),
            ("`@`", [.code([.value("V1")])]),
            ("[@](@)", [.link(label: [.value("V1")], address: [.value("V2")])]),
            (
                "[@](https://x/@?a=1)",
                [.link(label: [.value("V1")], address: [.text("https://x/"), .value("V2"), .text("?a=1")])]
            ),
            ("one\ntwo", [.text("one"), .lineBreak, .text("two")]),
            ("# no heading", [.text("# no heading")]),
        ] as [(String, [Inline])])
    func `a line is read as bold, italic, code, links and text`(_ text: String, _ expected: [Inline]) {
        #expect(Self.read(text) == [.paragraph(expected)])
    }

    @Test(
        arguments: [
            ("", []),
            ("one\n\ntwo\n", [.paragraph([.text("one")]), .paragraph([.text("two")])]),
            ("It\n2026. was a year", [.paragraph([.text("It"), .lineBreak, .text("2026. was a year")])]),
            ("7. August", [.paragraph([.text("7. August")])]),
            (
                "Closed:\n\n24. to 26. December\n31. December",
                [
                    .paragraph([.text("Closed:")]),
                    .paragraph([.text("24. to 26. December"), .lineBreak, .text("31. December")]),
                ]
            ),
            (
                "1. a\n\n2. b\n\n7. August",
                [
                    .list(ordered: true, items: [[.text("a")], [.text("b")]]), .paragraph([.text("7. August")]),
                ]
            ),
            ("- a\n- *b*\n", [.list(ordered: false, items: [[.text("a")], [.emphasis([.text("b")])]])]),
            ("* a\n+ b", [.list(ordered: false, items: [[.text("a")], [.text("b")]])]),
            ("1. a\n2) b", [.list(ordered: true, items: [[.text("a")], [.text("b")]])]),
            ("- a\n\n- b", [.list(ordered: false, items: [[.text("a")], [.text("b")]])]),
            (
                "Steps:\n1. a\n   more\n2. b\n\nEnd",
                [
                    .paragraph([.text("Steps:")]),
                    .list(ordered: true, items: [[.text("a"), .lineBreak, .text("more")], [.text("b")]]),
                    .paragraph([.text("End")]),
                ]
            ),
            ("- a\n  - b", [.list(ordered: false, items: [[.text("a")], [.text("b")]])]),
            ("-a\n1.b", [.paragraph([.text("-a"), .lineBreak, .text("1.b")])]),
            ("@ first", [.paragraph([.value("V1"), .text(" first")])]),
        ] as [(String, [Message.Block])])
    func `lines are read as paragraphs and flat lists`(_ text: String, _ expected: [Message.Block]) {
        #expect(Self.read(text) == expected)
    }

    @Test func `an item of a list is one line, whatever its markup`() {
        let units = "a\n\n- b\n- c".unicodeScalars.map(MarkdownTemplate.Unit.scalar)
        #expect(MarkdownTemplate(units).filledInline([]).plainText == "a\n- b\n- c")
    }

    @Test func `a link without an address is its label`() {
        let units: [MarkdownTemplate.Unit] = [
            .scalar("["), .hole(0), .scalar("]"), .scalar("("), .hole(1), .scalar(")"), .scalar("!"),
        ]
        #expect(MarkdownTemplate(units).filledInline(["No mail", ""]) == [.value("No mail"), .text("!")])
    }

    @Test func `unclosed markup is parsed in linear time`() {
        let time = ThreadTime.shortest {
            for text in ["*", "**a ", "[", "[a](", "`a ``b ", "_a_", "\\"] {
                _ = Self.read(String(repeating: text, count: 4000 / text.utf8.count))
            }
        }
        #expect(time < .seconds(10))
    }

    @Test(
        arguments: [
            ("no template", [.text("no template")]), ("$${{ task }}", [.text("${{ task }}")]),
            ("a ${{ b }} c", [.text("a "), .expression("b", 6..<7), .text(" c")]),
            ("${{ {'a': {'b': 1}} }}", [.expression("{'a': {'b': 1}}", 4..<19)]),
            ("${{ '}}' }}", [.expression("'}}'", 4..<8)]), ("ä${{x}}", [.text("ä"), .expression("x", 5..<6)]),
            ("${{ a }}${{ b }}", [.expression("a", 4..<5), .expression("b", 12..<13)]),
            ("$ {{ a }} }} ${ x", [.text("$ {{ a }} }} ${ x")]),
        ] as [(String, [TemplateText.Piece])])
    func `the end of a template is found by the lexer of expressions`(_ text: String, _ pieces: [TemplateText.Piece]) throws {
        #expect(try TemplateText(text).pieces == pieces)
    }
}
