import BellhopCore

/// A service of PagerDuty (Events API v2): a message opens an alert, which its thread's key closes again.
struct PagerDutyReceiver: HookReceiver {
    static let kind = "pagerduty"
    static let summary = "A service of PagerDuty: a message is an alert that calls people."
    static let settings = [
        Setting("routing_key", .secret, required: true, "The integration key of the service, for the Events API v2."),
        Setting(
            "url", .address, default: "https://events.pagerduty.com",
            "The address of the Events API; in the European region https://events.eu.pagerduty.com."),
    ]
    static let addresses = [
        ServiceAddress(
            "PagerDuty's Events API", hosts: ["events.pagerduty.com", "events.eu.pagerduty.com"],
            example: "https://events.pagerduty.com")
    ]
    static let actions = [NotifyAction.manifest.kind, AcknowledgeAction.manifest.kind]
    static let messages = MessageAbilities(threads: .yes, resolves: .yes)

    /// The limit for one integration key (PagerDuty's support; its documentation only says that it may refuse more).
    static let limits = DeliveryLimits(rate: Rate(count: 120, per: .seconds(60)))
    static let noLogin = "it needs only its routing key, and only an alert would show that it works"

    private let routingKey: String

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        routingKey = settings.text("routing_key") ?? ""
        if routingKey.utf8.count != PagerDutyLimits.routingKey || !routingKey.utf8.allSatisfy(\.isASCIIAlphanumeric) {
            problems.add(
                "routing_key",
                "An integration key for PagerDuty's Events API v2 has \(PagerDutyLimits.routingKey) letters and digits.")
        }
        try problems.check()
    }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        try HTTPAddress(settings.text("url") ?? "https://events.pagerduty.com").inside("v2/enqueue")
    }

    var secrets: [String] { [routingKey] }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        var body = Self.body(rendered, call.message, call.delivery, Settings())
        body["routing_key"] = .string(routingKey)
        return call.post(body)
    }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        let key = AlertKey.of(message, delivery)
        if message.resolve { return .object(event("resolve", key)) }
        return .object(event("trigger", key).adding(rendered.asObject ?? [:]))
    }

    private static func event(_ action: String, _ key: String) -> JSON.Object {
        ["event_action": .string(action), "dedup_key": .string(key)]
    }

    /// PagerDuty answers 202 with `"status": "success"`; any other successful answer comes from something else.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        switch response.status {
        case 200..<300:
            return response.json?["status"] == "success" ? nil : hook.unexpected(response, instead: "\"status\": \"success\"")
        case 400:
            // One error is a list in JSON (`Length of 'routing_key' is incorrect`), another plain text (`Invalid routing key`).
            let words = ASCII.lowercased(ReceiverAnswer.text(response, hiding: []))
            guard words.contains("routing_key") || words.contains("routing key") else { return nil }
            return Failure(
                .unauthenticated, .pauseReceiver,
                "\(hook.label) does not accept the routing key\(hook.words(of: response)) Check `routing_key`: it is the integration key of a service."
            )
        default: return nil
        }
    }

    func action(_ kind: String, over hook: Hook) -> (any Action)? {
        guard kind == AcknowledgeAction.manifest.kind else { return nil }
        return AcknowledgeAction(receiver: self, hook: hook) { alert, delivery in
            var body = Self.event("acknowledge", alert)
            body["routing_key"] = .string(routingKey)
            return HTTPRequest(
                "POST", hook.address, headers: ["Content-Type": "application/json"], body: JSON.object(body).encoded(),
                notAfter: delivery.expires)
        }
    }
}

/// The limits of a PagerDuty event, in code points. The whole event has at most 512 KB (Events API v2, *Send an event*).
enum PagerDutyLimits {
    static let routingKey = 32
    /// PagerDuty's own limit.
    static let summary = 1024
    /// Our own: with four bytes each, far below the limit of the whole event.
    static let text = 25_000
    static let fieldName = 250
    static let fieldValue = 1000
    static let fields = 30
    static let source = 250
    static let linkText = 250
}

/// Renders a message as the payload of a PagerDuty event. All of it is plain text there.
extension PagerDutyReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        var rendered: JSON.Object = ["payload": .object(payload(message, origin)), "client": "Bellhop"]
        let links = links(message, origin)
        if let first = links.first { rendered["client_url"] = .string(first.address.text) }
        if !links.isEmpty {
            rendered["links"] = .array(links.map { ["href": .string($0.address.text), "text": .string($0.label)] })
        }
        return .object(rendered)
    }

    private static func payload(_ message: Message, _ origin: MessageOrigin) -> JSON.Object {
        var payload: JSON.Object = [
            "summary": .string(DisplayText.cut(MessageTitle.plain(message, origin), to: PagerDutyLimits.summary)),
            "source": .string(source(origin)), "severity": .string(message.severity.rawValue),
            "timestamp": .string(origin.time.rfc3339),
        ]
        if let task = origin.task {
            if !task.number.isEmpty { payload["component"] = .string(short(task.number)) }
            if !task.className.isEmpty { payload["class"] = .string(short(task.className)) }
        }
        payload["custom_details"] = .object(details(message, origin))
        return payload
    }

    /// Fields come first, because PagerDuty keeps the order of details. Repeated names are numbered.
    private static func details(_ message: Message, _ origin: MessageOrigin) -> JSON.Object {
        var details: JSON.Object = [:]
        func add(_ name: String, _ value: String) {
            var free = name
            var number = 2
            while details[free] != nil {
                free = "\(name) \(number)"
                number += 1
            }
            details[free] = .string(value)
        }
        for field in message.fields.prefix(PagerDutyLimits.fields) {
            let name = DisplayText.line(field.name.plainText, to: PagerDutyLimits.fieldName)
            add(name.isEmpty ? "–" : name, DisplayText.line(field.value.plainText, to: PagerDutyLimits.fieldValue))
        }
        var text = MessageText(flavour: PlainMarkup(), limit: PagerDutyLimits.text)
        text.parts = []
        let words = text.render(message, from: origin)
        if !words.isEmpty { add("text", words) }
        if message.isFallback { add("note", PlainRenderer.fallbackNote) }
        add("rule", short(origin.rule))
        add("delivery", origin.delivery)
        return details
    }

    /// The task's system, or else Bellhop.
    private static func source(_ origin: MessageOrigin) -> String {
        guard let task = origin.task else { return "bellhop" }
        if let host = (try? HTTPAddress(task.url))?.host { return short(host) }
        return task.source.isEmpty ? "bellhop" : short(task.source)
    }

    private static func short(_ text: String) -> String { DisplayText.line(text, to: PagerDutyLimits.source) }

    private static func links(_ message: Message, _ origin: MessageOrigin) -> [(address: LinkAddress, label: String)] {
        [message.link, origin.taskLink].compactMap { $0 }.reduce(into: []) { links, link in
            guard let address = LinkAddress(link.address, limit: StyledText.longestAddress),
                !links.contains(where: { $0.address == address })
            else { return }
            links.append((address, link.shownLabel(limit: PagerDutyLimits.linkText)))
        }
    }
}
