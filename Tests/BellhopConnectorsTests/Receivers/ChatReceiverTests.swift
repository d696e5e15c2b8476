import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// The receivers for chats, over HTTP against simulated chats with the limits and errors of the real ones.
@Suite(.timeLimit(.minutes(5)), .closing) struct ChatReceiverTests {
    /// A chat with the settings of a connection to it.
    struct Chat: Sendable, CustomTestStringConvertible {
        var kind: String
        var settings: @Sendable (String) -> JSON.Object
        var answersThreads = false
        var updates = false

        var testDescription: String { kind }

        static let telegramToken = "123456:SECRETSECRETSECRETSECRETSECRET"
        static let discord = Chat(
            kind: "discord", settings: { ["url": .string($0 + "/discord/api/webhooks/100/SECRETSECRET")] }, updates: true)
        static let forum = Chat(
            kind: "discord", settings: { ["url": .string($0 + "/discord/api/webhooks/900/SECRETSECRET"), "channel": "forum"] },
            answersThreads: true, updates: true)
        static let mattermost = Chat(kind: "mattermost", settings: { ["url": .string($0 + "/mattermost/hooks/SECRETSECRET")] })
        static let googleChat = Chat(
            kind: "googlechat",
            settings: { ["url": .string($0 + "/googlechat/v1/spaces/AAA/messages?key=k&token=SECRETSECRET")] })
        static let telegram = Chat(
            kind: "telegram",
            settings: { ["url": .string($0 + "/telegram"), "token": .string(telegramToken), "chat": "-1001234567890"] },
            answersThreads: true, updates: true)
        static let teams = Chat(
            kind: "teams", settings: { ["url": .string($0 + "/teams/workflows/w/triggers?sig=SECRETSECRETSECRET")] })
        static let slack = Chat(
            kind: "slack",
            settings: { ["url": .string($0 + "/slack/api"), "token": "xoxb-SECRETSECRET", "channel": "C0123456789"] },
            answersThreads: true, updates: true)

        static let all = [discord, forum, mattermost, googleChat, telegram, teams, slack]
    }

    /// Sends messages to a chat, remembering its conversations as a store does.
    private final class Sender {
        let chats: SimulatedChats
        let connectors: Connectors
        var firstMessages: [String: JSON] = [:]

        init(_ chats: SimulatedChats, _ connectors: Connectors) {
            self.chats = chats
            self.connectors = connectors
        }

        @discardableResult func send(_ message: Message) async throws(Failure) -> Receipt {
            let delivery = SampleDelivery.notify(message)
            guard let action = connectors.action(for: delivery) else { throw Failure(.missingReceiver, .giveUp, "no action") }
            let first = message.conversation.flatMap { firstMessages[$0] }
            let receipt = try await action.perform(
                delivery, attempt: Attempt(number: 1, now: SampleDelivery.now, firstMessage: first))
            if let change = receipt.conversation { firstMessages[change.conversation] = change.firstMessage }
            return receipt
        }

        func failure(of message: Message) async -> Failure? {
            do throws(Failure) {
                try await send(message)
                return nil
            } catch {
                #expect(!error.message.contains("SECRETSECRET"), "\(error.message)")
                return error
            }
        }
    }

    private func open(_ chat: Chat) async throws -> Sender {
        let simulation = Simulation(now: { SampleDelivery.now.microseconds })
        let base = try await simulation.serve()
        let connectors = try await Connectors(
            connections: [("ops", chat.kind, Settings(chat.settings(base)))], sources: [], environment: .sample())
        return Sender(simulation.chats, connectors.untilTestEnds())
    }

    private static func message(_ title: String, thread: String? = nil, update: Bool = false) -> Message {
        Message(title: [.value(title)], thread: thread, update: update)
    }

    @Test(arguments: Chat.all) func `a message arrives, whatever it contains and however long it is`(_ chat: Chat) async throws {
        // Discord takes five in two seconds.
        let sender = try await open(chat)
        try await sender.send(SampleMessage.full)
        try await sender.send(MessageMaker.everywhere(HostileTexts.all.joined(separator: " ")))
        try await sender.send(MessageMaker.everywhere(HostileTexts.long))
        var long = MessageMaker.everywhere(String(repeating: "<&*é ", count: 20_000))
        long.fields = Array(repeating: long.fields[0], count: 60)
        long.sections = Array(repeating: long.sections[0], count: 60)
        try await sender.send(long)
        try await sender.send(Message(title: []))
        #expect(sender.chats.messages.count == 5 && sender.firstMessages.isEmpty)
    }

    @Test
    func `a digest of thousands of short words in bold is small enough for Teams, which drops a larger card after accepting it`()
        async throws
    {
        let words = (0..<4000).map { $0.isMultiple(of: 2) ? Message.Inline.strong([.text("a")]) : .text("b") }
        let sender = try await open(.teams)
        try await sender.send(Message(title: [.text("Title")], text: [.paragraph(words)]))
        #expect(sender.chats.messages.count == 1)
    }

    @Test(arguments: Chat.all)
    func `later messages of a thread answer the first one where the chat can`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        for title in ["one", "two", "three"] { try await sender.send(Self.message(title, thread: "INC1")) }
        try await sender.send(Self.message("other", thread: "INC2"))
        let messages = sender.chats.messages
        #expect(messages.count == 4)
        let first = messages[0].id
        switch chat.kind {
        case "googlechat": #expect(messages.map(\.thread) == ["INC1", "INC1", "INC1", "INC2"])
        case _ where chat.answersThreads: #expect(messages.map(\.thread) == [nil, first, first, nil])
        default: #expect(messages.allSatisfy { $0.thread == nil })
        }
    }

    @Test func `long keys of threads stay different in Google Chat, and within its limit`() throws {
        let start = String(repeating: "x", count: 1000)
        let accents = "e" + String(repeating: "\u{301}", count: 5000)
        let keys = try [start + "1", start + "2", accents, "INC1"].map { thread -> String in
            let message = Message(title: [.text("Title")], thread: thread)
            return try #require(
                GoogleChatReceiver.render(message, from: SampleMessage.origin)["thread"]?["threadKey"]?.asString)
        }
        #expect(Set(keys).count == 4 && keys[3] == "INC1")
        #expect(keys.allSatisfy { $0.unicodeScalars.count <= 4000 })
    }

    @Test(arguments: Chat.all)
    func `a chat that shows threads gives a reference to the first message of a conversation`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        try await sender.send(Self.message("one", thread: "INC1"))
        #expect(sender.firstMessages.count == (chat.answersThreads || chat.updates || chat.kind == "googlechat" ? 1 : 0))
    }

    @Test(arguments: Chat.all.filter(\.updates))
    func `an update replaces the first message of its thread`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        try await sender.send(Self.message("one", thread: "INC1"))
        try await sender.send(Self.message("two", thread: "INC1", update: true))
        try await sender.send(Self.message("three", thread: "INC1", update: true))
        #expect(sender.chats.messages.count == 1)
        #expect(sender.chats.messages.first?.edits == 2)
        #expect(sender.chats.messages.first?.body.text.contains("three") == true)
    }

    @Test(arguments: Chat.all.filter(\.updates)) func `an update arrives, however long its text is`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        try await sender.send(Self.message("one", thread: "INC1"))
        var long = MessageMaker.everywhere(String(repeating: "<&語é ", count: 20_000))
        (long.thread, long.update) = ("INC1", true)
        try await sender.send(long)
        #expect(sender.chats.messages.map(\.edits) == [1])
    }

    @Test(arguments: Chat.all.filter(\.updates), [true, false])
    func `a deleted first message begins a new conversation`(_ chat: Chat, _ update: Bool) async throws {
        let sender = try await open(chat)
        try await sender.send(Self.message("one", thread: "INC1"))
        let old = try #require(sender.chats.messages.first?.id)
        sender.chats.delete(old)
        let receipt = try await sender.send(Self.message("two", thread: "INC1", update: update))
        #expect(sender.chats.messages.count == 1)
        #expect(sender.chats.messages.first?.thread == nil)
        if update || chat.answersThreads { #expect(receipt.conversation?.firstMessage != nil) }
        try await sender.send(Self.message("three", thread: "INC1", update: true))
        #expect(sender.chats.messages.count == 1)
    }

    @Test func `in a channel of Slack that takes no replies, each message of a thread stands by itself`() async throws {
        var chat = Chat.slack
        chat.settings = { ["url": .string($0 + "/slack/api"), "token": "xoxb-SECRETSECRET", "channel": "C403"] }
        let sender = try await open(chat)
        for title in ["one", "two"] { try await sender.send(Self.message(title, thread: "INC1")) }
        #expect(sender.chats.messages.map(\.thread) == [nil, nil])
    }

    @Test func `an update of a post that Discord has archived begins a new post`() async throws {
        let sender = try await open(.forum)
        try await sender.send(Self.message("one", thread: "INC1"))
        sender.chats.archive(try #require(sender.chats.messages.first?.id))
        try await sender.send(Self.message("two", thread: "INC1", update: true))
        try await sender.send(Self.message("three", thread: "INC1", update: true))
        #expect(sender.chats.messages.map(\.edits) == [0, 1])
    }

    @Test(arguments: [true, false])
    func `a message of a thread whose post a person has locked in Discord begins a new post`(_ update: Bool) async throws {
        let sender = try await open(.forum)
        try await sender.send(Self.message("one", thread: "INC1"))
        sender.chats.lock(try #require(sender.chats.messages.first?.id))
        try await sender.send(Self.message("two", thread: "INC1", update: update))
        try await sender.send(Self.message("three", thread: "INC1", update: true))
        #expect(sender.chats.messages.map(\.edits) == [0, 1] && sender.chats.messages.allSatisfy { $0.thread == nil })
    }

    /// Telegram counts the messages of each chat from 1, so the number of a message may also be that of another chat's.
    @Test(arguments: [Chat.telegram, .slack], [true, false])
    func `a conversation of another chat begins anew in the chat that the settings name now`(
        _ chat: Chat, _ update: Bool
    ) async throws {
        let sender = try await open(chat)
        let own = try await sender.send(Self.message("own", thread: "INC1"))
        var foreign = try #require(own.conversation?.firstMessage)
        foreign["chat"] = "another"
        sender.firstMessages["INC2"] = foreign
        let receipt = try await sender.send(Self.message("moved", thread: "INC2", update: update))
        #expect(receipt.conversation?.firstMessage?["chat"] == own.conversation?.firstMessage?["chat"])
        #expect(sender.chats.messages.map(\.edits) == [0, 0] && sender.chats.messages.allSatisfy { $0.thread == nil })
    }

    @Test(arguments: Chat.all.filter(\.updates))
    func `a conversation that began while the connection was one of Google Chat begins anew`(_ chat: Chat) async throws {
        let first = try await open(.googleChat).send(Self.message("one", thread: "INC1"))
        let sender = try await open(chat)
        sender.firstMessages["INC1"] = try #require(first.conversation?.firstMessage)
        let next = try await sender.send(Self.message("two", thread: "INC1", update: true))
        #expect(next.conversation?.firstMessage != nil && sender.chats.messages.map(\.edits) == [0])
    }

    @Test func `an edit without a change succeeds`() async throws {
        let sender = try await open(.telegram)
        try await sender.send(Self.message("one", thread: "INC1"))
        try await sender.send(Self.message("one", thread: "INC1", update: true))
        #expect(sender.chats.messages.count == 1)
    }

    @Test(arguments: [
        (Chat.discord, ["webhook bellhop"]), (.telegram, ["bot @bellhop_bot", "chat On call"]),
        (.slack, ["user bellhop of team Acme"]), (.mattermost, []),
    ])
    func `the doctor tests a chat without sending a message`(_ chat: Chat, _ expected: [String]) async throws {
        let sender = try await open(chat)
        let found = await sender.connectors.examine(connection: "ops", ConnectionNeeds()).filter {
            ["webhook", "token", "chat"].contains($0.subject)
        }
        #expect(found.map(\.text) == expected)
        sender.chats.answer(of: chat.kind, next: .revoked)
        let refused = await sender.connectors.examine(connection: "ops", ConnectionNeeds()).last
        #expect(expected.isEmpty || refused?.state == .missing, "\(String(describing: refused))")
        #expect(sender.chats.messages.isEmpty)
    }

    @Test(arguments: Chat.all)
    func `a chat's refusal of too many messages rests the receiver for the stated time`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        sender.chats.answer(of: chat.kind, next: .tooManyRequests(seconds: 7))
        let failure = await sender.failure(of: SampleMessage.full)
        // Google Chat names no time.
        #expect(failure?.remedy == .rest(chat.kind == "googlechat" ? nil : .seconds(7)))
        #expect(failure?.reason == .throttled)
        #expect(sender.chats.messages.isEmpty)
    }

    @Test func `Discord's wait has fractions of a second`() async throws {
        let sender = try await open(.discord)
        sender.chats.answer(of: "discord", next: .tooManyRequests(seconds: 0.65))
        let failure = await sender.failure(of: SampleMessage.full)
        #expect(failure?.remedy == .rest(.milliseconds(650)))
    }

    @Test func `a limit of Discord on changes of old messages delays the update, and no new message`() async throws {
        let sender = try await open(.discord)
        try await sender.send(Self.message("one", thread: "INC1"))
        sender.chats.refuseChanges(of: try #require(sender.chats.messages.first?.id))
        let failure = await sender.failure(of: Self.message("two", thread: "INC1", update: true))
        #expect(failure?.remedy == .retry(after: .seconds(600)) && failure?.reason == .throttled)
        try await sender.send(Self.message("three"))
        #expect(sender.chats.messages.map(\.edits) == [0, 0])
    }

    @Test func `a used-up rate limit of Discord rests the receiver before a message is refused`() async throws {
        let sender = try await open(.discord)
        for _ in 0..<5 { try await sender.send(SampleMessage.full) }
        let failure = await sender.failure(of: SampleMessage.full)
        #expect(failure?.message.contains("its rate limit is used up") == true)
        #expect(failure?.remedy == .rest(.seconds(2)))
        #expect(sender.chats.messages.count == 5)
    }

    @Test(arguments: Chat.all, [SimulatedChats.ChatFault.revoked, .noChat])
    func `a revoked token and a chat that is gone pause the receiver`(
        _ chat: Chat, _ trouble: SimulatedChats.ChatFault
    ) async throws {
        let sender = try await open(chat)
        sender.chats.answer(of: chat.kind, next: trouble)
        let failure = try #require(await sender.failure(of: SampleMessage.full))
        #expect(failure.remedy == .pauseReceiver, "\(failure)")
        #expect([.unauthenticated, .forbidden, .goneOrHidden].contains(failure.reason), "\(failure)")
        #expect(failure.message.hasPrefix("ops (127.0.0.1:"))
    }

    @Test(arguments: [Chat.mattermost, .googleChat, .telegram, .teams, .slack])
    func `an answer of 200 with an error is a failure`(_ chat: Chat) async throws {
        let sender = try await open(chat)
        sender.chats.answer(of: chat.kind, next: .hiddenError)
        let failure = await sender.failure(of: SampleMessage.full)
        #expect(failure != nil)
        if chat.kind == "teams" { #expect(failure?.remedy == .rest(nil)) }
        if chat.kind == "slack" { #expect(failure?.remedy == .retry(after: nil)) }
    }

    @Test func `Telegram accepts a chat's number or name, and a missing chat is reported with a remedy`() async throws {
        var chat = Chat.telegram
        chat.settings = { ["url": .string($0 + "/telegram"), "token": .string(Chat.telegramToken), "chat": "@some_channel"] }
        let sender = try await open(chat)
        try await sender.send(SampleMessage.full)
        #expect(sender.chats.messages.first?.place == "@some_channel")
        chat.settings = { ["url": .string($0 + "/telegram"), "token": .string(Chat.telegramToken), "chat": "-100404"] }
        let failure = try await open(chat).failure(of: SampleMessage.full)
        #expect(failure?.message.contains("Add the bot to the chat") == true)
    }

    struct WrongSettings: Sendable, CustomTestStringConvertible {
        var kind: String
        var settings: JSON.Object
        var setting: String
        var words: String
        var testDescription: String { "\(kind) \(words)" }
    }

    @Test(arguments: [
        WrongSettings(
            kind: "teams", settings: ["url": "https://acme.webhook.office.com/webhookb2/a@b/IncomingWebhook/c/d"], setting: "url",
            words: "retired"),
        WrongSettings(
            kind: "teams", settings: ["url": "https://outlook.office.com/webhook/a@b/IncomingWebhook/c/d"], setting: "url",
            words: "Workflows"), WrongSettings(kind: "slack", settings: [:], setting: "url", words: "either"),
        WrongSettings(kind: "slack", settings: ["token": "xoxb-1"], setting: "token", words: "`channel`"),
        WrongSettings(kind: "slack", settings: ["token": "abc", "channel": "C1"], setting: "token", words: "xoxb-"),
        WrongSettings(
            kind: "slack", settings: ["url": "https://x.example/", "channel": "C1"], setting: "channel", words: "`token`"),
        WrongSettings(kind: "telegram", settings: ["token": "abc", "chat": "-1"], setting: "token", words: "BotFather"),
        WrongSettings(
            kind: "telegram", settings: ["token": .string(Chat.telegramToken), "chat": "general"], setting: "chat",
            words: "@channel"),
        WrongSettings(kind: "discord", settings: ["url": "discord.com/x"], setting: "url", words: "https://"),
    ])
    func `wrong settings are refused with a remedy`(_ wrong: WrongSettings) async {
        let errors = await Self.errors(wrong.kind, wrong.settings)
        #expect(errors?.all.first?.setting == wrong.setting)
        #expect(errors?.message.contains(wrong.words) == true, "\(errors?.message ?? "")")
    }

    /// The errors of a connection with these settings; nil if it is accepted.
    private static func errors(_ kind: String, _ settings: JSON.Object) async -> ConnectorErrors? {
        do throws(ConnectorErrors) {
            let connectors = try await Connectors(
                connections: [("ops", kind, Settings(settings))], sources: [], environment: .sample())
            await connectors.shutdown()
            return nil
        } catch { return error }
    }

    /// Complete addresses of services, with the kind that accepts them and the other settings of its connection.
    private static let addresses: [(kind: String, settings: JSON.Object)] = [
        ("slack", ["url": "https://hooks.slack.com/services/T1/B1/abc"]),
        ("slack", ["url": "https://slack.com/api", "token": "xoxb-1", "channel": "C1"]),
        ("slack", ["url": "https://discord.com/api/webhooks/1/abc/slack"]),
        ("teams", ["url": "https://prod-1.westeurope.logic.azure.com:443/workflows/a/triggers/manual/paths/invoke?sig=b"]),
        ("teams", ["url": "https://x.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/a"]),
        ("discord", ["url": "https://discord.com/api/webhooks/1/abc"]),
        ("discord", ["url": "https://canary.discord.com/api/v10/webhooks/1/abc"]),
        ("mattermost", ["url": "https://acme.cloud.mattermost.com/hooks/abc"]),
        ("googlechat", ["url": "https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=t"]),
        ("telegram", ["url": "https://api.telegram.org", "token": .string(Chat.telegramToken), "chat": "-1"]),
        ("pagerduty", ["url": "https://events.eu.pagerduty.com", "routing_key": .string(String(repeating: "a", count: 32))]),
        ("opsgenie", ["url": "https://api.eu.opsgenie.com", "key": "k"]), ("ntfy", ["url": "https://ntfy.sh", "topic": "t"]),
        ("matrix", ["url": "https://matrix.org", "token": "t", "room": "!a:b"]),
    ]

    @Test func `a service's address is accepted by its own kind, and refused by other kinds with the right kind's name`() async {
        for (kind, settings) in Self.addresses {
            let errors = await Self.errors(kind, settings)
            #expect(errors == nil, "\(kind): \(errors?.message ?? "")")
            for (other, rest) in Self.addresses where other != kind {
                var mixed = rest
                mixed["url"] = settings["url"]
                let refusal = await Self.errors(other, mixed)
                #expect(refusal?.all.map(\.setting) == ["url"], "\(kind) in \(other)")
                #expect(refusal?.message.contains("write `kind: \(kind)`") == true, "\(refusal?.message ?? "")")
            }
        }
    }

    @Test func `every kind accepts addresses of other servers, and a webhook accepts any address`() async {
        for (kind, settings) in Self.addresses {
            for url in [
                "https://proxy.example.com/services/x", "http://127.0.0.1:8080/hooks/x", "https://discord.com.example/api",
            ] {
                var own = settings
                own["url"] = .string(url)
                #expect(await Self.errors(kind, own) == nil, "\(url) in \(kind)")
            }
            #expect(await Self.errors("webhook", ["url": settings["url"] ?? ""]) == nil)
        }
    }

    @Test(arguments: [
        WrongSettings(kind: "slack", settings: ["url": "https://hooks.slack.com/x"], setting: "url", words: "/services/"),
        WrongSettings(kind: "discord", settings: ["url": "https://discord.com/channels/1/2"], setting: "url", words: "/api/"),
        WrongSettings(
            kind: "googlechat", settings: ["url": "https://chat.googleapis.com/v1/spaces/A/messages?key=k"], setting: "url",
            words: "token=…"),
        WrongSettings(
            kind: "googlechat", settings: ["url": "https://chat.googleapis.com/v1/spaces/A/messages?key=&token="],
            setting: "url", words: "key=…"),
        WrongSettings(
            kind: "slack", settings: ["url": "https://hooks.slack.com/services/T1/B1/a", "token": "xoxb-1", "channel": "C1"],
            setting: "url", words: "takes no `token`"),
        WrongSettings(
            kind: "discord", settings: ["url": "https://acme.webhook.office.com/webhookb2/a"], setting: "url", words: "retired"),
        WrongSettings(kind: "slack", settings: ["token": "xoxp-1", "channel": "C1"], setting: "token", words: "a user's token"),
        WrongSettings(kind: "slack", settings: ["token": "xapp-1", "channel": "C1"], setting: "token", words: "app-level"),
    ])
    func `an address or a token of a wrong form is refused with the right form`(_ wrong: WrongSettings) async {
        let errors = await Self.errors(wrong.kind, wrong.settings)
        #expect(errors?.all.map(\.setting) == [wrong.setting])
        #expect(errors?.message.contains(wrong.words) == true, "\(errors?.message ?? "")")
        #expect(await Self.errors("slack", ["token": "xoxe.xoxb-1", "channel": "C1"]) == nil)
    }

    @Test func `all wrong values of a connection are reported`() async {
        let telegram = await Self.errors("telegram", ["token": "abc", "chat": "general", "url": "https://ntfy.sh"])
        #expect(telegram?.all.map(\.setting) == ["url", "token", "chat"])
        let mail = await Self.errors(
            "email", ["url": "mail.example.com", "from": "x", "to": ["y", "a@example.com", "z"], "password": "p"])
        #expect(mail?.all.map(\.setting) == ["from", "to", "to", "url", "username"])
    }
}
