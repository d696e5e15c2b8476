import BellhopCore

/// A service that receives each message as one POST. It defines only the differences between services; ``HookConnection`` does
/// everything else.
protocol HookReceiver: Sendable {
    /// Its name in bellhop.yaml.
    static var kind: String { get }
    static var summary: String { get }
    /// Its settings, besides those of every HTTP connection.
    static var settings: [Setting] { get }
    /// The addresses of the service's own servers, for the setting `url`; empty if the service has none.
    static var addresses: [ServiceAddress] { get }
    /// The settings that `bellhop init --chat` writes; nil for those that are required.
    static var starter: [String]? { get }
    static var actions: [String] { get }
    static var messages: MessageAbilities { get }
    static var limits: DeliveryLimits { get }
    /// The default of `max_body`, in bytes.
    static var largestAnswer: Int { get }
    /// Whether steps may name this connection and an address of their own.
    static var takesOtherAddresses: Bool { get }
    /// The reason why there is no login, for `bellhop login`.
    static var noLogin: String { get }

    /// - Parameter connection: the connection's name.
    init(_ settings: Settings, connection: String) throws(ConnectorErrors)

    /// The address of the service or of the webhook; ``request(_:_:)`` may add to its path.
    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress

    /// The message in the service's format, the same at every attempt. Respects the service's limits; values from tickets cannot
    /// become markup.
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON

    /// The body without secrets and references to earlier messages: by default only the rendered message.
    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON

    /// The request that sends a rendered message: by default a POST to the address.
    func request(_ rendered: JSON, _ call: MessageCall) throws(Failure) -> HTTPRequest

    /// A request whose answer says whether the first message still exists (``isGone(_:)``), if the service would accept this message
    /// also for a deleted one, and show it nowhere. Nil if not.
    func lookUp(_ call: MessageCall) throws(Failure) -> HTTPRequest?

    /// A failure that this service reports in its own way, such as an error in an answer of 200 or a code in the body. Nil if the
    /// status decides.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure?

    /// The wait that the service requests in its own way, outside the standard header fields.
    func wait(in response: HTTPResponse) -> Duration?

    /// How long to send nothing after this answer, even if it accepts the message.
    func rest(after response: HTTPResponse) -> Duration?

    /// Whether the answer means that the first message of the conversation no longer exists.
    func isGone(_ response: HTTPResponse) -> Bool

    /// Whether the service shows an accepted reply by itself, because the first message of the conversation no longer exists.
    func standsAlone(_ response: HTTPResponse) -> Bool

    /// Whether a refusal means that the message is already there, such as an edit that changes nothing.
    func isDone(_ response: HTTPResponse) -> Bool

    /// The reference for answering or replacing the accepted message later; nil if that is impossible.
    func reference(in response: HTTPResponse) -> JSON?

    /// The chat that the settings name, if a reference to a message is valid only in its chat: a conversation of another chat then begins
    /// anew in this one. Nil if references are valid everywhere.
    var chat: JSON? { get }

    /// Texts that error messages must not contain, besides the address.
    var secrets: [String] { get }

    /// Harmless requests that show whether the service accepts the settings, in order; empty if only a message would show it.
    func probes(of hook: Hook) -> [HookProbe]

    /// An action besides `notify`.
    func action(_ kind: String, over hook: Hook) -> (any Action)?
}

extension HookReceiver {
    static var actions: [String] { [NotifyAction.manifest.kind] }
    static var starter: [String]? { nil }
    static var addresses: [ServiceAddress] { [] }
    static var takesOtherAddresses: Bool { false }
    static var messages: MessageAbilities { MessageAbilities() }
    static var limits: DeliveryLimits { DeliveryLimits() }
    /// A service answers a message in a few lines; what answers more is something else, and many attempts may be in flight.
    static var largestAnswer: Int { 1_000_000 }
    static var noLogin: String { "it needs only its address, and only a test message (`bellhop notify`) shows that it works" }

    static func address(_ settings: Settings) throws(InvalidValue) -> HTTPAddress {
        try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
    }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON { rendered }
    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest { call.post(rendered) }
    func lookUp(_ call: MessageCall) -> HTTPRequest? { nil }
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? { nil }
    func wait(in response: HTTPResponse) -> Duration? { nil }
    func rest(after response: HTTPResponse) -> Duration? { nil }
    func isGone(_ response: HTTPResponse) -> Bool { false }
    func standsAlone(_ response: HTTPResponse) -> Bool { false }
    func isDone(_ response: HTTPResponse) -> Bool { false }
    func reference(in response: HTTPResponse) -> JSON? { nil }
    var chat: JSON? { nil }
    var secrets: [String] { [] }
    func probes(of hook: Hook) -> [HookProbe] { [] }
    func action(_ kind: String, over hook: Hook) -> (any Action)? { nil }

    /// The failure that an answer means, as the service reports it or else as its status says; nil if the request is accepted.
    func refusal(in response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        failure(of: response, from: hook, at: now)
            ?? hook.failure(of: response, expecting: .success, wait: wait(in: response), at: now)
    }

    /// Whether rendering keeps a mention: one that is not in the service's form is left out.
    static func canMention(_ mention: Message.Mention) -> Bool {
        let origin = MessageOrigin(delivery: "", rule: "", time: Timestamp(seconds: 0))
        let messages = [[], [mention]].map { Message(title: [.text("Title")], mentions: $0) }
        return render(messages[0], from: origin) != render(messages[1], from: origin)
    }
}

/// The place of a message at its receiver. A conversation's first message is identified by the receiver's own reference
/// (``HookReceiver/reference(in:)``).
enum MessagePlace: Sendable, Hashable {
    case new
    case reply(to: JSON)
    case update(JSON)
    /// Closes what the conversation opened.
    case resolve

    init(_ message: Message, firstMessage: JSON?, _ abilities: MessageAbilities) {
        if message.resolve, abilities.resolves == .yes {
            self = .resolve
        } else if let firstMessage, message.update, abilities.updates == .yes {
            self = .update(firstMessage)
        } else if let firstMessage, abilities.threads == .yes {
            self = .reply(to: firstMessage)
        } else {
            self = .new
        }
    }

    /// How the message changes its conversation; nil if it does not.
    /// - Parameter reference: see ``HookReceiver/reference(in:)``.
    func change(_ message: Message, reference: @autoclosure () -> JSON?) -> ConversationChange? {
        guard let conversation = message.conversation else { return nil }
        switch self {
        case .reply, .update: return nil
        case .resolve: return ConversationChange(conversation, firstMessage: nil)
        case .new: return reference().map { ConversationChange(conversation, firstMessage: $0) }
        }
    }
}

struct MessageCall: Sendable {
    var message: Message
    var delivery: Delivery
    var place: MessagePlace
    var address: HTTPAddress
    var now: Timestamp

    /// A request with a JSON body.
    /// - Parameter address: by default the connection's.
    func post(
        _ body: JSON, _ headers: HeaderFields = [:], method: String = "POST", to address: HTTPAddress? = nil
    ) -> HTTPRequest {
        let type: HeaderFields = headers["Content-Type"] == nil ? ["Content-Type": "application/json"] : [:]
        return HTTPRequest(
            method, address ?? self.address, headers: type.with(headers), body: body.encoded(), notAfter: delivery.expires)
    }
}
