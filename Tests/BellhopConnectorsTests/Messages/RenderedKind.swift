import BellhopCore
import Testing

@testable import BellhopConnectors

/// A kind of receiver with the reader of its format.
struct RenderedKind: Sendable, CustomTestStringConvertible {
    var name: String
    var render: @Sendable (Message, MessageOrigin) -> JSON
    var reader: any FormatReader
    var look = ExpectedText.Look()
    /// The text that the reader must find before and after the expected text, for kinds with extra places.
    var before: @Sendable (Message, MessageOrigin) -> ReadText = { _, _ in .init() }
    var after: @Sendable (Message, MessageOrigin) -> ReadText = { _, _ in .init() }
    /// The size of the text that a person reads, in the unit of its limit, and that limit.
    var size: @Sendable (JSON) -> (Int, limit: Int)

    var testDescription: String { name }

    func read(_ message: Message) -> ReadText {
        var read = reader.read(render(message, SampleMessage.origin))
        read = read.withDecodedLinks
        return read
    }

    func expected(_ message: Message) -> ReadText {
        var read = before(message, SampleMessage.origin)
        read.add(ExpectedText(message, from: SampleMessage.origin, look).read)
        read.add(after(message, SampleMessage.origin))
        return read
    }

    static let all: [RenderedKind] = [
        slack, discord, mattermost, googleChat, telegram, teams, mail, matrix, ntfy, pagerDuty, opsgenie,
    ]

    static let slack = RenderedKind(
        name: "slack", render: SlackReceiver.render, reader: SlackReader(),
        look: .init(title: .init(), origin: .init(), blank: "", codeKeepsStyle: true),
        size: { ($0["blocks"]?.encoded().count ?? 0, 40_000) })

    static let discord = RenderedKind(
        name: "discord", render: DiscordReceiver.render, reader: DiscordReader(),
        look: .init(
            order: [.title, .text, .list, .sections, .link, .fields, .origin], title: .init(), fieldName: .init(), colon: "",
            origin: .init(), blankField: "–", notInCode: ["`"]),
        size: { body in
            let embed = body["embeds"]?[0] ?? .null
            let fields = embed["fields"]?.asArray ?? []
            let texts =
                [embed["title"], embed["description"], embed["footer"]?["text"]] + fields.flatMap { [$0["name"], $0["value"]] }
            return (texts.reduce(0) { $0 + ($1?.asString?.unicodeScalars.count ?? 0) }, 6000)
        })

    static let mattermost = RenderedKind(
        name: "mattermost", render: MattermostReceiver.render, reader: MattermostReader(),
        look: .init(notInCode: ["`", "<"]), size: { ($0["text"]?.asString?.unicodeScalars.count ?? 0, 16_383) })

    static let googleChat = RenderedKind(
        name: "googlechat", render: GoogleChatReceiver.render, reader: GoogleChatReader(),
        look: .init(notInCode: ["`", "<", "@"]), size: { ($0["text"]?.asString?.unicodeScalars.count ?? 0, 4096) })

    static let telegram = RenderedKind(
        name: "telegram", render: TelegramReceiver.render, reader: TelegramReader(),
        look: .init(bullet: "•", hasNumbers: true),
        size: { body in
            // The limit applies to the text without tags and with decoded entities.
            var text = body["text"]?.asString ?? ""
            while let open = text.firstIndex(of: "<"), let close = text[open...].firstIndex(of: ">") {
                text.removeSubrange(open...close)
            }
            return (TelegramReader.decoded(text).utf16.count, 4096)
        })

    static let teams = RenderedKind(
        name: "teams", render: TeamsReceiver.render, reader: TeamsReader(),
        look: .init(order: [.title, .text, .fields, .list, .sections, .origin, .link], bullet: "•", hasNumbers: true),
        // Teams counts the card as a text inside its own JSON.
        size: { (JSON.string($0["attachments"]?[0]?["content"]?.text ?? "").encoded().count, 28_000) })
}

extension RenderedKind {
    static let mail = RenderedKind(
        name: "email", render: EmailRenderer.render, reader: MailHTMLReader(),
        size: { ($0["html"]?.asString?.unicodeScalars.count ?? 0, EmailLimits.text + 200) })

