import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// The JSON document of a webhook contains the message's texts unchanged.
@Suite(.timeLimit(.minutes(5))) struct WebhookPropertyTests {
    /// The format in which a message is sent.
    enum Form: CaseIterable {
        case document, structured, binary

        func document(_ message: Message, _ origin: MessageOrigin) throws -> JSON? {
            let rendered = WebhookReceiver.render(message, from: origin)
            let event = CloudEvent(rendered, origin)
            switch self {
            case .document: return try JSON.parse(rendered.encoded())
            case .structured: return try JSON.parse(event.structured.encoded())["data"]
            case .binary: return try JSON.parse(event.data.encoded())
            }
        }
    }

    private static let long = String(decoding: HostileTexts.long.utf8.prefix(1 << 20), as: UTF8.self)

    @Test(arguments: Form.allCases) func `a hostile text arrives unchanged in every part of the document`(_ form: Form) throws {
        for text in HostileTexts.all + [Self.long] {
            var message = MessageMaker.everywhere(text)
            message.link = .init(label: text, address: text)
            message.thread = text
            message.mentions = [.user(text), .group(text)]
            try check(message, form)
        }
    }

    @Test(arguments: Form.allCases) func `a random message arrives unchanged`(_ form: Form) throws {
        for run in 0..<UInt64(RandomRuns.count(100)) {
            var maker = MessageMaker(seed: RandomRuns.seed(run))
            try check(maker.message(), form)
        }
    }

    @Test func `an attribute of a CloudEvent is encoded as a header field, and is read unchanged`() throws {
        for text in HostileTexts.all where !text.isEmpty {
            var task = SampleDelivery.task
            task.number = text
            let origin = MessageOrigin(delivery: "0123456789abcdef", rule: text, task: task, time: SampleDelivery.now)
            let event = CloudEvent(.null, origin)
            var structured = try JSON.parse(event.structured.encoded()).asObject ?? [:]
            structured["data"] = nil
            structured["datacontenttype"] = nil
            for (name, value) in structured {
                let field = try #require(event.fields["ce-" + name])
                #expect(field.utf8.allSatisfy { 0x21...0x7e ~= $0 && $0 != 0x22 }, "\(name): \(field)")
                #expect(PercentEncoding.decode(field) == value.asString, "\(name)")
            }
            #expect(event.fields.fields.count == structured.count + 1)
            #expect(structured["source"]?.asString.map { PercentEncoding.decode($0) } == "/bellhop/rules/" + text)
        }
    }

    private func check(_ message: Message, _ form: Form) throws {
        let read = try #require(try form.document(message, SampleMessage.origin))
        let expected = Self.expected(message)
        for (name, value) in expected where !Self.isSame(read[name] ?? .null, value) {
            Issue.record("\(name) is \("\(read[name] ?? .null)".prefix(300)) instead of \("\(value)".prefix(300))")
        }
        let plain = ReadText.visible(read["plain"]?.asString ?? "")
        let shown = ReadText.visible(Self.plain(message))
        #expect(plain == shown, "\(plain.prefix(300)) instead of \(shown.prefix(300))")
    }

    /// Compares texts by their scalars: Swift takes an accented letter and its two characters for the same.
    private static func isSame(_ one: JSON, _ other: JSON) -> Bool { one.encoded() == other.encoded() }

    /// Computed from the message alone, without the renderer.
    private static func expected(_ message: Message) -> JSON.Object {
        [
            "title": text(message.title), "text": blocks(message.text), "severity": .string(message.severity.rawValue),
            "fields": fields(message.fields), "list": list(message.list),
            "sections": .array(
                message.sections.map {
                    [
                        "title": text($0.title), "text": blocks($0.text), "fields": fields($0.fields),
                        "list": list($0.list),
                    ]
                }),
            "link": message.link.map { ["label": .string($0.label), "address": .string($0.address)] } ?? .null,
            "thread": message.thread.map(JSON.string) ?? .null,
            "mentions": .array(
                message.mentions.map {
                    switch $0 {
                    case .user(let id): ["user": .string(id)]
                    case .group(let id): ["group": .string(id)]
                    }
                }),
        ]
    }

    private static func words(_ inlines: [Message.Inline]) -> String {
        inlines.map { inline in
            switch inline {
            case .text(let words), .value(let words): words
            case .strong(let inner), .emphasis(let inner), .code(let inner): words(inner)
            case .link(let label, let address):
                words(label).isEmpty || words(label) == words(address) ? words(address) : "\(words(label)) (\(words(address)))"
            case .lineBreak: "\n"
            }
        }.joined()
    }

    private static func text(_ inlines: [Message.Inline]) -> JSON { .string(words(inlines)) }

    private static func lines(_ blocks: [Message.Block]) -> String {
        blocks.map { block in
            switch block {
            case .paragraph(let inlines): words(inlines)
            case .list(let isOrdered, let items):
                items.enumerated().map { (isOrdered ? "\($0.offset + 1). " : "- ") + words($0.element) }.joined(separator: "\n")
            }
        }.joined(separator: "\n\n")
    }

    private static func blocks(_ blocks: [Message.Block]) -> JSON { .string(lines(blocks)) }

    private static func fields(_ fields: [Message.Field]) -> JSON {
        .array(fields.map { ["name": text($0.name), "value": text($0.value)] })
    }

    private static func list(_ list: Message.List?) -> JSON {
        guard let list else { return .null }
        return ["items": .array(list.items.map(text)), "more": .int(Int64(list.more)), "empty": text(list.empty)]
    }

    /// The whole message as one text.
    private static func plain(_ message: Message) -> String {
        let level = message.severity.rawValue
        let severity = message.severity == .info ? "" : level.prefix(1).uppercased() + level.dropFirst() + ": "
        var parts = [severity + words(message.title)]
        func add(_ text: [Message.Block], _ fields: [Message.Field], _ list: Message.List?) {
            parts.append(lines(text))
            parts += fields.map { words($0.name) + ":" + words($0.value) }
            guard let list else { return }
            parts += list.items.map { "-" + words($0) }
            if list.more > 0 { parts.append("and \(list.more) more") }
            if list.items.isEmpty, list.more == 0 { parts.append(words(list.empty)) }
        }
        add(message.text, message.fields, message.list)
        for section in message.sections {
            parts.append(words(section.title))
            add(section.text, section.fields, section.list)
        }
        if let link = message.link {
            let label = DisplayText.line(link.label)
            parts.append(
                label.isEmpty || label == DisplayText.line(link.address) ? link.address : "\(link.label):\(link.address)")
        }
        return ExpectedText.clean(parts.joined(separator: "\n"))
    }
}

extension ReadText {
    /// The characters of a text that a person sees.
    static func visible(_ text: String) -> String {
        var read = ReadText()
        read.add(text)
        return read.text
    }
}
