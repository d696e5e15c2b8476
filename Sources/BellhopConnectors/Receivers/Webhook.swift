public import BellhopCore
import Crypto

/// A user's own HTTP endpoint. `notify` sends it the document of ``render(_:from:)`` or a ``CloudEvent``, and the action
/// `webhook` sends the rule's own request. Each `secret` signs the requests (``WebhookSigner``), so that secrets can be rotated
/// without a gap.
struct WebhookReceiver: HookReceiver {
    static let kind = "webhook"
    static let summary = "Your own HTTP endpoint."
    static let settings = [
        Setting("url", .secret, required: true, "The address of the endpoint."),
        Setting(
            "secret", .list(.secret),
            "Signs each request according to Standard Webhooks: whsec_ and the Base64 of 24 to 64 random bytes. With several secrets, a request has a signature of each, so that a secret can be replaced without a gap."
        ),
        Setting(
            "allow_private", .boolean, default: "false",
            "Whether a step that computes the host of its `url` may reach this machine and private networks, at any port."),
        Setting(
            "ports", .list(.integer(1...65_535)),
            "The ports that a step which computes the host of its `url` may reach at public addresses, besides 80, 443, 8080 and 8443."
        ),
        Setting(
            "format", .oneOf(Format.allCases.map(\.rawValue)), default: Format.bellhop.rawValue,
            "How a message is sent: as Bellhop's own document, or as a CloudEvent 1.0 in the body (`cloudevents`) or with its attributes as header fields (`cloudevents_binary`)."
        ),
    ]
    /// More is never read, because only the status of an answer decides.
    static let largestAnswer = AnswerCollector.settled.limit
    static let takesOtherAddresses = true
    static let actions = [NotifyAction.manifest.kind, WebhookAction.manifest.kind]
    static let messages = MessageAbilities(threads: .yes, updates: .yes, resolves: .yes, mentions: .yes)
    static let noLogin =
        "it needs only its address, or a `secret` to sign requests with, and only a test message (`bellhop notify`) shows that it works"

    enum Format: String, Sendable, CaseIterable {
        case bellhop, cloudevents
        case binary = "cloudevents_binary"
    }

    let secrets: [String]
    private let signer: WebhookSigner?
    private let format: Format

    init(_ settings: Settings, connection: String) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: connection)
        let secrets = settings.texts("secret")
        self.secrets = secrets
        format = settings.text("format").flatMap(Format.init) ?? .bellhop
        if let most = settings.integer("max_body"), most > Self.largestAnswer {
            problems.add(
                "max_body",
                "At most 64 KiB of an endpoint's answer are read, because only its status decides: remove `max_body`, or write a smaller one."
            )
        }
        signer =
            secrets.isEmpty
            ? nil : problems.gather("secret") { () throws(InvalidValue) in try WebhookSigner(secrets: secrets) }
        try problems.check()
    }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON {
        let event = CloudEvent(rendered, MessageOrigin(delivery))
        return switch settings.text("format").flatMap(Format.init) ?? .bellhop {
        case .bellhop: rendered
        case .cloudevents: event.structured
        case .binary: event.data
        }
    }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        let id = call.delivery.id.text
        let event = CloudEvent(rendered, MessageOrigin(call.delivery))
        var request =
            switch format {
            case .bellhop: call.post(rendered)
            case .cloudevents: call.post(event.structured, ["Content-Type": CloudEvent.contentType])
            case .binary: call.post(event.data, event.fields)
            }
        request.headers = request.headers.with(
            signer?.headers(id: id, body: request.body ?? [], at: call.now) ?? ["webhook-id": id])
        request.addTraceContext()
        request.bodyNotNeededFor = .any
        return request
    }

    func action(_ kind: String, over hook: Hook) -> (any Action)? {
        kind == WebhookAction.manifest.kind ? WebhookAction(.connection(hook, signer)) : nil
    }
}

