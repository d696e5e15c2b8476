import BellhopCore
import Testing

@testable import BellhopConnectors

struct SlackRendererTests {
    private func render(_ message: Message) -> JSON { SlackReceiver.render(message, from: SampleMessage.origin) }

    /// All strings with these keys, anywhere in the blocks.
    private func words(_ json: JSON, _ key: String = "text") -> [String] {
        switch json {
        case .array(let items): items.flatMap { words($0, key) }
        case .object(let members):
            members.flatMap { name, value in (name == key ? value.asString.map { [$0] } : nil) ?? words(value, key) }
        default: []
        }
    }

    private func types(_ json: JSON) -> Set<String> { Set(words(json, "type")) }

    @Test func `a message with every kind of content becomes the expected blocks`() throws {
        let expected = try JSON.parse(
            #"""
            {"text": "Critical: INC0010021 needs somebody\n\nSee now! or soon: rm -rf\nthe task (https://x.example/a b)\n\nSecond.\n\n1. one\n2. two\n\nState: In Progress\nGroup: Network\n\n- INC1 (https://x.example/1) a\n- INC2 b\nand 3 more\n\nOpen: https://acme.service-now.com/x?y=1&amp;z=2",
             "mrkdwn": false, "parse": "none", "link_names": false, "unfurl_links": false, "unfurl_media": false,
             "blocks": [
              {"type": "header", "text": {"type": "plain_text", "text": "🚨 INC0010021 needs somebody", "emoji": false}},
              {"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [
                  {"type": "text", "text": "See "}, {"type": "text", "text": "now!", "style": {"bold": true}},
                  {"type": "text", "text": " or "}, {"type": "text", "text": "soon", "style": {"italic": true}},
                  {"type": "text", "text": ": "}, {"type": "text", "text": "rm -rf", "style": {"code": true}},
                  {"type": "text", "text": "\n"},
                  {"type": "link", "url": "https://x.example/a%20b", "text": "the task"},
                  {"type": "text", "text": "\n\nSecond."}]},
                {"type": "rich_text_list", "style": "ordered", "elements": [
                  {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
                  {"type": "rich_text_section", "elements": [{"type": "text", "text": "two"}]}]}]},
              {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "text", "text": "State: ", "style": {"bold": true}}, {"type": "text", "text": "In Progress\n"},
                {"type": "text", "text": "Group: ", "style": {"bold": true}}, {"type": "text", "text": "Network"}]}]},
              {"type": "rich_text", "elements": [
                {"type": "rich_text_list", "style": "bullet", "elements": [
                  {"type": "rich_text_section", "elements": [
                    {"type": "link", "url": "https://x.example/1", "text": "INC1"}, {"type": "text", "text": " a"}]},
                  {"type": "rich_text_section", "elements": [{"type": "text", "text": "INC2 b"}]}]},
                {"type": "rich_text_section", "elements": [
                  {"type": "text", "text": "and 3 more", "style": {"italic": true}}]}]},
              {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open", "emoji": false},
                "url": "https://acme.service-now.com/x?y=1&z=2"}]},
              {"type": "context", "elements": [{"type": "plain_text", "emoji": false,
                "text": "critical · rule tell-ops · delivery 0123456789abcdef0123456789abcdef"}]}]}
            """#)
        #expect(render(SampleMessage.full) == expected, "\(render(SampleMessage.full).text(.pretty))")
    }

    @Test func `a message with only a title is a header and a line of context`() {
        #expect(
            render(SampleMessage.titled("Hello"))["blocks"]?.asArray?.compactMap { $0["type"]?.asString } == [
                "header", "context",
            ])
    }

    @Test func `newlines become spaces in titles, items and fields, and are kept in texts`() {
        let blocks = render(SampleMessage.saying("one\r\ntwo\u{2028}three\tfour"))["blocks"] ?? .null
        #expect(words(blocks[0] ?? .null) == ["one two three four"])
        #expect(words(blocks[1] ?? .null) == ["Says one\ntwo\nthree\tfour"])
        #expect(words(blocks[2] ?? .null).last == "one two three four")
        #expect(words(blocks[3] ?? .null) == ["one two three four"])
    }

    @Test func `overrides of direction and control characters are removed, and marks of direction are kept`() {
        let blocks = render(SampleMessage.saying("a\u{202E}b\u{2066}c\u{0}d\u{1B}[31m\u{200F}e\u{9B}f"))["blocks"] ?? .null
        #expect(words(blocks[1] ?? .null) == ["Says abcd[31m\u{200F}ef"])
    }

    @Test(arguments: [
        "javascript:alert(1)", "data:text/html,x", "https://good.example@evil.example/", "ftp://x.example/", "//x", "",
    ])
    func `only http and https addresses become links`(_ address: String) {
        var message = Message(
            title: [.text("t")], text: [.paragraph([.link(label: [.text("label")], address: [.value(address)])])])
        message.link = .init(label: "Open", address: address)
        let blocks = render(message)["blocks"] ?? .null
        #expect(types(blocks).isDisjoint(with: ["link", "button"]))
        #expect(words(blocks).contains(address.isEmpty ? "label ()" : "label (\(address))"))
    }

    @Test func `special characters in a linked address are percent-encoded`() {
        let message = Message(
            title: [.text("t")], text: [.paragraph([.link(label: [], address: [.value(#"https://x.example/a|b>c"d é"#)])])])
        #expect(words(render(message)["blocks"] ?? .null, "url") == ["https://x.example/a%7Cb%3Ec%22d%20%C3%A9"])
    }

    @Test(arguments: ["", " ", "\n"])
    func `a link with a blank label shows its address`(_ label: String) {
        let link = Message.Inline.link(label: [.value(label)], address: [.value("https://x.example/a")])
        let blocks = render(Message(title: [.text("t")], text: [.paragraph([link])]))["blocks"] ?? .null
        #expect(words(blocks, "url") == ["https://x.example/a"])
        #expect(words(blocks).contains("https://x.example/a"))
    }

    @Test func `a text that is cut where its style changes ends with an ellipsis too`() {
        let room = SlackLimits.element + 5
        for more: Message.Inline in [
            .strong([.value("more")]), .link(label: [.value("more")], address: [.value("https://x.example/")]),
        ] {
            var text = SlackRichText(room: room)
            text.add([.value("abcde"), more])
            #expect(text.runs == [.text("abcd…", .init())])
            text.add("later")
            #expect(text.runs == [.text("abcd…", .init())])
        }
        var whole = SlackRichText(room: room)
        whole.add([.value("abcde"), .lineBreak, .strong([.value(" ")])])
        #expect(whole.runs == [.text("abcde", .init())], "only blanks are left out")
    }

    @Test func `100 kB of text are cut with an ellipsis, within all limits`() {
        var message = SampleMessage.saying(String(repeating: "<&é", count: 25_000))
        message.list?.items = Array(repeating: [.value(String(repeating: "x", count: 5000))], count: 100)
        message.fields = Array(repeating: message.fields[0], count: 20)
        message.link = .init(label: String(repeating: "l", count: 500), address: "https://x.example/")
        let rendered = render(message)
        let blocks = rendered["blocks"] ?? .null
        #expect((blocks.asArray ?? []).count <= SlackLimits.blocks)
        let header = words(blocks[0] ?? .null).first ?? ""
        #expect(header.unicodeScalars.count == SlackLimits.header)
        #expect(header.hasSuffix("…"))
        let sum = (words(blocks) + words(blocks, "url")).reduce(0) { $0 + $1.unicodeScalars.count }
        #expect(sum <= SlackLimits.total)
        #expect(words(blocks).contains { $0.hasPrefix("and ") && $0.hasSuffix(" more") })
        let text = rendered["text"]?.asString ?? ""
        #expect(3800...4000 ~= text.utf8.count)
        // No entity is cut: without the complete ones no ampersand is left.
        let rest = text.replacing("&lt;", with: "").replacing("&amp;", with: "").replacing("&gt;", with: "")
        #expect(!rest.contains("&"))
        #expect(text.hasSuffix("…"))
    }

    @Test func `a message of very many short runs stays within the total limit`() {
        let runs = (0..<5000).flatMap { _ in [Message.Inline.text("a"), .strong([.text("b")])] }
        let message = Message(title: [.text("t")], text: [.paragraph(runs)], fields: [.init(name: [.text("n")], value: runs)])
        let elements = words(render(message)["blocks"] ?? .null).count
        #expect(elements * SlackLimits.element <= SlackLimits.total)
    }

    @Test func `a text is cut between characters as people see them`() {
        #expect(DisplayText.cut("ab👨‍👩‍👧cd", to: 5) == "ab…")
        #expect(DisplayText.cut("e\u{301}e\u{301}e\u{301}", to: 4) == "e\u{301}…")
        #expect(DisplayText.cut("abc", to: 3) == "abc")
        #expect(DisplayText.cut("abcd", to: 3) == "ab…")
        #expect(DisplayText.cut("abcd", to: 0) == "")
    }

    @Test func `a list too long for the message ends with the number of items left out`() {
        var message = SampleMessage.titled("t")
        message.list = .init(items: (0..<100).map { [.value("item \($0) " + String(repeating: "x", count: 190))] }, more: 7)
        let list = render(message)["blocks"]?[1]
        let shown = list?["elements"]?[0]?["elements"]?.asArray?.count ?? 0
        #expect(shown > 20)
        #expect(words(list?["elements"]?[1] ?? .null) == ["and \(107 - shown) more"])
    }

    @Test func `an empty list shows its substitute text`() {
        var message = SampleMessage.titled("t")
        message.list = .init(items: [], empty: [.text("Nothing open.")])
        #expect(words(render(message)["blocks"]?[1] ?? .null) == ["Nothing open."])
    }

    @Test func `a blank title is replaced by the rule's name`() {
        #expect(words(render(SampleMessage.titled(" \u{202E}\n"))["blocks"]?[0] ?? .null) == ["tell-ops"])
    }

    @Test func `a text without a title needs no header`() {
        let message = Message(title: [], text: [.paragraph([.text("It is late.")])])
        #expect(render(message)["blocks"]?.asArray?.compactMap { $0["type"]?.asString } == ["rich_text", "context"])
        #expect(render(message)["text"] == "It is late.")
    }

    @Test func `a fallback message states that the rule's own message could not be rendered`() {
        var message = SampleMessage.titled("t")
        message.isFallback = true
        let context = words(render(message)["blocks"]?[1] ?? .null).first ?? ""
        #expect(context.hasPrefix("The rule's own message could not be rendered"))
    }
}
