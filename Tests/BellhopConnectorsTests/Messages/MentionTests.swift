import BellhopCore
import Testing

@testable import BellhopConnectors

/// Mentions come from `mentions` alone, in each receiver's own form.
struct MentionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var kind: RenderedKind
        var mentions: [Message.Mention]
        var shown: [String]
        var testDescription: String { kind.name }
    }

    static let known = [
        Case(
            kind: .slack, mentions: [.user("U0123ABC"), .group("S0123ABC"), .group("here")],
            shown: ["<@U0123ABC>", "<!subteam^S0123ABC>", "<!here>"]),
        Case(
            kind: .discord, mentions: [.user("123456789012345678"), .group("223456789012345678"), .group("everyone")],
            shown: ["<@123456789012345678>", "<@&223456789012345678>", "@everyone"]),
        Case(kind: .mattermost, mentions: [.user("jane.doe"), .group("channel")], shown: ["@jane.doe", "@channel"]),
        Case(kind: .googleChat, mentions: [.user("12345"), .group("all")], shown: ["<users/12345>", "<users/all>"]),
        Case(kind: .telegram, mentions: [.user("jane_doe"), .user("12345")], shown: ["@jane_doe", "tg://user?id=12345"]),
        Case(kind: .teams, mentions: [.user("jane@acme.example")], shown: ["<at>jane@acme.example</at>"]),
    ]

    @Test(arguments: known)
    func `the rule's mentions stand at the beginning in the receiver's own form`(_ known: Case) {
        var message = SampleMessage.titled("Title")
        message.mentions = known.mentions
        let read = known.kind.read(message)
        #expect(read.mentions == known.shown)
        #expect(read.surprises.isEmpty, "\(read.surprises)")
    }

    @Test(arguments: [RenderedKind.mattermost, .googleChat, .telegram])
    func `however many people a message mentions, it keeps its text`(_ kind: RenderedKind) {
        var message = SampleMessage.titled("It burns")
        message.mentions = (0..<5000).map { .user("\(100_000_000 + $0)") }
        let text = kind.render(message, SampleMessage.origin)["text"]?.asString ?? ""
        #expect(text.contains("It burns") && text.contains("100000020"))
        #expect(kind.read(message).surprises.isEmpty)
    }

    @Test func `a card of Teams with as many long mentions as it may have stays within its limit, and keeps its text`() {
        var message = SampleMessage.saying("It burns")
        message.mentions = (100..<150).map { .user("\($0)" + String(repeating: "_", count: 125)) }
        let size = RenderedKind.teams.size(RenderedKind.teams.render(message, SampleMessage.origin))
        #expect(size.0 <= size.limit)
        let read = RenderedKind.teams.read(message)
        #expect(read.mentions.count > 5 && read.text.contains("Itburns") && read.surprises.isEmpty)
    }

    /// Opsgenie takes each id as a value of its own, in which no text is markup.
    @Test(arguments: RenderedKind.all.filter { $0.name != "opsgenie" })
    func `an invalid id mentions no one`(_ kind: RenderedKind) {
        for id in ["<!channel>", "a b", "x> <users/all", "</at><at>y", "", "*", "\n@here", "\"><b>", "1)", "@here @all"] {
            var message = SampleMessage.titled("Title")
            message.mentions = [.user(id), .group(id)]
            let read = kind.read(message)
            #expect(read.mentions.isEmpty && read.surprises.isEmpty, "\(id): \(read)")
        }
    }

    @Test(
        arguments: [
            (
                "slack", [Message.Mention.user("U0123456789"), .group("S0123456789"), .group("channel")],
                [.user("@ada"), .group("ops")]
            ),
            ("teams", [.user("ada@example.com")], [.user("Ada Lovelace"), .group("ops")]),
            (
                "discord", [.user("123456789012345678"), .group("123456789012345678"), .group("here")],
                [.user("ada"), .group("ops")]
            ),
            ("mattermost", [.user("ada"), .group("channel")], [.user("Ada Lovelace"), .user("all")]),
            ("googlechat", [.user("123456789012345678901"), .group("all")], [.user("Ada Lovelace"), .group("ops")]),
            ("telegram", [.user("ada_lovelace"), .user("123456789")], [.user("Ada Lovelace"), .group("ops")]),
            ("matrix", [.user("@ada:example.org"), .group("room")], [.user("ada"), .group("ops")]),
            ("opsgenie", [.user("ada@example.com"), .group("ops")], []), ("webhook", [.user("Ada Lovelace"), .group("ops")], []),
        ] as [(String, [Message.Mention], [Message.Mention])])
    func `a kind says which mentions it leaves out, and how to write them`(
        _ kind: String, _ shown: [Message.Mention], _ leftOut: [Message.Mention]
    ) {
        #expect(shown.filter { !Catalogue.canMention($0, kind: kind) } == [])
        #expect(leftOut.filter { Catalogue.canMention($0, kind: kind) } == [])
        let messages = Catalogue.kind(kind)?.manifest.messages
        #expect(messages?.mentions == .yes && (messages?.mentionForms == nil) == leftOut.isEmpty)
        let isAnyGroup = shown.contains { if case .group = $0 { true } else { false } }
        #expect(messages?.mentionsGroups == isAnyGroup)
    }

    @Test func `Teams mentions a user whose address has an underscore or an apostrophe`() {
        var message = SampleMessage.titled("Title")
        message.mentions = [.user("ada_o'neil@acme.example")]
        let card = TeamsReceiver.render(message, from: SampleMessage.origin)["attachments"]?[0]?["content"]
        let mention = card?["msteams"]?["entities"]?[0]
        #expect(mention?["mentioned"]?["id"] == "ada_o'neil@acme.example")
        #expect(mention?["text"] == card?["body"]?[0]?["text"] && mention?["text"]?.asString?.contains("_") == false)
    }

    @Test(arguments: known)
    func `a user or group that is mentioned twice is notified once at every receiver`(_ known: Case) {
        var message = SampleMessage.titled("Title")
        message.mentions = known.mentions + known.mentions
        #expect(known.kind.read(message).mentions == known.shown)
        let twice = Message(title: message.title, mentions: known.mentions + known.mentions)
        #expect(twice.mentions == known.mentions)
    }

    @Test func `Discord may notify only the mentioned users, each named once`() {
        var message = SampleMessage.titled("Title")
        message.mentions = [.user("123456789012345678"), .group("223456789012345678"), .user("123456789012345678")]
        let body = DiscordReceiver.render(message, from: SampleMessage.origin)
        #expect(body["content"] == "<@123456789012345678> <@&223456789012345678>")
        #expect(
            body["allowed_mentions"] == ["parse": [], "users": ["123456789012345678"], "roles": ["223456789012345678"]])
    }
}
