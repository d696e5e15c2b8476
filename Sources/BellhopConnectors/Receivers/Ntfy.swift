import BellhopCore

/// A topic of ntfy: a notification on telephones and computers. Plain text, so nothing in it is markup.
struct NtfyReceiver: HookReceiver {
    static let kind = "ntfy"
    static let summary = "A topic of ntfy: a notification on telephones and computers."
    static let settings = [
        Setting("topic", .secret, required: true, "The topic; on a public server, anyone who knows it can read it."),
        Setting("token", .secret, "An access token, for a topic that is protected."),
        Setting("url", .address, default: "https://ntfy.sh", "The server's address."),
    ]
    static let addresses = [
        ServiceAddress("the public server of ntfy", hosts: ["ntfy.sh"], example: "https://ntfy.sh")
    ]
    /// A visitor's limit: a burst of 60 requests, refilled by one every 5 seconds (ntfy, *Rate limiting*).
    static let limits = DeliveryLimits(rate: Rate(count: 60, per: .seconds(300)))
    static let noLogin = "it needs only its topic or a token, and only a test message (`bellhop notify`) shows that it works"

    private let topic: String
    private let token: String?

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        topic = settings.text("topic") ?? ""
        token = settings.text("token")
        if !ASCII.isName(topic, of: 1...64, with: "-_") {
            problems.add("topic", "A topic of ntfy has at most 64 letters, digits, dashes and underscores.")
        }
        if let token, token.isEmpty || !HeaderFields.isValue(token) { problems.add("token", "This is not an access token.") }
        try problems.check()
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        try HTTPAddress(settings.text("url") ?? "https://ntfy.sh")
    }

    var secrets: [String] { [topic] + (token.map { [$0] } ?? []) }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        var body = rendered.asObject ?? [:]
        body["topic"] = .string(topic)
        return call.post(.object(body), token.map { ["Authorization": "Bearer " + $0] } ?? [:])
    }

    /// ntfy returns the message that it has published.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        if response.status == 403 {
            return Failure(
                .forbidden, .pauseReceiver,
                "\(hook.label) does not let this connection write to the topic\(hook.words(of: response)) Check `token` and the topic's access rules."
            )
        }
        guard response.isSuccess, response.json?["id"]?.asString == nil else { return nil }
        return hook.unexpected(response, instead: "the message with its id")
    }

    /// A used-up daily quota blocks messages for hours.
    func wait(in response: HTTPResponse) -> Duration? {
        response.status == 429 && response.json?["code"]?.asInt == NtfyLimits.quotaReached ? .seconds(3600) : nil
    }
}

enum NtfyLimits {
    /// In bytes; a longer message becomes an attachment (ntfy, *Limitations*).
    static let message = 4096
    /// In bytes, without the topic: ntfy refuses a JSON document of more than twice the longest message.
    static let document = 2 * message - 100
    /// Our own limit, in code points.
    static let title = 250
    static let buttonLabel = 75
    /// ntfy's error `limit reached: daily message quota reached`.
    static let quotaReached: Int64 = 42908
}

extension NtfyReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let title = DisplayText.cut(MessageTitle.text(message, origin), to: NtfyLimits.title)
        var rendered: JSON.Object = ["message": "", "priority": .int(priority(message.severity))]
        if !title.isEmpty { rendered["title"] = .string(title) }
        if let link = message.link ?? origin.taskLink, let address = LinkAddress(link.address, limit: StyledText.longestAddress) {
            let label = link.shownLabel(limit: NtfyLimits.buttonLabel)
            rendered["click"] = .string(address.text)
            rendered["actions"] = [["action": "view", "label": .string(label), "url": .string(address.text)]]
        }
        let room = NtfyLimits.document - JSON.object(rendered).encoded().count
        var text = MessageText(flavour: JSONBytes(PlainMarkup()), limit: min(NtfyLimits.message, room))
        text.parts = [.fields, .origin]
        rendered["message"] = .string(text.render(message, from: origin))
        return .object(rendered)
    }

    /// From 1 to 5; 3 is usual, 5 keeps ringing.
    private static func priority(_ severity: Message.Severity) -> Int64 {
        switch severity {
        case .info: 3
        case .warning, .error: 4
        case .critical: 5
        }
    }
}
