import BellhopCore

/// A channel of Discord.
///
/// A webhook can replace its own messages, but cannot answer them. In a forum, a post contains all messages of a `thread`.
struct DiscordReceiver: HookReceiver {
    static let kind = "discord"
    static let summary = "A channel of Discord, through a webhook."
    static let settings = [
        Setting(
            "url", .secret, required: true,
            "The address of the webhook (Edit Channel > Integrations > Webhooks); anyone who has it can post."),
        Setting(
            "channel", .oneOf(["text", "forum"]), default: "text",
            "The kind of the channel. In a forum each message begins a post, and those of one `thread` answer in it."),
    ]
    static let hosts = ["discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"]
    static let addresses = ["/api/webhooks/*/*", "/api/*/webhooks/*/*"].map { path in
        ServiceAddress("a Discord webhook", hosts: hosts, path: path, example: "https://discord.com/api/webhooks/…/…")
    }
    static let messages = MessageAbilities(
        threads: .setting("channel", values: ["forum"], line: "channel: forum"), updates: .yes, mentions: .yes,
        mentionForms: "write the number of a user or role, such as `user: 123456789012345678`, or `group:` with everyone or here")

    /// From `X-RateLimit-Limit` and `X-RateLimit-Reset-After` of a webhook's answers. Too many refusals lead to a ban.
    static let limits = DeliveryLimits(rate: Rate(count: 5, per: .seconds(2)))

    private let isForum: Bool

    init(_ settings: Settings, connection: String) { isForum = settings.text("channel") == "forum" }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        let address = call.address
        switch call.place {
        case .new, .resolve:
            let settings = Settings(["channel": isForum ? "forum" : "text"])
            let body = Self.body(rendered, call.message, call.delivery, settings)
            return call.post(body, to: address.adding(query: "wait=true"))
        case .reply(let first): return call.post(rendered, to: address.adding(query: "wait=true" + thread(of: first)))
        case .update(let first):
            let message = address.adding(path: "/messages/" + PercentEncoding.encode(first["message"]?.asString ?? "0"))
            let query = String(thread(of: first).dropFirst())
            return call.post(rendered, method: "PATCH", to: query.isEmpty ? message : message.adding(query: query))
        }
    }

    /// A message to a forum names the post that it begins.
    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        guard settings.text("channel") == "forum" else { return rendered }
        var body = rendered
        let name = DisplayText.line(MessageTitle.text(message, MessageOrigin(delivery)), to: 100)
        body["thread_name"] = .string(name.isEmpty ? delivery.id.rule : name)
        return body
    }

    private func thread(of first: JSON) -> String {
        guard isForum, let id = first["channel"]?.asString else { return "" }
        return "&thread_id=" + PercentEncoding.encode(id)
    }

    /// A webhook describes itself.
    func probes(of hook: Hook) -> [HookProbe] {
        [
            HookProbe(
                subject: "webhook", request: HTTPRequest(hook.address), remedy: "create a webhook, and set its `url`",
                content: "the webhook's name"
            ) { json in json["name"]?.asString.map { "webhook \($0)" } }
        ]
    }

    func reference(in response: HTTPResponse) -> JSON? {
        guard let json = response.json, let id = json["id"], let channel = json["channel_id"] else { return nil }
        return ["message": id, "channel": channel]
    }

    /// Unknown Message, and Unknown Channel for a post that was deleted. Discord archives a post without new messages after days, and
    /// then refuses to change its messages; a person may also lock a post.
    func isGone(_ response: HTTPResponse) -> Bool {
        [10008, 10003, 50083, 160_005].contains(response.json?["code"]?.asInt) && [400, 403, 404].contains(response.status)
    }

    /// Seconds, with a fraction.
    func wait(in response: HTTPResponse) -> Duration? {
        guard response.status == 429 else { return nil }
        return response.json?["retry_after"]?.asDouble.flatMap(Self.duration) ?? Self.resetTime(response)
    }

    /// Without remaining requests, a message before the reset would be refused. Too many refusals lead to a ban.
    func rest(after response: HTTPResponse) -> Duration? {
        guard response.isSuccess,
            response.headers["X-RateLimit-Remaining"].map({ ASCII.trimmed($0) }) == "0"
        else { return nil }
        return Self.resetTime(response)
    }

    private static func resetTime(_ response: HTTPResponse) -> Duration? {
        response.headers["X-RateLimit-Reset-After"].flatMap { Double(ASCII.trimmed($0)) }.flatMap(duration)
    }

    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        if response.isSuccess {
            // With `wait=true`, and for a changed message, it answers with the message.
            let isMessage = response.status == 204 || response.json?["id"] != nil
            return isMessage ? nil : hook.unexpected(response, instead: "the message with its id")
        }
        let outcome = "\(hook.label) answered \(response.status)"
        switch response.json?["code"]?.asInt {
        case 10015, 50027:
            return Failure(
                .goneOrHidden, .pauseReceiver,
                "\(outcome): the webhook was deleted. Create a new one and put its address into `url`.")
        // A limit on changes alone: new messages need not wait.
        case 30046:
            return Failure(
                .throttled, .retry(after: wait(in: response) ?? RetryAfter.read(response.headers, at: now)),
                "\(outcome): too many changes of messages older than an hour for now.")
        case 40067:
            return Failure(
                .refused, .pauseReceiver,
                "\(outcome): its forum takes no post without a tag. Turn off the forum's setting that requires tags.")
        case 220_001:  // Webhooks posted to forum channels must have a thread_name or thread_id.
            return Failure(.refused, .pauseReceiver, "\(outcome): its channel is a forum. Set `channel: forum`.")
        case 220_003:  // Webhooks can only create threads in forum channels.
            return Failure(.refused, .pauseReceiver, "\(outcome): its channel is not a forum. Set `channel: text`.")
        default: return nil
        }
    }

    private static func duration(_ seconds: Double) -> Duration? {
        guard seconds.isFinite, seconds >= 0 else { return nil }
        return .milliseconds(Int64((min(seconds, 86_400) * 1000).rounded(.up)))
    }
}
