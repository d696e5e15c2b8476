import Testing
import YAML

/// Common mistakes, each with the corrected line.
@Suite struct MistakeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let code: YAMLError.Code
        let corrected: String?

        init(_ text: String, _ code: YAMLError.Code, _ corrected: String?) {
            (self.text, self.code, self.corrected) = (text, code, corrected)
        }

        var testDescription: String { text.debugDescription }
    }

    static let conditions: [Case] = [
        Case("when: a ? b : c", .colonInValue, #"when: "a ? b : c""#),
        Case("  - if: a ? \"b\" : c  # choose", .colonInValue, #"  - if: 'a ? "b" : c'  # choose"#),
        Case("when: !task.active", .leadingCharacter, #"when: "!task.active""#),
        Case("when: !task.active && x", .leadingCharacter, #"when: "!task.active && x""#),
        Case("when: !has(task.x)", .leadingCharacter, #"when: "!has(task.x)""#),
        Case("when: ! x", .leadingCharacter, #"when: "! x""#), Case("when: \"a\" == b", .textAfterQuote, #"when: '"a" == b'"#),
        Case("when: \"a\" == \"b\" # c", .textAfterQuote, #"when: '"a" == "b"' # c"#),
        Case("when: 'a' in x", .textAfterQuote, #"when: "'a' in x""#),
        Case("when: \"it's\" == 'x'", .textAfterQuote, #"when: '"it''s" == ''x'''"#),
        Case("when: [1,2].exists(x, x == 1)", .textAfterBracket, #"when: "[1,2].exists(x, x == 1)""#),
        Case("when: {\"a\": 1}.size() == 1", .textAfterBracket, #"when: '{"a": 1}.size() == 1'"#),
        Case("when: @x", .leadingCharacter, #"when: "@x""#), Case("when: *x.y", .leadingCharacter, #"when: "*x.y""#),
        Case("text: **bold** words", .leadingCharacter, #"text: "**bold** words""#),
        Case("text: `code`", .leadingCharacter, #"text: "`code`""#), Case("text: %d", .leadingCharacter, #"text: "%d""#),
        Case("when: > 5", .leadingCharacter, #"when: "> 5""#),
    ]

    static let texts: [Case] = [
        Case("text: Hello: world", .colonInValue, #"text: "Hello: world""#),
        Case("text: größer: ${{ task.number }} ", .colonInValue, #"text: "größer: ${{ task.number }}" "#),
        Case("text: 'It's broken'", .textAfterQuote, #"text: "It's broken""#),
        Case("text: \"say \"hi\" now\"", .textAfterQuote, #"text: 'say "hi" now'"#),
        Case("- log: {text: ${{ task.number }}: x, b}", .commaInFlow, #"- log: {text: "${{ task.number }}: x, b"}"#),
        Case("log: {text: ${{ task.number }}}", .templateInFlow, #"log: {text: "${{ task.number }}"}"#),
        Case(
            "log: {a: ${{ b }}, c: [${{ d.e(1, 2) }}, f]}", .templateInFlow, #"log: {a: "${{ b }}", c: ["${{ d.e(1, 2) }}", f]}"#),
        Case(
            "do: [log: {text: hi ${{ task.number }}, level: info}]", .templateInFlow,
            #"do: [log: {text: "hi ${{ task.number }}", level: info}]"#),
        Case("do: [log: ${{ task.number }}, b]", .templateInFlow, #"do: [log: "${{ task.number }}", b]"#),
        Case("log: {a: ${{ {\"x\": {}} }}}", .templateInFlow, #"log: {a: '${{ {"x": {}} }}'}"#),
        Case("log: {to: ops, text: Hello, world}", .commaInFlow, #"log: {to: ops, text: "Hello, world"}"#),
        Case("log: {if: a ? b : c, to: ops}", .colonInValue, #"log: {if: "a ? b : c", to: ops}"#),
        Case("log: {if: x in [1, 2], to: ops}", .textAfterBracket, #"log: {if: "x in [1, 2]", to: ops}"#),
        Case("log: {if: !x, to: ops}", .leadingCharacter, #"log: {if: "!x", to: ops}"#),
        Case("log: {text: ${{ a # b }}, to: ops}", .templateInFlow, #"log: {text: "${{ a # b }}", to: ops}"#),
        Case("log: {a:1}", .missingColon, "log: {a: 1}"), Case("log: [a]]", .unclosedBracket, "log: [a]"),
        Case(#"match: "\d+\n""#, .badEscape, #"match: "\\d+\n""#), Case("a: 'x'#y", .commentNeedsSpace, "a: 'x' #y"),
        Case("a: |#y\n  z", .commentNeedsSpace, "a: | #y"), Case("rule my-rule\non: x", .missingColon, "rule: my-rule"),
        Case("text: \"open", .unclosedQuote, "text: \"open\""), Case("%YAML 1.1\n---\na: b", .version, "%YAML 1.2"),
    ]

    static let layout: [Case] = [
        Case("a:\n\tb: c", .tabIndentation, "  b: c"), Case("a:\n    b: c\n\td: e", .tabIndentation, "    d: e"),
        Case("- a\n\t- b", .tabIndentation, "- b"), Case("- a: 1\n\tb: 2", .tabIndentation, "  b: 2"),
        Case("a: |\n\ttext", .tabIndentation, "  text"), Case("-\ta: b", .tabIndentation, "- a: b"),
        Case("x: y\na:\u{A0}b\nc: d", .missingColon, "a: b"), Case("a:\u{A0}b\nc: d", .strayColon, "a: b"),
        Case("a: b\n\n\t\nc: d", .tabIndentation, ""), Case("a: b\n  c: d", .indentation, "c: d"),
        Case("when: x &&\n  y ? b : c\n  || z", .colonInValue, "when: >-\n  x &&\n  y ? b : c\n  || z"),
        Case("text: one # two\n  three", .cutByComment, "text: >-\n  one # two\n  three"),
        Case("a: {\n  text: ${{ x }},\n  b: c\n}", .templateInFlow, #"  text: "${{ x }}","#),
        Case("a: {\n  to: ops, text: b, c\n}", .commaInFlow, #"  to: ops, text: "b, c""#),
    ]

    @Test(arguments: conditions + texts + layout)
    func `a common mistake is reported with the corrected line`(_ mistake: Case) throws {
        let found = faults(mistake.text)
        #expect(found.first?.corrected == mistake.corrected)
        #expect(found.first?.code == mistake.code)
        #expect(found.count == 1)
    }

    @Test(arguments: conditions + texts + layout)
    func `a common mistake is found in a Windows file with umlauts`(_ mistake: Case) {
        guard mistake.code != .version else { return }
        let text =
            "ä: ö\r\nlist:\r\n  - x\r\n---\r\n"
            + mistake.text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        #expect(faults(text).first?.corrected == mistake.corrected)
    }

    @Test func `each of several mistakes is reported if reading can go on`() {
        #expect(
            places("a: !x\nb: !y z\nc: {d: e, f}\n") == ["1:4 leading-character", "2:4 leading-character", "3:11 comma-in-flow"])
    }

    @Test func `no corrected line is shown if there is no obvious correction`() {
        #expect(faults("a: [1\nb: 2\n").allSatisfy { $0.corrected == nil })
        #expect(faults("[a]: b\n").allSatisfy { $0.corrected == nil })
        #expect(faults("a: !!binary x\n").allSatisfy { $0.corrected == nil })
    }

    @Test func `a mistake at a known key is corrected by the kind of value that the key has`() throws {
        func corrected(_ text: String, _ keys: KnownKeys) -> String? {
            do throws(YAMLErrors) {
                _ = try YAML.parse(SourceText(text), keys: keys)
                return nil
            } catch { return error.errors.first?.corrected }
        }
        let keys = KnownKeys(lists: ["steps"], mappings: ["after"])
        #expect(corrected("after: time: 5m", keys) == "after: {time: 5m}")
        #expect(corrected("after: time: 5m", KnownKeys()) == #"after: "time: 5m""#)
        #expect(corrected("steps: log: hi", keys) == "steps:\n  - log: hi")
        #expect(corrected("steps: log: hi", KnownKeys()) == #"steps: "log: hi""#)
        #expect(corrected("when: a\n- log: hi", keys) == "steps:\n- log: hi")
        #expect(corrected("when: a\n- log: hi", KnownKeys()) == nil)
    }

    @Test func `the help and the place of a common mistake point at its cause`() throws {
        let fault = try #require(faults("when: größe ? b : c\n").first)
        #expect(fault.range.description == "1:17-1:18")
        #expect(fault.message == "YAML reads a colon followed by a space as the end of a key")
        #expect(fault.help == "put the whole value in quotes")
    }
}
