import BellhopCore

/// A room of Matrix (client-server API). The delivery is the transaction id, so a retry creates no second message.
struct MatrixReceiver: HookReceiver {
    static let kind = "matrix"
    static let summary = "A room of Matrix."
    static let settings = [
        Setting(
            "url", .address, required: true, "The homeserver's address, such as https://matrix.example.org.",
            example: "url: https://matrix.example.org"),
        Setting("token", .secret, required: true, "The access token of the account that writes."),
        Setting(
            "room", .text, required: true,
            "The room's internal id, such as !AbCdEf:example.org; the account must have joined it.",
            example: "room: \"!AbCdEf:example.org\""
        ),
    ]
    static let addresses = [
        ServiceAddress(
            "a homeserver of Matrix", hosts: ["matrix-client.matrix.org", "matrix.org"],
            example: "https://matrix-client.matrix.org")
    ]
    static let messages = MessageAbilities(
        threads: .yes, updates: .yes, mentions: .yes,
        mentionForms: "write a user's whole id, such as `user: \"@ada:example.org\"`, or `group: room` for everybody")

    /// Synapse's default `rc_message`: 0.2 a second after a burst of 10.
    static let limits = DeliveryLimits(rate: Rate(count: 10, per: .seconds(50)))
    static let noLogin = "it needs only its token, and only a test message (`bellhop notify`) shows that it works"

    private let token: String
    private let room: String

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        token = settings.text("token") ?? ""
        room = settings.text("room") ?? ""
        if token.isEmpty || !HeaderFields.isValue(token) { problems.add("token", "This is not an access token.") }
        if room.first != "!" || !(2...255 ~= room.utf8.count) || !MailHeaderValue.isLine(room) {
            problems.add(
                "room",
                "Write the room's internal id, which begins with `!`: most apps show it in the room's settings, under Advanced.")
        }
        try problems.check()
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress { try HTTPAddress(settings.text("url") ?? "") }

    /// Events of another room cannot be answered or replaced from this one.
    var chat: JSON? { .string(room) }
    var secrets: [String] { [token] }

    func request(_ rendered: JSON, _ call: MessageCall) throws(Failure) -> HTTPRequest {
        let address = try address(call, "send", "m.room.message", call.delivery.id.text)
        return call.post(content(rendered, at: call.place), authorization, method: "PUT", to: address)
    }

    /// Servers accept an update of a deleted message, which apps do not show. They show replies to one.
    func lookUp(_ call: MessageCall) throws(Failure) -> HTTPRequest? {
        guard case .update(let first) = call.place, let event = first["event"]?.asString else { return nil }
        return HTTPRequest(
            "GET", try address(call, "event", event), headers: authorization, notAfter: call.delivery.expires)
    }

    private func address(_ call: MessageCall, _ steps: String...) throws(Failure) -> HTTPAddress {
        let path = ([room] + steps).map { PercentEncoding.encode($0) }.joined(separator: "/")
        return try rethrowing(as: { Failure.badArguments($0.message) }) { () throws(InvalidValue) in
            try call.address.inside("_matrix/client/v3/rooms/" + path)
        }
    }

    private var authorization: HeaderFields { ["Authorization": "Bearer " + token] }

    private func content(_ rendered: JSON, at place: MessagePlace) -> JSON {
        var content = rendered.asObject ?? [:]
        switch place {
        case .new, .resolve: break
        case .reply(let first):
            let event = first["event"] ?? .null
            content["m.relates_to"] = [
                "rel_type": "m.thread", "event_id": event, "is_falling_back": true, "m.in_reply_to": ["event_id": event],
            ]
        case .update(let first):
            // Clients without edits show the text with an asterisk.
            content["m.new_content"] = rendered
            content["body"] = .string("* " + rendered["body"].textOrEmpty)
            // The new content has the mentions; those here would notify everyone again with each edit.
            content["m.mentions"] = .object([:])
            content["m.relates_to"] = ["rel_type": "m.replace", "event_id": first["event"] ?? .null]
        }
        return .object(content)
    }

