import BellhopCore

/// A channel of Mattermost. An incoming webhook does not return a message's id, so messages cannot be answered or replaced.
struct MattermostReceiver: HookReceiver {
    static let kind = "mattermost"
    static let summary = "A channel of Mattermost, through an incoming webhook."
    static let settings = [
        Setting(
            "url", .secret, required: true,
            "The address of the incoming webhook (Integrations > Incoming Webhooks); anyone who has it can post.")
    ]
    /// The servers that Mattermost itself runs.
    static let addresses = [
        ServiceAddress(
            "an incoming webhook of Mattermost", hosts: ["*.cloud.mattermost.com"], path: "/hooks/*",
            example: "https://….cloud.mattermost.com/hooks/…")
    ]
    static let messages = MessageAbilities(
        mentions: .yes, mentionForms: "write a name without spaces, such as `user: ada`; channel, here and all are groups")

    /// The default of `RateLimitSettings.PerSec` on servers that limit requests.
    static let limits = DeliveryLimits(rate: Rate(count: 10, per: .seconds(1)))

    init(_ settings: Settings, connection: String) {}

    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        ReceiverAnswer.unlessOK(response, "an incoming webhook of Mattermost", from: hook) ?? Self.closed(response, hook)
    }

    /// Mattermost answers 400 where a webhook was deleted, 403 where it may not post, and 501 where webhooks are turned off. Newer
    /// versions give all of these one id, so that only the status tells them apart.
    private static func closed(_ response: HTTPResponse, _ hook: Hook) -> Failure? {
        let outcome = "\(hook.label) answered \(response.status)"
        switch (response.json?["id"]?.asString ?? "", response.status) {
        case ("web.incoming_webhook.invalid.app_error", _), ("web.incoming_webhook.general.app_error", 400):
            return Failure(
                .goneOrHidden, .pauseReceiver,
                "\(outcome): the webhook was deleted, or its channel was archived. Create a new one and put its address into `url`."
            )
        case ("web.incoming_webhook.disabled.app_error", _), ("web.incoming_webhook.general.app_error", 501):
            return Failure(
                .forbidden, .pauseReceiver,
                "\(outcome): incoming webhooks are turned off on this server. Its administrator can turn them on.")
        case ("web.incoming_webhook.permissions.app_error", _), ("web.incoming_webhook.general.app_error", 403):
            return Failure(
                .forbidden, .pauseReceiver,
                "\(outcome): the webhook's owner may not write to the channel. Create a new one and put its address into `url`.")
        default: return nil
        }
    }
}

/// Mattermost's Markdown.
///
/// Its web client ignores backslashes around emphasis and supports few others, so characters with a meaning are written as
/// character references, which all clients and the server understand. An incoming webhook also converts Slack's `<!channel>`,
/// `<@id>` and `<url|label>`, which need angle brackets.
struct MattermostMarkup: MarkdownMarkup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        escape(scalar, at: place, into: &text) { text, isLineStart in
            switch scalar {
            case "&", "<", ">": HTMLMarkup.escape(scalar, into: &text)
            case "\\", "`", "*", "_", "~", "|", "[", "]", "$", "#", ":": text += "&#\(scalar.value);"
            case "-", "+", ")": text += isLineStart ? "\\\(scalar)" : String(scalar)
            case "=": text += isLineStart ? "&#61;" : "="
            case ".": text += "\\."
            case "@": text += "@\u{200B}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Slack's forms are converted in code too.
    func canBeCode(_ text: String) -> Bool { !text.utf8.contains { $0 == UInt8(ascii: "`") || $0 == UInt8(ascii: "<") } }

    /// A user's or group's name, or one of `all`, `channel` and `here`, which are groups.
    static func mention(_ mention: Message.Mention) -> String? {
        let name =
            switch mention {
            case .user(let name), .group(let name): name.hasPrefix("@") ? String(name.dropFirst()) : name
            }
        if case .user = mention, ["all", "channel", "here"].contains(ASCII.lowercased(name)) { return nil }
        return ASCII.isName(name, of: 1...64, with: "._-") ? "@" + name : nil
    }
}

extension MattermostReceiver {
    /// In code points (Alertmanager's Mattermost receiver).
    private static let textLimit = 16_383

    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(MattermostMarkup.mention)
        let text = MessageText(flavour: MattermostMarkup(), limit: Self.textLimit)
        return ["text": .string(text.render(message, from: origin, mentions: mentions))]
    }
}
