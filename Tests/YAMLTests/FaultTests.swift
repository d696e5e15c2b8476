import Testing
import YAML

@Suite struct FaultTests {
    @Test(arguments: [
        ("a: 1\nb: 2\na: 3\n", ["3:1 duplicate-key"]),
        ("{a: 1, \"a\": 2}\n", ["1:8 duplicate-key"]),
        ("<<: {a: 1}\n", ["1:1 merge-key"]),
        ("[a]: b\n", ["1:1 key-not-text"]),
        ("? {a: b}\n: c\n", ["1:3 key-not-text"]),
        (": b\n", ["1:1 empty-key"]),
        ("{: b}\n", ["1:2 empty-key"]),
        ("a: \"x\n", ["1:4 unclosed-quote"]),
        ("a: 'x\n---\nb\n", ["1:4 unclosed-quote"]),
        ("a: [1, 2\n", ["1:4 unclosed-bracket"]),
        ("a: [1\nb: 2\n", ["2:2 unclosed-bracket"]),
        ("a: {b: [c}\n", ["1:10 unclosed-bracket"]),
        ("a: \"\\d\"\n", ["1:5 bad-escape"]),
        ("a: \"\\ud83d\"\n", ["1:7 bad-escape"]),
        ("a: |0\n  x\n", ["1:5 block-header"]),
        ("- a\nb: c\n", ["2:1 indentation"]),
        ("a:\n  - b\n c: d\n", ["3:2 indentation"]),
        ("a: b\n...\nc: d\n", ["3:1 stray-text"]),
        ("%FOO\n---\na\n", ["1:1 directive"]),
        ("%YAML 1.1\n---\na\n", ["1:1 yaml-version"]),
        ("%YAML 2.0\n---\na\n", ["1:1 yaml-version"]),
        ("a: 'x'#y\n", ["1:7 comment-needs-space"]),
        ("a: 1\na: 2\nb: !!int x\n<<: 3\n", ["2:1 duplicate-key", "3:10 tag-mismatch", "4:1 merge-key"]),
        ("a: 1\na: 2\nb: [\n", ["2:1 duplicate-key", "3:4 unclosed-bracket"]),
    ])
    func `a syntax error is reported with its place and code`(_ text: String, _ expected: [String]) {
        #expect(places(text) == expected)
    }

    @Test func `a duplicate key is reported with the place of the first one`() throws {
        let fault = try #require(faults("a: 1\nb: 2\na: 3\n").first)
        #expect(fault.note?.range.description == "1:1-1:2")
        #expect(fault.range.description == "3:1-3:2")
    }

    @Test func `duplicate keys are found among many`() {
        let text = (0..<1000).map { "k\($0): x\n" }.joined() + "k7: y\nk999: z\n"
        #expect(places(text) == ["1001:1 duplicate-key", "1002:1 duplicate-key"])
    }

    @Test func `an unclosed bracket is reported with its place`() throws {
        #expect(try #require(faults("a: [1\nb: 2\n").first).note?.range.description == "1:4-1:5")
    }

    @Test func `reading stops after a hundred errors`() {
        let found = faults((0..<1000).map { _ in "a: 1\n" }.joined())
        #expect(found.count == 101)
        #expect(found.last?.code == .tooManyErrors)
    }

    @Test func `messages do not use libyaml's terms`() {
        let texts = [
            "a: b: c", "a: 'x' y", "- a\nb: c", "a: [", "a: \"\\d\"", "a: @x", "%X", "a\nb: c", "a: &", "a: !<x", "? a: b: c",
            "a: }",
        ]
        for fault in texts.flatMap({ faults($0) }) {
            for word in ["block mapping", "sequence", "token", "scalar", "scanning", "did not find", "context", "node"] {
                #expect(!fault.message.contains(word), "\(fault.message)")
            }
        }
    }

    @Test(
        arguments: [
            ([0xFF, 0xFE, 0x61, 0x00], "utf-16", 0), ([0xFE, 0xFF, 0x00, 0x61], "utf-16", 0),
            ([0x61, 0x00, 0x3A, 0x00], "utf-16", 0),
            ([0x00, 0x61], "utf-16", 0), (Array("a: ".utf8) + [0xE9], "not-utf8", 3),
            (Array("a: ä".utf8) + [0xC3], "not-utf8", 5),
            (Array("a: ".utf8) + [0xC0, 0x80], "not-utf8", 3), (Array("a: ".utf8) + [0xED, 0xA0, 0x80], "not-utf8", 3),
            (Array("a: ".utf8) + [0xF5, 0x80, 0x80, 0x80], "not-utf8", 3), (Array("a: b".utf8) + [0], "control-character", 4),
            (Array("a: ".utf8) + [0x07], "control-character", 3), (Array("a: ".utf8) + [0x7F], "control-character", 3),
            (Array("a: ".utf8) + [0xC2, 0x80], "control-character", 3), (Array("a: \u{FEFF}".utf8), "control-character", 3),
            (Array("a: \u{2028}".utf8), "line-separator", 3), (Array("a: \u{85}".utf8), "line-separator", 3),
        ] as [([UInt8], String, Int)])
    func `bytes that are not YAML are reported with their place`(_ bytes: [UInt8], _ code: String, _ offset: Int) throws {
        let fault = try #require(faults(bytes).first)
        #expect(fault.code.rawValue == code)
        #expect(fault.position.offset == offset)
    }

    @Test func `a byte of Latin-1 is reported with its letter`() throws {
        let fault = try #require(faults(Array("a: caf".utf8) + [0xE9]).first)
        #expect(fault.message == "byte 6 of the text, 0xE9, is not UTF-8")
        #expect(fault.help == "save the file as UTF-8; in Latin-1 the byte is `é`")
    }
}
