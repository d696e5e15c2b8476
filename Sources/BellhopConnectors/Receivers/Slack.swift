import BellhopCore

/// A channel of Slack, through an incoming webhook or a bot. A webhook does not return a message's id, so only a bot can answer
/// or replace messages. The webhook also works with compatible services.
struct SlackReceiver: HookReceiver {
    static let kind = "slack"
    static let summary = "A channel of Slack, through an incoming webhook or a bot."
    static let settings = [
        Setting(
            "url", .secret,
            "The address of the incoming webhook: anyone who has it can post. Only with `token`: the address of the Web API, if it is not Slack's own."
        ),
        Setting(
            "token", .secret, "A bot's token (xoxb-…) with the scope chat:write, instead of a webhook: for threads and updates."),
        Setting("channel", .text, "The id of the channel that the bot posts to, such as C0123456789; the bot must be a member."),
    ]
    static let starter: [String]? = ["url"]
    static let addresses = [
        ServiceAddress(
            "an incoming webhook of Slack", hosts: ["hooks.slack.com", "hooks.slack-gov.com"], path: "/services/**",
            example: "https://hooks.slack.com/services/T…/B…/…", companions: ["token": false]),
        ServiceAddress(
            "Slack's Web API", hosts: ["slack.com", "slack-gov.com"], path: "/api", example: "https://slack.com/api",
            companions: ["token": true]),
        ServiceAddress(
            "a Discord webhook in Slack's form", hosts: DiscordReceiver.hosts, path: "/api/webhooks/*/*/slack",
            example: "https://discord.com/api/webhooks/…/…/slack", companions: ["token": false], isCompatibleService: true),
    ]
    static let messages = MessageAbilities(
        threads: .setting("token", values: nil, line: "token: xoxb-…"),
        updates: .setting("token", values: nil, line: "token: xoxb-…"),
        mentions: .yes,
        mentionForms:
            "write Slack's ids, such as `user: U0123456789` and `group: S0123456789`, or `group:` with here, channel or everyone")

    /// Slack accepts one message a second per channel and short bursts of undocumented length (Web API, *Rate limits*). A refusal
    /// says how long to wait.
    static let limits = DeliveryLimits(rate: Rate(count: 20, per: .seconds(20)))

    private struct Bot {
        var token: String
        var channel: String
    }