    /// Errors have a code of their own (client-server API, *Standard error response*).
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        let answer = response.json
        if response.isSuccess {
            return answer?["event_id"]?.asString == nil ? hook.unexpected(response, instead: "the event_id of the message") : nil
        }
        let words = hook.words(of: response)
        switch answer?["errcode"]?.asString {
        case "M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED":
            return Failure(
                .unauthenticated, .pauseReceiver, "\(hook.label) does not accept the token any more\(words) Set a new `token`.")
        case "M_FORBIDDEN":
            return Failure(
                .forbidden, .pauseReceiver, "\(hook.label) does not let the account write to the room\(words) Has it joined?")
        // The last one is a limit that the server's administrator can raise, such as the number of its users.
        case "M_USER_SUSPENDED", "M_CONSENT_NOT_GIVEN", "M_RESOURCE_LIMIT_EXCEEDED":
            return Failure(.forbidden, .pauseReceiver, "\(hook.label) does not let the account write anything\(words)")
        case "M_TOO_LARGE": return Failure(.tooLarge, .giveUp, "\(hook.label) refuses the message as too large\(words)")
        default: return nil
        }
    }

    func wait(in response: HTTPResponse) -> Duration? {
        guard let milliseconds = response.json?["retry_after_ms"]?.asInt, 1...86_400_000 ~= milliseconds else { return nil }
        return .milliseconds(milliseconds)
    }

    func isGone(_ response: HTTPResponse) -> Bool {
        guard let answer = response.json else { return false }
        // A deleted event keeps no content.
        if response.isSuccess { return answer["content"] == .object([:]) }
        // Servers differ here; Synapse says `Can't send relation to unknown event`.
        let isUnknownRelation = answer["error"]?.asString?.contains("unknown event") == true
        return response.status == 404 && answer["errcode"] == "M_NOT_FOUND" || response.status == 400 && isUnknownRelation
    }

    func probes(of hook: Hook) -> [HookProbe] {
        guard let address = try? hook.address.inside("_matrix/client/v3/account/whoami") else { return [] }
        return [
            HookProbe(
                subject: "token", request: HTTPRequest(address, headers: authorization),
                remedy: "set a new `token`", content: "the token's user"
            ) { json in json["user_id"]?.asString.map { "user \($0)" } }
        ]
    }

    func reference(in response: HTTPResponse) -> JSON? { response.json?["event_id"].map { ["event": $0] } }
}

/// The limits of a message to Matrix, in bytes of JSON: a whole event has at most 65,536 bytes (client-server API, *Size
/// limits*), and an edit contains its content twice.
enum MatrixLimits {
    static let body = 8000
    static let html = 16_000
    static let mentions = 20
    static let mention = 255
}

extension MatrixReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let users = users(message)
        let isForRoom = message.mentions.contains(.group("room"))
        let body = MessageText(flavour: JSONBytes(PlainMarkup()), limit: MatrixLimits.body)
        let html = MessageText(flavour: JSONBytes(HTMLMarkup()), limit: MatrixLimits.html)
        let links = users.map {
            "<a href=\"https://matrix.to/#/\(PercentEncoding.encode($0, keeping: "-._~@:"))\">\(HTMLMarkup.escaped($0))</a>"
        }
        // With `m.mentions`, servers and apps do not look for names and `@room` in the text.
        var mentions: JSON.Object = [:]
        if !users.isEmpty { mentions["user_ids"] = .array(users.map(JSON.string)) }
        if isForRoom { mentions["room"] = true }
        let room = isForRoom ? ["@room"] : []
        return [
            "msgtype": "m.text", "body": .string(body.render(message, from: origin, mentions: room + users)),
            "format": "org.matrix.custom.html",
            "formatted_body": .string(html.render(message, from: origin, mentions: room + links)),
            "m.mentions": .object(mentions),
        ]
    }

    /// Users' ids: `@name:host`.
    private static func users(_ message: Message) -> [String] {
        let users = message.mentions.compactMap { mention -> String? in
            guard case .user(let id) = mention, id.first == "@", id.contains(":"), id.utf8.count <= MatrixLimits.mention,
                id.utf8.allSatisfy({ 0x21...0x7e ~= $0 })
            else { return nil }
            return id
        }
        return Array(users.prefix(MatrixLimits.mentions))
    }
}