    static let matrix = RenderedKind(
        name: "matrix", render: MatrixReceiver.render, reader: MatrixReader(), size: { ($0.encoded().count, 32_000) })
}

extension RenderedKind {
    static let ntfy = RenderedKind(
        name: "ntfy", render: NtfyReceiver.render, reader: NtfyReader(),
        look: .init(
            order: [.title, .text, .fields, .list, .sections, .origin, .button], title: .init(), fieldName: .init(),
            origin: .init(), bullet: "-", hasNumbers: true, isPlain: true),
        size: { ($0["message"]?.encoded().count ?? 0, 4098) })

    static let pagerDuty = RenderedKind(
        name: "pagerduty", render: PagerDutyReceiver.render, reader: PagerDutyReader(),
        look: .init(order: [.text, .list, .sections], bullet: "-", hasNumbers: true, isPlain: true),
        before: { message, origin in
            var read = ReadText()
            read.add(Self.alertTitle(message, origin))
            read.add(message.severity.rawValue)
            for (name, field) in zip(Self.names(of: message.fields), message.fields) {
                read.add(name)
                read.add(ExpectedText.clean(field.value.plainText))
            }
            return read
        },
        after: { message, origin in
            var read = ReadText()
            read.add("rule\(origin.rule)delivery\(origin.delivery)")
            let task = Message.Link(label: origin.task?.number ?? "", address: origin.task?.url ?? "")
            for link in [message.link, task].compactMap({ $0 }) where ExpectedText.isUsable(link.address) {
                read.add(ExpectedText.clean(link.label), .init(link: PercentEncoding.decode(link.address)))
            }
            return read
        }, size: { ($0.encoded().count, 512_000) })

    static let opsgenie = RenderedKind(
        name: "opsgenie", render: OpsgenieReceiver.render, reader: OpsgenieReader(),
        look: .init(order: [.text, .fields, .list, .sections, .link, .origin]),
        before: { message, origin in
            // Its applications read the title as HTML or as text: it has no angle brackets.
            let title = Self.alertTitle(message, origin)
                .replacingScalars(of: "<", with: "‹").replacingScalars(of: ">", with: "›")
            var read = ReadText()
            read.add(DisplayText.cut(DisplayText.line(title), to: 130))
            return read
        },
        after: { message, origin in
            var read = ReadText()
            var seen: Set<[Unicode.Scalar]> = [Array("rule".unicodeScalars), Array("delivery".unicodeScalars)]
            read.add("rule\(origin.rule)delivery\(origin.delivery)")
            for field in message.fields {
                let name = DisplayText.line(field.name.plainText)
                guard !name.isEmpty, seen.insert(Array(name.unicodeScalars)).inserted else { continue }
                read.add(name)
                read.add(ExpectedText.clean(field.value.plainText))
            }
            return read
        },
        size: { body in
            let details = (body["details"]?.asObject ?? [:]).reduce(0) {
                $0 + $1.0.unicodeScalars.count + ($1.1.asString?.unicodeScalars.count ?? 0)
            }
            let isSmall = details <= 8000 && (body["message"]?.asString?.unicodeScalars.count ?? 0) <= 130
            return (isSmall ? body["description"]?.asString?.unicodeScalars.count ?? 0 : .max, 15_000)
        })

    /// The title of an alert, whose severity is a separate field.
    private static func alertTitle(_ message: Message, _ origin: MessageOrigin) -> String {
        let title = ExpectedText.clean(message.title.plainText)
        return title.unicodeScalars.allSatisfy(\.properties.isWhitespace) ? origin.rule : title
    }

    /// The fields' names; equal names are numbered.
    private static func names(of fields: [Message.Field]) -> [String] {
        var seen: Set<[Unicode.Scalar]> = []
        return fields.map { field in
            let line = DisplayText.line(field.name.plainText)
            let name = line.isEmpty ? "–" : line
            var free = name
            var number = 2
            while !seen.insert(Array(free.unicodeScalars)).inserted {
                free = "\(name) \(number)"
                number += 1
            }
            return free
        }
    }
}

extension ReadText {
    /// Links percent-decoded: kinds encode different characters of an address.
    var withDecodedLinks: ReadText {
        var copy = self
        copy.decodeLinks { PercentEncoding.decode($0) }
        return copy
    }
}