/// Renders a message as the JSON document sent to connections of kind `webhook`. Stable: members are added, never changed.
///
/// ```json
/// {"type": "message", "id": "…", "timestamp": "2026-01-05T09:00:00.000000Z", "rule": "…", "severity": "info",
///  "title": "…", "text": "…", "plain": "…", "fields": [{"name": "…", "value": "…"}],
///  "list": {"items": ["…"], "more": 0, "empty": ""},
///  "sections": [{"title": "…", "text": "…", "fields": [], "list": null}], "link": {"label": "…", "address": "…"},
///  "mentions": [{"user": "…"}, {"group": "…"}], "thread": "…", "update": false, "resolve": false,
///  "task": {"id": "…", "number": "…", "title": "…", "class": "…", "url": "…", "source": "…", "subject": "…"}, "fallback": false}
/// ```
/// All members are always present; `list`, `link`, `thread` and `task` may be null. `id` is the delivery's, the same for every
/// attempt. Texts contain no markup, and values are unchanged: the receiver must escape them. `text` is the message's own text,
/// `plain` the whole message for receivers that show one text.
extension WebhookReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        .object([
            "type": "message", "id": .string(origin.delivery), "timestamp": .string(origin.time.rfc3339),
            "rule": .string(origin.rule), "severity": .string(message.severity.rawValue),
            "title": .string(message.title.plainText), "text": text(message.text),
            "plain": .string(PlainRenderer.text(message)),
            "fields": .array(message.fields.map(field)), "list": message.list.map(list) ?? .null,
            "sections": .array(
                message.sections.map { section in
                    .object([
                        "title": .string(section.title.plainText), "text": text(section.text),
                        "fields": .array(section.fields.map(field)), "list": section.list.map(list) ?? .null,
                    ])
                }),
            "link": message.link.map { .object(["label": .string($0.label), "address": .string($0.address)]) } ?? .null,
            "mentions": .array(message.mentions.map(mention)), "thread": message.thread.map(JSON.string) ?? .null,
            "update": .bool(message.update), "resolve": .bool(message.resolve), "task": origin.task.map(task) ?? .null,
            "fallback": .bool(message.isFallback),
        ])
    }

    private static func text(_ blocks: [Message.Block]) -> JSON {
        let texts = blocks.map { block in
            switch block {
            case .paragraph(let inlines): inlines.plainText
            case .list(let isOrdered, let items):
                items.enumerated().map { place, item in (isOrdered ? "\(place + 1). " : "- ") + item.plainText }
                    .joined(separator: "\n")
            }
        }
        return .string(texts.joined(separator: "\n\n"))
    }

    private static func field(_ field: Message.Field) -> JSON {
        .object(["name": .string(field.name.plainText), "value": .string(field.value.plainText)])
    }

    private static func mention(_ mention: Message.Mention) -> JSON {
        switch mention {
        case .user(let id): .object(["user": .string(id)])
        case .group(let id): .object(["group": .string(id)])
        }
    }

    private static func list(_ list: Message.List) -> JSON {
        .object([
            "items": .array(list.items.map { .string($0.plainText) }), "more": .int(Int64(list.more)),
            "empty": .string(list.empty.plainText),
        ])
    }

    private static func task(_ task: TaskReference) -> JSON {
        .object([
            "id": .string(task.key.text), "number": .string(task.number), "title": .string(task.title),
            "class": .string(task.className), "url": .string(task.url), "source": .string(task.source),
            "subject": .string(task.subject),
        ])
    }
}

/// Signs requests so that their receiver can authenticate the sender (Standard Webhooks 1.0, symmetric scheme).
public struct WebhookSigner: Sendable {
    private let keys: [SymmetricKey]

    /// - Parameter secret: `whsec_` and the Base64 of 24 to 64 random bytes, as in the specification.
    public init(secret: String) throws(InvalidValue) { try self.init(secrets: [secret]) }

    /// - Parameter secrets: a receiver that knows any of them accepts the request.
    public init(secrets: [String]) throws(InvalidValue) {
        var keys: [SymmetricKey] = []
        for secret in secrets { keys.append(try Self.key(secret)) }
        self.keys = keys
    }

    private static func key(_ secret: String) throws(InvalidValue) -> SymmetricKey {
        let prefix = "whsec_"
        guard secret.hasPrefix(prefix), let bytes = Base64.decode(secret.dropFirst(prefix.count)) else {
            throw InvalidValue(message: "A signing secret is whsec_ and the Base64 of 24 to 64 random bytes.")
        }
        guard 24...64 ~= bytes.count else {
            throw InvalidValue(message: "A signing secret has 24 to 64 bytes; this one has \(bytes.count).")
        }
        return SymmetricKey(data: bytes)
    }

    /// A new signing secret of 32 random bytes.
    public static func makeSecret() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { "whsec_" + Base64.encode(Array($0)) }
    }

    /// The header fields for a body sent now. `id` must not contain a full stop.
    public func headers(id: String, body: [UInt8], at now: Timestamp) -> HeaderFields {
        let stamp = String(now.seconds)
        let signed = Array("\(id).\(stamp).".utf8) + body
        let signatures = keys.map { "v1," + Base64.encode(Array(HMAC<SHA256>.authenticationCode(for: signed, using: $0))) }
        return ["webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": signatures.joined(separator: " ")]
    }
}
