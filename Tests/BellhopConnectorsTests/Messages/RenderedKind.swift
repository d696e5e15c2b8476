import BellhopCore
import Testing

@testable import BellhopConnectors

/// A kind of receiver with the reader of its format.
struct RenderedKind: Sendable, CustomTestStringConvertible {
    var name: String
    var render: @Sendable (Message, MessageOrigin) -> JSON
    var reader: any FormatReader
    var look = ExpectedText.Look()
    /// Everything that a person reads, in the units of its limit, with that limit.
    var size: @Sendable (JSON) -> (Int, limit: Int)

    var testDescription: String { name }

    func read(_ message: Message) -> ReadText {
        var read = reader.read(render(message, SampleMessage.origin))
        read = read.withDecodedLinks
        return read
    }

    static let all: [RenderedKind] = [slack, discord, mattermost, googleChat, telegram, teams, mail, matrix]

    static let slack = RenderedKind(
        name: "slack", render: { SlackRenderer().render($0, from: $1) }, reader: SlackReader(),
        look: .init(title: .init(), origin: .init(), blank: "", codeKeepsStyle: true),
        size: { ($0["blocks"]?.encoded().count ?? 0, 40_000) })

    static let discord = RenderedKind(
        name: "discord", render: { DiscordRenderer().render($0, from: $1) }, reader: DiscordReader(),
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
        name: "mattermost", render: { MattermostRenderer().render($0, from: $1) }, reader: MattermostReader(),
        look: .init(notInCode: ["`", "<"]), size: { ($0["text"]?.asString?.unicodeScalars.count ?? 0, 16_383) })

    static let googleChat = RenderedKind(
        name: "googlechat", render: { GoogleChatRenderer().render($0, from: $1) }, reader: GoogleChatReader(),
        look: .init(notInCode: ["`", "<", "@"]), size: { ($0["text"]?.asString?.unicodeScalars.count ?? 0, 4096) })

    static let telegram = RenderedKind(
        name: "telegram", render: { TelegramRenderer().render($0, from: $1) }, reader: TelegramReader(),
        look: .init(bullet: "•", hasNumbers: true),
        size: { body in
            // What is left after the entities are read.
            var text = body["text"]?.asString ?? ""
            while let open = text.firstIndex(of: "<"), let close = text[open...].firstIndex(of: ">") {
                text.removeSubrange(open...close)
            }
            return (TelegramReader.decoded(text).utf16.count, 4096)
        })

    static let teams = RenderedKind(
        name: "teams", render: { TeamsRenderer().render($0, from: $1) }, reader: TeamsReader(),
        look: .init(order: [.title, .text, .fields, .list, .sections, .origin, .link], bullet: "•", hasNumbers: true),
        size: { ($0["attachments"]?[0]?["content"]?.encoded().count ?? 0, 28_000) })
}

extension RenderedKind {
    static let mail = RenderedKind(
        name: "email", render: EmailRenderer.render, reader: MailHTMLReader(),
        size: { ($0["html"]?.asString?.unicodeScalars.count ?? 0, EmailLimits.text + 200) })

    static let matrix = RenderedKind(
        name: "matrix", render: MatrixReceiver.render, reader: MatrixReader(),
        size: { ($0.encoded().count, 32_000) })
}

extension ReadText {
    /// Links percent-decoded: kinds encode different characters of an address.
    var withDecodedLinks: ReadText {
        var copy = self
        copy.decodeLinks { PercentEncoding.decode($0) }
        return copy
    }
}
