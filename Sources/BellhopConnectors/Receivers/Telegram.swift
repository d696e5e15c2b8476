import BellhopCore

/// A chat of Telegram, through a bot.
struct TelegramReceiver: HookReceiver {
    static let kind = "telegram"
    static let summary = "A chat of Telegram, through a bot."
    static let settings = [
        Setting("token", .secret, required: true, "The bot's token, from @BotFather."),
        Setting("chat", .text, required: true, "The chat's number (-1001234567890), or a public channel's name (@channel)."),
        Setting("topic", .integer(1...Int.max), "The number of a topic in a group with topics."),
        Setting("url", .address, default: "https://api.telegram.org", "The address of another Bot API server."),
    ]
    static let addresses = [
        ServiceAddress("Telegram's Bot API", hosts: ["api.telegram.org"], example: "https://api.telegram.org")
    ]
    static let messages = MessageAbilities(
        threads: .yes, updates: .yes, mentions: .yes,
        mentionForms: "write a user's name or number, such as `user: ada_lovelace`", mentionsGroups: false)

    /// A bot's limit in a group. In a chat with one person it is higher: one a second (Bots FAQ, *My bot is hitting limits*).
    static let limits = DeliveryLimits(rate: Rate(count: 20, per: .seconds(60)))
    static let noLogin = "it needs only its token and its chat"

    let secrets: [String]
    private let token: String
    private let settings: Settings

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        token = String(ASCII.trimmed(settings.text("token") ?? ""))
        let halves = token.split(separator: ":", omittingEmptySubsequences: false)
        let isToken =
            halves.count == 2 && !halves[0].isEmpty && halves[0].utf8.allSatisfy(\.isASCIIDigit)
            && ASCII.isName(halves[1], of: 20..., with: "_-")
        if !isToken { problems.add("token", "A bot's token is a number, a colon and letters, as @BotFather gave it.") }
        secrets = [token, String(halves.last ?? "")]
        self.settings = settings
        if Self.chat(settings) == nil {
            problems.add("chat", "A chat is a number such as -1001234567890, or a public channel's name such as @channel.")
        }
        try problems.check()
    }

    private static func chat(_ settings: Settings) -> JSON? {
        let text = ASCII.trimmed(settings.text("chat") ?? "")
        if let number = Int64(text), number != 0 { return .int(number) }
        let isName = text.first == "@" && ASCII.isName(text.dropFirst(), of: 4...32, with: "_")
        return isName ? .string(String(text)) : nil
    }

    var chat: JSON? { Self.chat(settings) }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        var body = rendered
        body["chat_id"] = chat(settings)
        body["message_thread_id"] = settings.integer("topic").map { .int(Int64($0)) }
        return body
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        try HTTPAddress(ASCII.trimmed(settings.text("url") ?? "https://api.telegram.org"))
    }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        var body = Self.body(rendered, call.message, call.delivery, settings)
        var method = "sendMessage"
        switch call.place {
        case .new, .resolve: break
        case .reply(let first): body["reply_parameters"] = ["message_id": first["message"] ?? 0]
        case .update(let first):
            method = "editMessageText"
            body["message_id"] = first["message"] ?? 0
            body["message_thread_id"] = nil
        }
        return call.post(body, to: call.address.adding(path: "/bot\(token)/\(method)"))
    }

    /// `getMe` returns the bot, `getChat` the chat if the bot is in it.
    func probes(of hook: Hook) -> [HookProbe] {
        let askBot = HTTPRequest(hook.address.adding(path: "/bot\(token)/getMe"))
        let chat = Self.chat(settings) ?? .null
        let query = "chat_id=" + PercentEncoding.encode(chat.asString ?? chat.text)
        let askChat = HTTPRequest(hook.address.adding(path: "/bot\(token)/getChat").adding(query: query))
        return [
            HookProbe(
                subject: "token", request: askBot, remedy: "get a new `token` from @BotFather", content: "the bot's name"
            ) { json in json["result"]?["username"]?.asString.map { "bot @\($0)" } },
            HookProbe(
                subject: "chat", request: askChat, remedy: "add the bot to the chat, or set another `chat`", content: "the chat"
            ) { json in
                json["result"].map { "chat \($0["title"]?.asString ?? $0["username"]?.asString ?? "without a title")" }
            },
        ]
    }

    func reference(in response: HTTPResponse) -> JSON? { response.json?["result"]?["message_id"].map { ["message": $0] } }

    func isGone(_ response: HTTPResponse) -> Bool {
        let words = Self.words(response)
        return [
            "message to be replied not found", "replied message not found", "message to edit not found",
            "message can't be edited", "message_id_invalid",
        ].contains { words.contains($0) }
    }

    func wait(in response: HTTPResponse) -> Duration? {
        response.json?["parameters"]?["retry_after"]?.asInt.map { .seconds(min(max($0, 0), 86_400)) }
    }

    /// Every answer has a member `ok`; a refusal also has a description.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        guard let json = response.json, let isOK = json["ok"]?.asBool else {
            guard response.isSuccess else { return nil }
            return Failure(
                ReceiverAnswer.isPage(response) ? .unexpectedPage : .badAnswer, .retry(after: nil),
                "\(hook.label) answered \(response.status) but not as Telegram does: an intermediary may have answered.")
        }
        let words = Self.words(response)
        let outcome = "\(hook.label) answered \(response.status)"
        if isOK { return nil }
        if let chat = json["parameters"]?["migrate_to_chat_id"]?.asInt {
            return Failure(.goneOrHidden, .pauseReceiver, "\(outcome): the group became a supergroup. Set `chat: \(chat)`.")
        }
        switch json["error_code"]?.asInt ?? Int64(response.status) {
        case 401, 404:
            return Failure(
                .unauthenticated, .pauseReceiver, "\(outcome): the bot's token is not valid (any more). Get one from @BotFather.")
        case 403:
            return Failure(
                .forbidden, .pauseReceiver, "\(outcome): the bot may not write to this chat\(hook.words(of: response))")
        case 400 where words.contains("chat not found"):
            return Failure(
                .goneOrHidden, .pauseReceiver,
                "\(outcome): there is no such chat, or the bot is not in it. Add the bot to the chat first.")
        case 400 where Self.closed.contains(where: { words.contains($0) }):
            return Failure(
                .forbidden, .pauseReceiver, "\(outcome): the bot may not write to this chat or topic\(hook.words(of: response))")
        case 429: return Failure(.throttled, .rest(wait(in: response)), "\(outcome): too many requests for now.")
        case let code where response.isSuccess:
            let isTheirs = code >= 500
            return Failure(
                isTheirs ? .serverError : .refused, isTheirs ? .retry(after: nil) : .giveUp,
                "\(outcome), but with the error \(code)\(hook.words(of: response))")
        default: return nil
        }
    }

    /// An edit that changes nothing was done by an earlier attempt whose answer was lost, or is not needed.
    func isDone(_ response: HTTPResponse) -> Bool { Self.words(response).contains("message is not modified") }

    /// Descriptions, with 400, of a chat or topic in which the bot cannot write until a person changes something.
    private static let closed = [
        "message thread not found", "topic_closed", "topic_deleted", "not enough rights", "have no rights to send",
        "chat_write_forbidden", "need administrator rights", "chat_admin_required", "chat_restricted",
    ]

    private static func words(_ response: HTTPResponse) -> String {
        ASCII.lowercased(response.json?["description"]?.asString ?? "")
    }
}

