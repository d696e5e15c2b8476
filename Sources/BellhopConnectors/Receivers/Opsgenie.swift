import BellhopCore

/// Opsgenie (Alert API v2): a message opens an alert, which its thread's key closes again.
///
/// Opsgenie counts a further message of an open alert and shows it in the alert's activity; one for a closed alert opens a new
/// one. How many requests it takes depends on the account's plan, so it has no rate by default; a refusal says how long to rest.
struct OpsgenieReceiver: HookReceiver {
    static let kind = "opsgenie"
    static let summary = "Opsgenie: a message is an alert that calls people. Atlassian ends Opsgenie on 5 April 2027."
    static let settings = [
        Setting("key", .secret, required: true, "The key of an API integration."),
        Setting(
            "url", .address, default: "https://api.opsgenie.com",
            "The address of the API; in the European region https://api.eu.opsgenie.com."),
    ]
    static let addresses = [
        ServiceAddress("Opsgenie's API", hosts: ["api.opsgenie.com", "api.eu.opsgenie.com"], example: "https://api.opsgenie.com")
    ]
    static let actions = [NotifyAction.manifest.kind, AcknowledgeAction.manifest.kind]
    static let messages = MessageAbilities(threads: .yes, resolves: .yes, mentions: .yes)
    static let noLogin = "it needs only its key, and only an alert would show that it works"

    private let key: String

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        key = String(ASCII.trimmed(settings.text("key") ?? ""))
        if key.isEmpty || !HeaderFields.isValue(key) { problems.add("key", "This is not a key of an API integration.") }
        try problems.check()
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        try HTTPAddress(settings.text("url") ?? "https://api.opsgenie.com").inside("v2/alerts")
    }

    var secrets: [String] { [key] }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        let alias = AlertKey.of(call.message, call.delivery)
        if case .resolve = call.place { return post("close", alias, to: call.address, notAfter: call.delivery.expires) }
        return call.post(Self.body(rendered, call.message, call.delivery, Settings()), authorization)
    }

    /// A request that closes an alert has the alias in its address, not in its body.
    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        if message.resolve { return closing }
        var alert = rendered
        alert["alias"] = .string(AlertKey.of(message, delivery))
        return alert
    }

    private static let closing: JSON = ["source": "Bellhop"]

    private var authorization: HeaderFields { ["Authorization": "GenieKey " + key, "Content-Type": "application/json"] }

    private func post(_ verb: String, _ alias: String, to address: HTTPAddress, notAfter: Timestamp?) -> HTTPRequest {
        let target = "\(address.path)/\(PercentEncoding.encode(alias))/\(verb)?identifierType=alias"
        return HTTPRequest(
            "POST", address.with(target: target), headers: authorization, body: Self.closing.encoded(),
            notAfter: notAfter)
    }

    /// Opsgenie answers 202 with the id of a request that it performs later, and 402 if the account's plan does not include this.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        if [402, 403].contains(response.status) {
            return Failure(
                .forbidden, .pauseReceiver,
                "\(hook.label) does not let this key create alerts\(hook.words(of: response)) Check the integration's rights and the account's plan."
            )
        }
        guard response.isSuccess, response.json?["requestId"]?.asString == nil else { return nil }
        return hook.unexpected(response, instead: "a requestId")
    }

    /// The period over which Opsgenie counts requests, which every answer states.
    func wait(in response: HTTPResponse) -> Duration? {
        guard response.status == 429, response.headers["Retry-After"] == nil,
            let text = response.headers["X-RateLimit-Period-In-Sec"], let seconds = Int(text), 1...3600 ~= seconds
        else { return nil }
        return .seconds(seconds)
    }

    func action(_ kind: String, over hook: Hook) -> (any Action)? {
        guard kind == AcknowledgeAction.manifest.kind else { return nil }
        return AcknowledgeAction(receiver: self, hook: hook) { alert, delivery in
            post("acknowledge", alert, to: hook.address, notAfter: delivery.expires)
        }
    }
}

/// The limits of an Opsgenie alert, in characters (Alert API, *Create Alert*).
enum OpsgenieLimits {
    static let message = 130
    static let description = 15_000
    /// All names and values of `details` together.
    static let details = 8000
    static let entity = 512
    static let responders = 50
    /// Our own limit.
    static let fieldName = 100
    static let fieldValue = 1000
}

/// Renders a message as an alert for Opsgenie, whose description is HTML.
///
/// Opsgenie reads an alert's message as HTML in some places and as text in others, so similar characters replace angle brackets.
extension OpsgenieReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let title = MessageTitle.plain(message, origin)
            .replacingScalars(of: "<", with: "‹").replacingScalars(of: ">", with: "›")
        var description = MessageText(flavour: HTMLMarkup(), limit: OpsgenieLimits.description)
        description.parts = [.fields, .link, .origin]
        var alert: JSON.Object = [
            "message": .string(DisplayText.cut(title, to: OpsgenieLimits.message)),
            "description": .string(description.render(message, from: origin)), "priority": .string(priority(message.severity)),
            "source": "Bellhop", "details": .object(details(message, origin)),
        ]
        if let task = origin.task, !task.number.isEmpty {
            alert["entity"] = .string(DisplayText.line(task.number, to: OpsgenieLimits.entity))
        }
        let responders = message.mentions.prefix(OpsgenieLimits.responders).map(responder)
        if !responders.isEmpty { alert["responders"] = .array(responders) }
        return .object(alert)
    }

    private static func priority(_ severity: Message.Severity) -> String {
        switch severity {
        case .critical: "P1"
        case .error: "P2"
        case .warning: "P3"
        case .info: "P5"
        }
    }

    /// A user by name, or a team.
    private static func responder(_ mention: Message.Mention) -> JSON {
        switch mention {
        case .user(let id): ["type": "user", "username": .string(id)]
        case .group(let id): ["type": "team", "name": .string(id)]
        }
    }

    private static func details(_ message: Message, _ origin: MessageOrigin) -> JSON.Object {
        var details: JSON.Object = ["rule": .string(DisplayText.line(origin.rule)), "delivery": .string(origin.delivery)]
        var room = OpsgenieLimits.details - 500
        for field in message.fields {
            let name = DisplayText.line(field.name.plainText, to: OpsgenieLimits.fieldName)
            let value = DisplayText.line(field.value.plainText, to: OpsgenieLimits.fieldValue)
            room -= name.unicodeScalars.count + value.unicodeScalars.count
            guard room >= 0 else { break }
            if !name.isEmpty, details[name] == nil { details[name] = .string(value) }
        }
        return details
    }
}
