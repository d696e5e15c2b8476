import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// Every renderer, read by an independent reader of its format.
@Suite(.timeLimit(.minutes(5))) struct RenderingPropertyTests {
    @Test func `there are at least 200 different hostile texts`() {
        #expect(Set(HostileTexts.all.map { Array($0.unicodeScalars) }).count >= 200)
    }

    @Test(arguments: RenderedKind.all)
    func `a hostile text is shown character by character in every part of a message`(_ kind: RenderedKind) {
        for text in HostileTexts.all { check(MessageMaker.everywhere(text), kind) }
    }

    @Test(arguments: RenderedKind.all)
    func `a random message shows exactly its texts with the rule's own markup`(_ kind: RenderedKind) {
        for run in 0..<UInt64(RandomRuns.count(100)) {
            var maker = MessageMaker(seed: RandomRuns.seed(run))
            check(maker.message(), kind)
        }
    }

    @Test(arguments: RenderedKind.all)
    func `a text of any length is cut within the limit, without a broken mark, and keeps its link`(_ kind: RenderedKind) {
        var texts = HostileTexts.all.filter { !$0.isEmpty }.enumerated().filter { $0.offset % 8 == 0 }.map {
            String(repeating: $0.element, count: 9000 / $0.element.utf8.count)
        }
        texts.append(HostileTexts.long)
        texts.append("e" + String(repeating: "\u{301}", count: 20_000))
        for text in texts {
            var message = MessageMaker.everywhere(text)
            message.link = .init(label: "Open", address: "https://x.example/ticket")
            let body = kind.render(message, SampleMessage.origin)
            let size = kind.size(body)
            #expect(size.0 <= size.limit, "\(text.prefix(20))")
            let read = kind.reader.read(body)
            #expect(read.surprises.isEmpty && read.mentions.isEmpty, "\(text.prefix(20)): \(read.surprises) \(read.mentions)")
            #expect(read.text.contains("…"))
            #expect(read.marks.contains { $0.style.link == "https://x.example/ticket" })
            #expect(read.text.contains("ruletell-ops"), "the origin is missing")
        }
    }

    @Test(arguments: RenderedKind.all) func `a cut message without a link of its own links to its task`(_ kind: RenderedKind) {
        let message = Message(title: [.text("t")], text: [.paragraph([.value(String(repeating: "word ", count: 20_000))])])
        let read = kind.read(message)
        #expect(read.marks.contains { $0.style.link == SampleDelivery.task.url })
    }

    @Test(arguments: RenderedKind.all) func `each part of a message keeps a share of the available length`(_ kind: RenderedKind) {
        let long = String(repeating: "long text ", count: 10_000)
        var message = Message(title: [.text("Title")], text: [.paragraph([.value(long)])])
        message.fields = [.init(name: [.text("State")], value: [.text("InProgress")])]
        message.list = .init(items: (0..<100).map { [.value("item\($0) " + String(repeating: "x", count: 90))] }, more: 7)
        message.sections = [.init(title: [.text("Chapter")], text: [.paragraph([.value(long)])])]
        let text = kind.read(message).text
        for word in ["Title", "longtext", "State", "InProgress", "item0", "more", "Chapter"] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(!text.contains("item99"))
    }

    @Test(arguments: RenderedKind.all) func `the last of ten long sections still shows its beginning`(_ kind: RenderedKind) {
        var message = Message(title: [.text("Title")])
        let long = String(repeating: " long text", count: 1000)
        message.sections = (0..<10).map { .init(title: [.text("Chapter")], text: [.paragraph([.value("begin\($0)" + long)])]) }
        let text = kind.read(message).text
        for number in 0..<10 { #expect(text.contains("begin\(number)"), "\(number)") }
    }

    @Test func `Slack counts the sections that it leaves out, and takes no more blocks than it may`() {
        for (sections, link) in [(23, nil), (24, "https://x.example/"), (24, "no address"), (60, nil)] as [(Int, String?)] {
            var message = Message(title: [.text("Title")], mentions: [.user("U0123ABC")])
            message.sections = (0..<sections).map {
                .init(title: [.text("Chapter")], text: [.paragraph([.value("begin\($0);")])])
            }
            message.link = link.map { .init(label: "Open", address: $0) }
            let text = RenderedKind.slack.read(message).text
            let shown = text.matches(of: /begin[0-9]+;/).count
            let more = text.firstMatch(of: /and([0-9]+)more/).flatMap { Int($0.1) } ?? 0
            #expect(shown == 22 && shown + more == sections, "\(shown) and \(more) more of \(sections)")
            let blocks = SlackReceiver.render(message, from: SampleMessage.origin)["blocks"]?.asArray ?? []
            #expect(blocks.count <= SlackLimits.blocks)
        }
    }

    @Test(arguments: RenderedKind.all)
    func `a list names each of its items or counts it among those left out`(_ kind: RenderedKind) throws {
        for count in [25, 1000] {
            var message = Message(title: [.text("Kept back")])
            message.list = .init(items: (0..<count).map { [.value("item\($0);")] })
            let text = kind.read(message).text
            let shown = text.matches(of: /item[0-9]+;/).count
            let more = text.firstMatch(of: /and([0-9]+)more/).flatMap { Int($0.1) } ?? 0
            #expect(shown > 0 && shown + more == count, "\(shown) and \(more) more of \(count)")
        }
    }

    @Test(arguments: [(60, 1), (50, 900)])
    func `Teams counts the fields that it leaves out, and then links to the task`(_ count: Int, _ length: Int) {
        var message = Message(title: [.text("Title")])
        let value = String(repeating: "x", count: length)
        message.fields = (0..<count).map { .init(name: [.text("field\($0)")], value: [.value(value)]) }
        let read = RenderedKind.teams.read(message)
        let shown = read.text.matches(of: /field[0-9]+:/).count
        let more = read.text.firstMatch(of: /and([0-9]+)more/).flatMap { Int($0.1) } ?? 0
        #expect(shown > 0 && more > 0 && shown + more == count, "\(shown) and \(more) more of \(count)")
        #expect(read.marks.contains { $0.style.link == SampleDelivery.task.url })
    }

    @Test func `in HTML each field, item and paragraph has its own line`() throws {
        var message = SampleMessage.full
        message.sections = [.init(title: [.text("More")], fields: message.fields)]
        let mail = try #require(EmailRenderer.render(message, from: SampleMessage.origin)["html"]?.asString)
        let room = try #require(MatrixReceiver.render(message, from: SampleMessage.origin)["formatted_body"]?.asString)
        #expect(mail.contains("<p dir=\"auto\">Second.</p>") && room.contains("<p>Second.</p>"), "\(mail)")
        for html in [mail, room] {
            let lines = HTMLReader.lines(html)
            #expect(lines.count { $0 == "State: In Progress" } == 2 && lines.count { $0 == "Group: Network" } == 2, "\(lines)")
            for line in ["🚨 INC0010021 needs somebody", "See now! or soon: rm -rf", "Second.", "two", "INC2 b", "More", "Open"] {
                #expect(lines.contains(line), "\(line) in \(lines)")
            }
        }
    }

    @Test(arguments: [("http://servicenow/task", nil), ("http://10.0.0.7/task", "http://10.0.0.7/task")] as [(String, String?)])
    func `the title of a message to Discord links only to a host that Discord accepts`(_ address: String, _ title: String?) {
        var message = SampleMessage.titled("Title")
        message.link = .init(label: "Open", address: address)
        let body = DiscordReceiver.render(message, from: SampleMessage.origin)
        #expect(body["embeds"]?[0]?["url"]?.asString == title)
        #expect(RenderedKind.discord.read(message).marks.contains { $0.style.link == address })
    }

    @Test(arguments: RenderedKind.all) func `an item whose link is too long for it still shows its words`(_ kind: RenderedKind) {
        for length in [700, 1500] {
            let address = "https://x.example/?" + String(repeating: "a", count: length)
            var message = Message(title: [.text("Title")])
            message.list = .init(items: [[.link(label: [.value("INC7")], address: [.value(address)]), .value(" Core switch")]])
            let text = kind.read(message).text
            #expect(text.contains("INC7") && text.contains("Coreswitch"), "\(length): \(text)")
        }
    }

    @Test func `a text of thousands of short runs is no larger than a card of Teams may be`() {
        let runs = (0..<4000).map { $0.isMultiple(of: 2) ? Message.Inline.strong([.text("a")]) : .text("b") }
        let message = Message(title: [.text("Title")], text: [.paragraph(runs)])
        let size = RenderedKind.teams.size(RenderedKind.teams.render(message, SampleMessage.origin))
        #expect(size.0 <= size.limit)
        #expect(RenderedKind.teams.read(message).text.contains(/[ab]…/))
    }

    @Test func `a message with more links than Telegram accepts keeps all its words, and its own link`() {
        let address = "https://acme.service-now.com/nav_to.do?uri=incident.do?sys_id=" + String(repeating: "0", count: 32)
        let words = String(repeating: "x", count: 2500)
        var message = Message(title: [.text("Title")], text: [.paragraph([.value(words)])])
        message.list = .init(items: (0..<90).map { [.link(label: [.value("item\($0);")], address: [.value(address)])] })
        message.link = .init(label: "Open", address: "https://x.example/own")
        let read = RenderedKind.telegram.read(message)
        #expect(read.text.contains(words) && read.text.matches(of: /item[0-9]+;/).count == 90, "\(read.text)")
        #expect(read.marks.contains { $0.style.link == "https://x.example/own" })
        let text = TelegramReceiver.render(message, from: SampleMessage.origin)["text"]?.asString ?? ""
        let tags = text.matches(of: /<a [^>]*>/).map(\.output.utf8.count)
        #expect(tags.count > 60 && tags.reduce(0, +) <= 8000)
    }

    @Test func `a message has no more entities than Telegram shows, of which the last is its own link`() {
        let items = (0..<20).map { number -> [Message.Inline] in
            [
                .link(label: [.value("item\(number);")], address: [.value("https://x.example/\(number)")]), .text(" "),
                .strong([.value("high")]), .text(" "), .code([.value("open")]),
            ]
        }
        var message = Message(title: [.text("Title")])
        message.sections = (0..<3).map { .init(title: [.text("Part \($0)")], list: .init(items: items)) }
        message.link = .init(label: "Open", address: "https://x.example/own")
        let text = TelegramReceiver.render(message, from: SampleMessage.origin)["text"]?.asString ?? ""
        let tags = text.matches(of: /<(b|i|code|a)[ >]/).count
        #expect(tags > 50 && tags <= 80)
        let read = RenderedKind.telegram.read(message)
        #expect(read.text.matches(of: /item[0-9]+;highopen/).count == 60, "\(read.text)")
        #expect(read.marks.contains { $0.style.link == "https://x.example/own" } && read.surprises.isEmpty)
    }

    @Test(
        arguments: [
            [Message.Inline.text("one"), .lineBreak, .value("two")], [.value("one"), .text("\n"), .value("two")],
            [.value("one\r\n"), .value("two\n")], [.text("\t"), .strong([.value("one")]), .value("\ttwo")],
        ] as [[Message.Inline]])
    func `the words around a line break stay apart in an item and in a field`(_ words: [Message.Inline]) throws {
        let message = Message(
            title: [.text("t")], text: [.list(ordered: false, items: [words])], list: .init(items: [words]),
            fields: [.init(name: [.text("Words")], value: words)])
        let mail = try #require(EmailRenderer.render(message, from: SampleMessage.origin)["text"]?.asString)
        let lines = mail.split(separator: "\n")
        #expect(lines.count { $0 == "- one two" } == 2 && lines.contains("Words: one two"), "\(mail)")
    }

    private func check(_ message: Message, _ kind: RenderedKind) {
        let read = kind.read(message)
        let expected = kind.expected(message)
        if read.surprises.isEmpty, read.mentions.isEmpty, read.marks == expected.marks { return }
        let place = zip(read.marks, expected.marks).prefix { $0 == $1 }.count
        Issue.record(
            """
            \(read.surprises) \(read.mentions) differs at \(place): \(read.marks.dropFirst(place).prefix(3)) instead of \
            \(expected.marks.dropFirst(place).prefix(3))
            \(kind.render(message, SampleMessage.origin).text)
            """)
    }
}

extension HostileTexts {
    /// A quarter of the texts, and the two longest: for tests that send each.
    static let selection =
        all.enumerated().filter { $0.offset % 4 == 0 }.map(\.element) + [long, String(repeating: "\u{1F468}", count: 270_000)]
}

struct MessageMaker {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// A text in every part, with styles around and words right beside it.
    static func everywhere(_ text: String) -> Message {
        let value = Message.Inline.value(text)
        return Message(
            title: [value],
            text: [
                .paragraph([value]), .paragraph([.text("a"), .strong([value]), .text("b"), .emphasis([value]), .text("c")]),
                .paragraph([
                    .strong([value]), .emphasis([value]), .strong([.emphasis([value])]), .text("."), .code([value]), .text("x"),
                ]),
                .paragraph([.text("x"), .lineBreak, value, .lineBreak, .text("*"), value]),
                .list(ordered: true, items: [[value], [.strong([value]), .text("!")]]),
            ],
            list: .init(items: [[value], [.text("- "), value]], more: 2),
            fields: [.init(name: [value], value: [value]), .init(name: [.text("n")], value: [.code([value])])],
            sections: [
                .init(
                    title: [.text("s"), value], text: [.paragraph([value])], list: .init(items: [[value]]),
                    fields: [.init(name: [.text("f")], value: [value])])
            ])
    }

    mutating func message() -> Message {
        Message(
            title: inlines(depth: 0), text: (0..<Int.random(in: 0...3, using: &random)).map { _ in block() },
            list: random.oneIn(2) ? nil : list(), fields: fields(),
            sections: (0..<Int.random(in: 0...2, using: &random)).map { _ in
                .init(
                    title: [.text("Part "), .value(word())], text: [block()], list: random.oneIn(2) ? nil : list(),
                    fields: fields())
            },
            severity: Message.Severity.allCases.randomElement(using: &random) ?? .info,
            link: random.oneIn(2) ? nil : .init(label: "Open", address: address()))
    }

    private mutating func block() -> Message.Block {
        random.oneIn(3)
            ? .list(ordered: random.oneIn(2), items: (0..<Int.random(in: 1...3, using: &random)).map { _ in inlines(depth: 1) })
            : .paragraph(inlines(depth: 2))
    }

    private mutating func list() -> Message.List {
        .init(
            items: (0..<Int.random(in: 0...3, using: &random)).map { _ in inlines(depth: 1) },
            more: random.oneIn(3) ? Int.random(in: 1...9, using: &random) : 0, empty: [.text("Nothing.")])
    }

    private mutating func fields() -> [Message.Field] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in .init(name: [.value(word())], value: inlines(depth: 1)) }
    }

    private mutating func inlines(depth: Int) -> [Message.Inline] {
        (0..<Int.random(in: 1...4, using: &random)).flatMap { _ in
            // Codes that touch would be one.
            let inline = inline(depth: depth)
            if case .code = inline { return [.text("x"), inline, .text(random.oneIn(2) ? " x" : "x")] }
            return [inline]
        }
    }

    private mutating func inline(depth: Int) -> Message.Inline {
        let inner = depth > 0 ? Int.random(in: 0..<8, using: &random) : Int.random(in: 0..<2, using: &random)
        switch inner {
        case 0: return .value(word())
        case 1: return .text(["plain", " ", "a b", ". ", "*", "(x)", "\"q\"", "end"].randomElement(using: &random) ?? "")
        case 2: return .strong(styled(depth))
        case 3: return .emphasis(styled(depth))
        case 4: return .code([.value(word())])
        case 5: return .lineBreak
        case 6: return .link(label: [.text("l"), .value(word())], address: [.value(address())])
        default: return .value(word())
        }
    }

    private mutating func styled(_ depth: Int) -> [Message.Inline] {
        depth > 1 && random.oneIn(3)
            ? [.value(word()), random.oneIn(2) ? .strong([.value(word())]) : .emphasis([.value(word())])] : [.value(word())]
    }

    private mutating func address() -> String {
        [
            "https://x.example/", "https://x.example/a(b)c*d_e~f?g=1&h=2#i", "https://x.example/;a='b'|c\"d<e>f[g]h é",
            "https://x.example/\\*)", "javascript:alert(1)", "https://good.example@evil.example/", "nonsense",
        ].randomElement(using: &random) ?? ""
    }

    /// A hostile text, a mix of them, or any characters.
    private mutating func word() -> String {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return HostileTexts.all.randomElement(using: &random) ?? ""
        case 1:
            return (HostileTexts.all.randomElement(using: &random) ?? "") + (HostileTexts.all.randomElement(using: &random) ?? "")
        case 2:
            let signs = Array("*_~`|[]()<>!#-+.:@&\\\"'$= \na1é".unicodeScalars)
            return String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 1...12, using: &random)).map { _ in signs.randomElement(using: &random) ?? "x" }))
        default:
            return String(
                String.UnicodeScalarView(
                    (0..<Int.random(in: 1...8, using: &random)).compactMap { _ in
                        Unicode.Scalar(UInt32.random(in: 0...0x10ffff, using: &random))
                    }))
        }
    }
}