/// Telegram's HTML mode: bold, italic, code and links; lists and fields are lines.
///
/// Telegram turns plain words into mentions, links and hashtags. A zero-width space after `@` prevents a mention; a link from an
/// address in a value leads to the address it shows.
struct TelegramMarkup: Markup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        switch scalar {
        case "@" where place != .code: text += "@\u{200B}"
        case "'": text += "'"
        default: HTMLMarkup.escape(scalar, into: &text)
        }
    }

    func marks(_ element: MarkupElement) -> MarkupMarks {
        switch element {
        case .strong, .title, .heading, .fieldName: MarkupMarks("<b>", "</b>")
        case .emphasis, .note, .origin: MarkupMarks("<i>", "</i>")
        case .strongEmphasis: MarkupMarks("<b><i>", "</i></b>")
        case .code: MarkupMarks("<code>", "</code>")
        case .link(let address, _): MarkupMarks("<a href=\"\(HTMLMarkup.escaped(address.text))\">", "</a>")
        case .item(nil): MarkupMarks("• ")
        case .item(let number?): MarkupMarks("\(number). ")
        case .fieldValue: MarkupMarks(" ")
        case .paragraph, .list, .fields, .field, .action: MarkupMarks()
        }
    }

    func cost(of character: Character, escaped: Substring) -> Int {
        character.utf16.count + character.unicodeScalars.count { $0 == "@" }
    }

    /// The length of a mark without its tags.
    func cost(ofMark mark: String) -> Int {
        var isTag = false
        return mark.utf16.count { unit in
            if unit == UInt16(UInt8(ascii: "<")) { isTag = true }
            defer { if unit == UInt16(UInt8(ascii: ">")) { isTag = false } }
            return !isTag
        }
    }

    /// Telegram refuses a message whose markup, mostly the addresses of links, has more than about 9,500 bytes
    /// (`ENTITIES_TOO_LONG`; tdlib/telegram-bot-api, issue 165).
    var linkLimit: Int { 8000 }

    func entities(_ element: MarkupElement) -> Int {
        switch element {
        case .strong, .title, .heading, .fieldName, .emphasis, .note, .origin, .code, .link: 1
        case .strongEmphasis: 2
        case .item, .fieldValue, .paragraph, .list, .fields, .field, .action: 0
        }
    }

    /// Telegram ignores all after the first 100, some of which it finds in plain text, such as addresses and hashtags
    /// (rubenlagus/TelegramBots, issue 854).
    var entityLimit: Int { 80 }

    /// A user's number, or a name with or without `@`. Telegram has no groups.
    static func mention(_ mention: Message.Mention) -> String? {
        guard case .user(let id) = mention else { return nil }
        if !id.isEmpty, id.utf8.count <= 20, id.utf8.allSatisfy(\.isASCIIDigit) {
            return "<a href=\"tg://user?id=\(id)\">\(id)</a>"
        }
        let name = id.hasPrefix("@") ? id.dropFirst() : id[...]
        return ASCII.isName(name, of: 4...32, with: "_") ? "@" + name : nil
    }
}

extension TelegramReceiver {
    /// In UTF-16 units, without markup (Bot API, sendMessage).
    private static let textLimit = 4096

    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(TelegramMarkup.mention)
        let text = MessageText(flavour: TelegramMarkup(), limit: Self.textLimit)
        return [
            "text": .string(text.render(message, from: origin, mentions: mentions)), "parse_mode": "HTML",
            "link_preview_options": ["is_disabled": true],
        ]
    }
}
