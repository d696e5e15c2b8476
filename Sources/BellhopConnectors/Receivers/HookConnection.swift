import BellhopCore
import Synchronization

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
    /// The kinds of actions it supports.
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
    static func address(_ settings: Settings) throws(HTTPAddress.Problem) -> HTTPAddress

    /// The message in the service's format, the same at every attempt. Respects the service's limits; values from tickets cannot
    /// become markup.
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON

    /// The body without secrets and references to earlier messages: by default only the rendered message.
    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON

    /// The request that sends a rendered message: by default a POST to the address.
    func request(_ rendered: JSON, _ call: MessageCall) throws(Failure) -> HTTPRequest

    /// A failure that this service reports in its own way, such as an error in an answer of 200 or a code in the body. Nil if the
    /// status decides.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure?

    /// The wait that the service requests in its own way, outside the standard header fields.
    func wait(in response: HTTPResponse) -> Duration?

    /// How long to send nothing after this answer, even if it accepts the message.
    func rest(after response: HTTPResponse) -> Duration?

    /// Whether the answer means that the first message of the conversation no longer exists.
    func isGone(_ response: HTTPResponse) -> Bool

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

    static func address(_ settings: Settings) throws(HTTPAddress.Problem) -> HTTPAddress {
        try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
    }

    static func body(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ settings: Settings) -> JSON { rendered }
    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest { call.post(rendered) }
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? { nil }
    func wait(in response: HTTPResponse) -> Duration? { nil }
    func rest(after response: HTTPResponse) -> Duration? { nil }
    func isGone(_ response: HTTPResponse) -> Bool { false }
    func isDone(_ response: HTTPResponse) -> Bool { false }
    func reference(in response: HTTPResponse) -> JSON? { nil }
    var chat: JSON? { nil }
    var secrets: [String] { [] }
    func probes(of hook: Hook) -> [HookProbe] { [] }
    func action(_ kind: String, over hook: Hook) -> (any Action)? { nil }

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
    /// Closes what the conversation opened; nil if its first message is unknown.
    case resolve(JSON?)

    /// Decides where a message goes.
    init(_ message: Message, firstMessage: JSON?, _ abilities: MessageAbilities) {
        if message.resolve, abilities.resolves == .yes {
            self = .resolve(firstMessage)
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

/// A message to send, with its place.
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

/// The time until which a receiver gets no more messages, after it has accepted one.
///
/// A class over a lock, because deliveries of one connection share it.
final class ReceiverRest: Sendable {
    private let until = Mutex(Timestamp?.none)

    /// The remaining time; nil if the rest has ended.
    func wait(at now: Timestamp) -> Duration? {
        until.withLock { until in
            guard let moment = until, moment > now, moment - now <= RetryAfter.longest else {
                until = nil
                return nil
            }
            return moment - now
        }
    }

    func extend(by duration: Duration, from now: Timestamp) { until.withLock { $0 = max($0 ?? now, now + duration) } }
}

/// A connection whose kind is a ``HookReceiver``.
struct HookConnection<Receiver: HookReceiver>: MessageReceiver, Connection {
    static var kind: ConnectionKind {
        ConnectionKind(
            ConnectionManifest(
                kind: Receiver.kind, summary: Receiver.summary, actions: Receiver.actions, messages: Receiver.messages,
                limits: Receiver.limits, settings: Receiver.settings + httpSettings,
                addresses: Receiver.addresses, starter: Receiver.starter),
            login: { _ in .none(Receiver.noLogin) },
            makeReportingAll: { name, settings, environment throws(ConnectorErrors) in
                try HookConnection(name: name, settings: settings, in: environment)
            },
            body: { message, delivery, settings in
                Receiver.body(Receiver.render(message, from: MessageOrigin(delivery)), message, delivery, settings)
            }, canMention: { Receiver.canMention($0) })
    }

    private static var httpSettings: [Setting] {
        HTTPConnection.Configuration.settings.map { setting in
            var setting = setting
            if setting.name == "max_body" { setting.fallback = TransportError.size(Receiver.largestAnswer).filter { $0 != " " } }
            return setting
        }
    }

    private let receiver: Receiver
    private let hook: Hook
    private let http: HTTPConnection
    private let abilities: MessageAbilities
    private let rest = ReceiverRest()

    /// - Parameter settings: checked against the manifest.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: name)
        var configuration = problems.gather { () throws(ConnectorError) in
            try HTTPConnection.Configuration(name: name, settings)
        }
        if settings.values["max_body"] == nil { configuration?.maxBody = Receiver.largestAnswer }
        let address = problems.gather("url") { () throws(InvalidValue) in try Receiver.address(settings) }
        if let refusal = address.flatMap({ Self.refusal(of: $0, settings, configuration) }) { problems.add("url", refusal) }
        let receiver = problems.gather { () throws(ConnectorErrors) in try Receiver(settings, connection: name) }
        guard let configuration, let address, let receiver, problems.all.isEmpty else { throw ConnectorErrors(problems.all) }
        self.receiver = receiver
        abilities = Receiver.messages.with(settings)
        let others: OtherAddresses?
        do throws(ConnectorError) {
            http = try HTTPConnection(configuration, in: environment)
            others =
                Receiver.takesOtherAddresses
                ? try OtherAddresses(
                    configuration, allowsPrivate: settings.boolean("allow_private") == true,
                    morePorts: settings.integers("ports"), in: environment) : nil
        } catch {
            throw ConnectorErrors([error])
        }
        hook = Hook(
            name: name, address: address, exchange: http,
            secrets: configuration.headers.fields.map(\.value) + receiver.secrets, others: others)
    }

    /// Why the address is refused: it belongs to another kind of service, or its requests could be read by others.
    private static func refusal(
        of address: HTTPAddress, _ settings: Settings, _ configuration: HTTPConnection.Configuration?
    ) -> String? {
        let written = settings.text("url").flatMap { try? HTTPAddress(ASCII.trimmed($0)) }
        return written.flatMap { kind.manifest.refusal(of: $0, settings) } ?? configuration?.refusal(of: address)
    }

    var executor: (any TaskExecutor)? { http.executor }

    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        if let wait = rest.wait(at: http.clock.now) {
            throw Failure(.throttled, .rest(wait), "\(hook.label) takes no more messages for now: its rate limit is used up.")
        }
        let body = Receiver.render(message, from: MessageOrigin(delivery))
        // The settings may name another chat than when the conversation began.
        let first = attempt.firstMessage.flatMap { $0["chat"] == receiver.chat ? $0 : nil }
        let place = MessagePlace(message, firstMessage: first, abilities)
        var call = MessageCall(message: message, delivery: delivery, place: place, address: hook.address, now: attempt.now)
        var response = try await hook.answer(to: try request(body, call))
        if place != .new, receiver.isGone(response) {
            call.place = .new
            response = try await hook.answer(to: try request(body, call))
        }
        if let duration = receiver.rest(after: response), duration > .zero { rest.extend(by: duration, from: http.clock.now) }
        let failure =
            receiver.failure(of: response, from: hook, at: attempt.now)
            ?? hook.failure(of: response, expecting: .success, wait: receiver.wait(in: response), at: attempt.now)
        if let failure, !receiver.isDone(response) { throw failure }
        return Receipt(
            "\(response.status) from \(hook.label)",
            conversation: call.place.change(message, reference: reference(in: response)))
    }

    private func reference(in response: HTTPResponse) -> JSON? {
        var reference = receiver.reference(in: response)
        if let chat = receiver.chat { reference?["chat"] = chat }
        return reference
    }

    /// The request. The body of an answer with a temporary failure is not needed, and may be long or slow. The bodies of other
    /// refusals are read, because they contain the reason, such as a deleted message.
    private func request(_ body: JSON, _ call: MessageCall) throws(Failure) -> HTTPRequest {
        var request = try receiver.request(body, call)
        request.bodyNotNeededFor = request.bodyNotNeededFor ?? .temporary
        return request
    }

    var limits: ReceiverLimits { http.limits(Receiver.limits) }

    func action(_ kind: String) -> (any Action)? {
        kind == NotifyAction.manifest.kind ? NotifyAction(self) : receiver.action(kind, over: hook)
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        var findings = await NetworkExamination(configuration: http.configuration, address: hook.address, clock: http.clock)
            .findings()
        for probe in receiver.probes(of: hook) {
            // After one failure, further probes would only repeat it.
            if findings.contains(where: { $0.state == .missing }) { break }
            findings.append(await probe.finding(over: hook, at: http.clock.now))
        }
        return findings
    }

    func shutdown() async throws {
        try await http.shutdown()
        try await hook.others?.shutdown()
    }
}