    /// Nil for a webhook.
    private let bot: Bot?

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        let channel = settings.text("channel").map { String(ASCII.trimmed($0)) } ?? ""
        guard let token = settings.text("token").map({ String(ASCII.trimmed($0)) }) else {
            if !channel.isEmpty {
                problems.add("channel", "A webhook always posts to its own channel: remove `channel`, or set a bot's `token`.")
            }
            try problems.check()
            bot = nil
            return
        }
        if let refusal = Self.refusal(ofToken: token) { problems.add("token", refusal) }
        if channel.isEmpty { problems.add("token", "A bot needs the `channel` it posts to, by its id, such as C0123456789.") }
        try problems.check()
        bot = Bot(token: token, channel: channel)
    }

    /// A bot's token begins with xoxb-, or with xoxe.xoxb- if it is rotated (Slack, *Token types*, *Token rotation*).
    private static func refusal(ofToken token: String) -> String? {
        let isBotToken = token.hasPrefix("xoxb-") || token.hasPrefix("xoxe.xoxb-")
        if isBotToken, HeaderFields.isValue(token), !token.contains(" ") { return nil }
        let place = "A bot's token begins with xoxb-; it is on the app's page OAuth & Permissions."
        let others = [
            "xoxp-": "a user's token", "xoxe.xoxp-": "a user's token", "xapp-": "an app-level token", "xoxe-": "a refresh token",
            "xoxa-": "the token of an old workspace app", "xoxc-": "a browser's token", "xoxs-": "a browser's token",
        ]
        return others.first { token.hasPrefix($0.key) }.map { "This is \($0.value). \(place)" } ?? place
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        if let url = settings.text("url") { return try HTTPAddress(ASCII.trimmed(url)) }
        guard settings.text("token") != nil else {
            throw InvalidValue(
                message: "Slack needs either the `url` of an incoming webhook, or a bot's `token` and the `channel` it posts to.")
        }
        return try HTTPAddress("https://slack.com/api")
    }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        var body = rendered
        if settings.values["token"] != nil {
            body["channel"] = settings.text("channel").map { .string(String(ASCII.trimmed($0))) }
        }
        return body
    }

    var chat: JSON? { bot.map { .string($0.channel) } }
    var secrets: [String] { bot.map { [$0.token] } ?? [] }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        let type: HeaderFields = ["Content-Type": "application/json; charset=utf-8"]
        guard let bot else { return call.post(rendered, type) }
        var body = Self.body(rendered, call.message, call.delivery, Settings(["token": "", "channel": .string(bot.channel)]))
        var method = "/chat.postMessage"
        switch call.place {
        case .new, .resolve: break
        case .reply(let first): body["thread_ts"] = first["ts"]
        case .update(let first):
            method = "/chat.update"
            body["ts"] = first["ts"]
            // An update needs the channel's id, which each answer has.
            if let channel = first["channel"] { body["channel"] = channel }
        }
        return call.post(body, type.with(["Authorization": "Bearer \(bot.token)"]), to: call.address.adding(path: method))
    }

    /// `auth.test` returns the token's user. A webhook cannot be tried without a message.
    func probes(of hook: Hook) -> [HookProbe] {
        guard let bot else { return [] }
        let request = HTTPRequest(
            "POST", hook.address.adding(path: "/auth.test"), headers: ["Authorization": "Bearer \(bot.token)"], body: [])
        return [
            HookProbe(
                subject: "token", request: request, remedy: "install the app again, and set its bot's new `token`",
                content: "the token's user"
            ) { json throws(Failure) in
                if let error = json["error"]?.asString {
                    let words = DisplayText.line(DisplayText.cut(error, to: 60))
                    throw Failure(.unauthenticated, .giveUp, "\(hook.label) refused the token: \(words).")
                }
                guard json["ok"] == true else { return nil }
                return "user \(json["user"]?.asString ?? "-") of team \(json["team"]?.asString ?? "-")"
            }
        ]
    }

    func reference(in response: HTTPResponse) -> JSON? {
        guard bot != nil, let json = response.json, let ts = json["ts"], let channel = json["channel"] else { return nil }
        return ["ts": ts, "channel": channel]
    }

    /// Also where the message can no longer have replies.
    func isGone(_ response: HTTPResponse) -> Bool {
        guard bot != nil, let error = response.json?["error"]?.asString else { return false }
        return [
            "message_not_found", "thread_not_found", "cant_update_message", "edit_window_closed", "cannot_reply_to_message",
            "restricted_action_thread_locked", "restricted_action_non_threadable_channel",
        ].contains(error)
    }

    /// Slack accepts a reply to a deleted message, shows it in the channel, and returns it without `thread_ts` (slack-go, issue 1571).
    func standsAlone(_ response: HTTPResponse) -> Bool {
        guard bot != nil, let message = response.json?["message"]?.asObject else { return false }
        return message["thread_ts"] == nil
    }

    /// A webhook answers plain `ok`. The Web API has a member `ok` in every answer, false in a refusal with status 200.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        guard bot != nil else {
            return ReceiverAnswer.unlessOK(response, "an incoming webhook of Slack", from: hook) ?? Self.closed(response, hook)
        }
        guard response.isSuccess else { return nil }
        guard let json = response.json, let isOK = json["ok"]?.asBool else {
            return Failure(
                ReceiverAnswer.isPage(response) ? .unexpectedPage : .badAnswer, .retry(after: nil),
                "\(hook.label) answered \(response.status), but not as Slack does: an intermediary may have answered.")
        }
        if isOK { return nil }
        return Self.failure(json["error"].textOrEmpty, response, from: hook, at: now)
    }

    /// The failure of a webhook that is turned off or may not post (Slack, *Sending messages using incoming webhooks*, *Handling
    /// errors*).
    private static func closed(_ response: HTTPResponse, _ hook: Hook) -> Failure? {
        let errors = [
            "action_prohibited", "no_active_hooks", "no_service", "no_team", "posting_to_general_channel_denied", "team_disabled",
        ]
        let word = String(decoding: response.body.prefix(40).filter { $0 > 0x20 }, as: UTF8.self)
        guard 400..<500 ~= response.status, errors.contains(word) else { return nil }
        return Failure(
            .forbidden, .pauseReceiver,
            "\(hook.label) answered \(response.status) (\(word)): the webhook is turned off or may not post. Ask an owner of the workspace, or create a new webhook and set its `url`."
        )
    }

    private static func failure(_ error: String, _ response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure {
        let outcome = "\(hook.label) refused the message (\(DisplayText.line(DisplayText.cut(error, to: 60))))"
        switch error {
        case "ratelimited", "rate_limited", "message_limit_exceeded":
            return Failure(
                .throttled, .rest(RetryAfter.read(response.headers, at: now)), "\(outcome): too many messages for now.")
        case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired":
            return Failure(
                .unauthenticated, .pauseReceiver, "\(outcome): the bot's token is not valid (any more). Install the app again.")
        case "missing_scope", "no_permission", "ekm_access_denied", "access_denied", "org_login_required",
            "not_allowed_token_type", "team_access_not_granted", "accesslimited", "messages_tab_disabled",
            _ where error.hasPrefix("restricted_action"):
            return Failure(.forbidden, .pauseReceiver, "\(outcome): the bot may not do this. It needs the scope chat:write.")
        case "channel_not_found", "not_in_channel", "is_archived":
            return Failure(
                .goneOrHidden, .pauseReceiver,
                "\(outcome): the channel is gone, or the bot is not in it. Invite the bot to the channel.")
        case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org":
            return Failure(.serverError, .retry(after: RetryAfter.read(response.headers, at: now)), "\(outcome).")
        default: return Failure(.refused, .giveUp, "\(outcome)\(hook.words(of: response))")
        }
    }
}
