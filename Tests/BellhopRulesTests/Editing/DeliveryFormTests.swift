import BellhopCore
import BellhopTesting
import Testing
import YAML

@testable import BellhopRules

@Suite struct `Editing the arguments of a delivery as text` {
    private static let webhook = ActionManifest(
        kind: "webhook", summary: "", receiver: .namedOrAddress,
        arguments: [
            Setting("url", .address, ""), Setting("to", .list(.name), ""),
            Setting("method", .oneOf(["POST", "PUT"]), default: "POST", ""), Setting("json", .json, ""),
            Setting("text", .text, ""), Setting("timeout", .duration, least: "1s", ""), Setting("limit", .size, ""),
        ], exclusive: [["json", "text"]])

    private static let notify = ActionManifest(
        kind: "notify", summary: "", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, ""), Setting("title", .text, ""), Setting("text", .markdown, ""),
            Setting("list", .record([Setting("of", .expression, required: true, "")]), ""),
            Setting("severity", .oneOf(["info", "warning", "error", "critical"]), default: "info", ""),
            Setting(
                "link", .either([.text, .record([Setting("address", .text, required: true, ""), Setting("label", .text, "")])]),
                ""),
            Setting("fields", .map(.text), ""), Setting("thread", .text, ""), Setting("update", .boolean, default: "false", ""),
            Setting(
                "sections",
                .list(
                    .record([
                        Setting("title", .text, ""), Setting("text", .markdown, ""),
                        Setting("list", .record([Setting("of", .expression, required: true, "")]), ""),
                    ])), ""), Setting("mentions", .list(.record([Setting("user", .text, ""), Setting("group", .text, "")])), ""),
        ], isMessage: true)

    private static let message = Message(
        title: [.text("New: "), .value("INC1 *x*")],
        text: [
            .paragraph([.text("A "), .strong([.value("pr_int*er")]), .text(" burns"), .lineBreak, .value("- [see](it)")]),
            .list(
                ordered: true,
                items: [[.code([.value("a`b")])], [.link(label: [.text("here")], address: [.text("https://x.example/?a=(1)")])]]),
        ],
        list: Message.List(items: [[.value("1. one")], [.value("two")]], more: 3, empty: [.text("none")]),
        fields: [.init(name: [.text("State")], value: [.value("New")])],
        sections: [
            Message.Section(title: [.value("One")], text: [.paragraph([.value("*1*")])]),
            Message.Section(title: [.value("Two")], list: Message.List(items: [[.value("2")]])),
        ], severity: .warning,
        link: .init(label: "Open", address: "https://x.example/1"), mentions: [.user("U1"), .group("ops")], thread: "INC1",
        update: true)

    private func delivery(_ arguments: Arguments) -> Delivery {
        Delivery(
            id: Delivery.ID(occasion: Occasion.event(Event.ID("1")).id, rule: "r", step: StepPath(index: 0), receiver: "ops"),
            revision: "1", action: "a", arguments: arguments, task: nil, lane: "ops", createdAt: TestClock().now)
    }

    private func form(_ arguments: Arguments) -> DeliveryForm {
        if case .message = arguments { return DeliveryForm(delivery(arguments), action: Self.notify) }
        return DeliveryForm(delivery(arguments), action: Self.webhook)
    }

    @Test func `any value is written so that it is read back unchanged`() throws {
        var random = SeededRandom(seed: 7)
        let pieces = [
            "a", "true", "5", "0x1f", "- ", "# ", ": ", "\n", "\t", " ", "\"", "'", "\\", "é", "\u{202E}", "\u{0}", "\u{FEFF}",
            "🙂", "|", "~", "${{ x }}", "\r", "\u{85}", "\u{2028}", "{", "[", "&", "*", "!", "%", "@", "null", "=", "<<",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
        }
        func value(_ depth: Int) -> JSON {
            switch Int.random(in: 0...(depth > 3 ? 4 : 6), using: &random) {
            case 0: .null
            case 1: .bool(Bool.random(using: &random))
            case 2: .int(Int64.random(in: -9...9_999_999_999, using: &random))
            case 3, 4: .string(text())
            case 5: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth + 1) })
            default:
                .object(
                    (0..<Int.random(in: 0...3, using: &random)).reduce(into: JSON.Object()) { object, _ in
                        object[text()] = value(depth + 1)
                    })
            }
        }
        for _ in 0..<3000 {
            let json = value(0)
            let written = form(.values(["method": "PUT", "json": json]))
            let (arguments, _) = try written.read(written.text)
            guard arguments == .values(["method": "PUT", "json": json]) else {
                Issue.record("\(json.text) was written as\n\(written.text)")
                return
            }
        }
    }

    @Test func `durations and sizes are written as in rules, and read back as stored`() throws {
        let values: JSON.Object = ["method": "POST", "timeout": 90_000_000, "limit": 64_000]
        #expect(form(.values(values)).text == "method: POST\ntimeout: \"1m30s\"\nlimit: \"64000B\"\n")
        #expect(try form(.values(values)).read(form(.values(values)).text).arguments == .values(values))
    }

    @Test func `arguments that the form does not show keep the rule's values`() throws {
        let values: JSON.Object = ["method": "POST", "text": "a", ActionManifest.computedHost: true]
        let form = form(.values(values))
        #expect(form.text == "method: POST\ntext: a\n")
        #expect(
            try form.read("method: PUT\ntext: b\n").arguments
                == .values(["method": "PUT", "text": "b", ActionManifest.computedHost: true]))
    }

    @Test func `mistakes are reported with their places, all at once`() throws {
        let form = form(.values(["method": "POST", "text": "a"]))
        let text = "# a comment\nmethod: GET\ntext: a\njson: {}\ntimeout: 1ms\nurl: http://example.com/\ntoo: ops\n"
        let error = #expect(throws: Diagnostics.self) { try form.read(text) }
        let problems = error?.all ?? []
        #expect(problems.map(\.code) == ["wrong-value", "too-small", "unknown-key", "two-values", "plain-http"])
        #expect(problems.map(\.place?.line) == [2, 5, 7, 4, 6])
        #expect(problems.allSatisfy { $0.place?.file == "delivery.yaml" })
        for text in ["", "# nothing", "a: 1\n---\nb: 2", "a: [", "text"] {
            #expect(throws: Diagnostics.self) { try form.read(text) }
        }
    }

    @Test func `a template in an edited text stays plain text`() throws {
        let form = form(.values(["text": "a", "method": "POST"]))
        #expect(try form.read("text: ${{ secret.x }}\n").arguments == .values(["text": "${{ secret.x }}", "method": "POST"]))
    }

    @Test func `an unedited message stays the same`() throws {
        let form = form(.message(Self.message))
        #expect(try form.read(form.text).arguments == .message(Self.message))
    }

    @Test func `an edit of one part of a message leaves the other parts unchanged`() throws {
        let form = form(.message(Self.message))
        var expected = Self.message
        expected.severity = .critical
        #expect(
            try form.read(form.text.replacing("severity: warning", with: "severity: critical")).arguments == .message(expected))
        expected.severity = .warning
        expected.sections[1].title = [.value("Three")]
        #expect(try form.read(form.text.replacing("title: Two", with: "title: Three")).arguments == .message(expected))
    }

    @Test func `edited text is parsed as Markdown, with its words as values`() throws {
        let form = form(.message(Self.message))
        let edited = try form.read("title: <!channel> *now*\ntext: \"**Look** at \\\\*this\\\\*\"\n").arguments
        let message = try #require(edited.message)
        #expect(message.title == [.value("<!channel> *now*")])
        #expect(message.text == [.paragraph([.strong([.value("Look")]), .value(" at *this*")])])
        #expect(message.list == nil)
        #expect(message.severity == .info)
    }

    @Test func `the Markdown of a message is read back with the same structure and words`() throws {
        let text = MarkdownWriter.text(Self.message.text)
        let blocks = MarkdownTemplate(text.unicodeScalars.map(MarkdownTemplate.Unit.scalar)).filled([])
        #expect(
            blocks == [
                .paragraph([.text("A "), .strong([.text("pr_int*er")]), .text(" burns"), .lineBreak, .text("- [see](it)")]),
                .list(
                    ordered: true,
                    items: [
                        [.code([.text("a`b")])],
                        [.link(label: [.text("here")], address: [.text("https://x.example/?a=%281%29")])],
                    ]),
            ])
    }

    @Test func `marks before an accent and after a line's end from Windows are escaped`() {
        let line = MarkdownWriter.line([.code([.text("`\u{301}a")]), .value(" b\r\n- c")])
        #expect(Array(line.utf8) == Array("`` `\u{301}a `` b\r\n\\- c".utf8))
    }

    @Test func `a message without any words is refused`() throws {
        let form = form(.message(Self.message))
        #expect(throws: Diagnostics.self) { try form.read("severity: info\n") }
    }
}
