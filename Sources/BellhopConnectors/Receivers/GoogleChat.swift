import BellhopCore

/// A space of Google Chat. A key, without a first message, puts all messages of a `thread` into one thread of the space. A
/// webhook cannot replace messages.
struct GoogleChatReceiver: HookReceiver {
    static let kind = "googlechat"
    static let summary = "A space of Google Chat, through a webhook."
    static let settings = [
        Setting(
            "url", .secret, required: true,
            "The address of the webhook (the space's Apps & integrations > Webhooks), with its key and token.")
    ]
    static let addresses = [
        ServiceAddress(
            "a webhook of Google Chat", hosts: ["chat.googleapis.com"], path: "/v1/spaces/*/messages", query: ["key", "token"],
            example: "https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=…")
    ]
    static let messages = MessageAbilities(
        threads: .yes, mentions: .yes,
        mentionForms: "write a user's number, such as `user: 123456789012345678901`, or `group: all`")

    /// The limit of a space for all apps together (Google Chat, *Usage limits*).
    static let limits = DeliveryLimits(rate: Rate(count: 60, per: .seconds(60)))

    init(_ settings: Settings, connection: String) {}

    /// If the thread is gone, the message begins a new one.
    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        let option = "messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"
        guard call.message.thread != nil, !call.address.target.contains("messageReplyOption=") else { return call.post(rendered) }
        return call.post(rendered, to: call.address.adding(query: option))
    }

    /// The key of the thread places later messages. The reference only says that the conversation has begun. Its member is not that of
    /// another kind, which a connection of this name may have later.
    func reference(in response: HTTPResponse) -> JSON? { response.json?["name"].map { ["name": $0] } }

    /// Google Chat answers 403 to a wrong or deleted token, and 400 to a wrong key.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        let reasons = response.json?["error"]?["details"]?.asArray?.compactMap { $0["reason"]?.asString } ?? []
        // The page of a proxy says nothing about the webhook.
        let isRefused = response.status == 403 && response.json?["error"] != nil
        if isRefused || response.status == 400 && reasons.contains("API_KEY_INVALID") {
            return Failure(
                .unauthenticated, .pauseReceiver,
                "\(hook.label) answered \(response.status): it does not accept the webhook's key or token (any more). Create a new webhook and put its address into `url`."
            )
        }
        guard response.isSuccess, response.json?["name"] == nil else { return nil }
        return hook.unexpected(response, instead: "the message's name")
    }
}

enum GoogleChatLimits {
    /// The text with its markup, in code points: at most 16 KB of the 32,000 bytes that a message may have.
    static let text = 4096
}

/// Google Chat's Markdown (`MARKUP_SYNTAX_MARKDOWN`): CommonMark with backslashes, unlike Chat's older markup, which has no
/// escapes. Mentions are `<users/ID>` in both.
extension GoogleChatReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(Self.mention)
        let text = MessageText(flavour: CommonMark(), limit: GoogleChatLimits.text)
        var body: JSON.Object = [
            "text": .string(text.render(message, from: origin, mentions: mentions)), "markupSyntax": "MARKUP_SYNTAX_MARKDOWN",
        ]
        // A thread's key may have 4,000 characters; this one has at most 200 bytes.
        if let conversation = message.conversation { body["thread"] = ["threadKey": .string(conversation)] }
        return .object(body)
    }

    /// A user's number, or the group `all`.
    static func mention(_ mention: Message.Mention) -> String? {
        switch mention {
        case .user(let id): return ASCII.isName(id, of: 1...64, with: ".-_@") && id != "all" ? "<users/\(id)>" : nil
        case .group(let name): return name == "all" ? "<users/all>" : nil
        }
    }
}
