import BellhopCore

/// A service that takes each message as one POST, and how it differs from others. ``HookConnection`` does the rest.
protocol HookReceiver: Sendable {
    /// Its name in bellhop.yaml.
    static var kind: String { get }
    static var summary: String { get }
    /// Its settings, besides those of every HTTP connection.
    static var settings: [Setting] { get }
    /// The kinds of actions it supports.
    static var actions: [String] { get }
    /// What it does with messages.
    static var messages: MessageAbilities { get }
    /// How much it takes at once.
    static var limits: DeliveryLimits { get }
    /// Why `bellhop login` has nothing to do.
    static var noLogin: String { get }

    /// - Parameter connection: the connection's name.
    init(_ settings: Settings, connection: String) throws(ConnectorError)

    /// Where messages are posted.
    static func address(_ settings: Settings) throws(HTTPAddress.Problem) -> HTTPAddress

    /// The message as the service takes it, at every attempt the same. Respects the service's limits; values from tickets cannot
    /// become markup.
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON

    /// Adds the connection's own settings to a rendered message.
    func body(_ rendered: JSON) -> JSON

    /// Header fields besides the type of the body.
    func headers(_ body: [UInt8], for delivery: Delivery, at now: Timestamp) -> HeaderFields

    /// What messages must not contain, besides the address.
    var secrets: [String] { get }

    /// Checks an answer whose status is a success.
    func check(_ response: HTTPResponse, from hook: Hook) throws(Failure)

    /// An action besides `notify`.
    func action(_ kind: String, over hook: Hook) -> (any Action)?
}

extension HookReceiver {
    static var actions: [String] { [NotifyAction.manifest.kind] }
    static var messages: MessageAbilities { MessageAbilities() }
    static var limits: DeliveryLimits { DeliveryLimits() }
    static var noLogin: String { "it needs only its address, and only a message would show that it works" }

    static func address(_ settings: Settings) throws(HTTPAddress.Problem) -> HTTPAddress {
        try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
    }

    func body(_ rendered: JSON) -> JSON { rendered }
    func headers(_ body: [UInt8], for delivery: Delivery, at now: Timestamp) -> HeaderFields { [:] }
    var secrets: [String] { [] }
    func check(_ response: HTTPResponse, from hook: Hook) throws(Failure) {}
    func action(_ kind: String, over hook: Hook) -> (any Action)? { nil }
}

/// A connection whose kind is a ``HookReceiver``.
struct HookConnection<Receiver: HookReceiver>: MessageReceiver, Connection {
    static var kind: ConnectionKind {
        ConnectionKind(
            ConnectionManifest(
                kind: Receiver.kind, summary: Receiver.summary, actions: Receiver.actions, messages: Receiver.messages,
                limits: Receiver.limits, settings: Receiver.settings + HTTPConnection.Configuration.settings),
            login: { _ in .none(Receiver.noLogin) },
            make: { name, settings, environment throws(ConnectorError) in
                try HookConnection(name: name, settings: settings, in: environment)
            }, render: Receiver.render)
    }

    private let receiver: Receiver
    private let hook: Hook
    private let http: HTTPConnection

    /// - Parameter settings: checked against the manifest.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorError) {
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        let address: HTTPAddress
        do throws(HTTPAddress.Problem) {
            address = try Receiver.address(settings)
        } catch {
            throw ConnectorError(connection: name, setting: "url", error.message)
        }
        if let refusal = configuration.refusal(of: address) {
            throw ConnectorError(connection: name, setting: "url", refusal)
        }
        receiver = try Receiver(settings, connection: name)
        http = try HTTPConnection(configuration, in: environment)
        hook = Hook(
            name: name, address: address, exchange: http,
            secrets: configuration.headers.fields.map(\.value) + receiver.secrets)
    }

    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let body = receiver.body(Receiver.render(message, from: MessageOrigin(delivery))).encoded()
        let headers = receiver.headers(body, for: delivery, at: attempt.now)
        let type: HeaderFields = headers["Content-Type"] == nil ? ["Content-Type": "application/json"] : [:]
        let request = HTTPRequest("POST", hook.address, headers: type.with(headers), body: body, notAfter: delivery.expires)
        let response = try await hook.send(request, expecting: .success, at: attempt.now)
        try receiver.check(response, from: hook)
        return Receipt("\(response.status) from \(hook.label)")
    }

    var limits: ReceiverLimits { http.limits(Receiver.limits) }

    func action(_ kind: String) -> (any Action)? {
        kind == NotifyAction.manifest.kind ? NotifyAction(self) : receiver.action(kind, over: hook)
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: hook.address, clock: http.clock).findings()
    }

    func shutdown() async throws { try await http.shutdown() }
}
