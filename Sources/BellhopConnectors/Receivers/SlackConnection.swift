public import BellhopCore

/// An incoming webhook of Slack, as a connection of kind `slack` in bellhop.yaml. Also works with compatible services, such as
/// Mattermost.
public struct SlackConnection: MessageReceiver, Connection {
    /// The settings of a connection of kind `slack` in bellhop.yaml.
    public static let manifest = ConnectionManifest(
        kind: "slack", summary: "A channel of Slack, through an incoming webhook.", actions: [NotifyAction.manifest.kind],
        // No threads: an incoming webhook does not return a message's id, so nothing can reply to it.
        messages: MessageAbilities(longestText: SlackLimits.total),
        settings: [
            Setting(
                "url", .secret, required: true, "The address of the incoming webhook; anyone who has it can post."
            )
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { _ in .none("it needs only its address, and only a message would show that it works") },
        make: { name, settings, environment throws(ConnectorError) in
            try SlackConnection(name: name, settings: settings, in: environment)
        })

    public let name: String
    private let hook: Hook
    private let http: HTTPConnection

    /// - Parameter settings: checked against ``manifest``.
    public init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorError) {
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        let address = try Hook.address(settings, configuration)
        let http = try HTTPConnection(configuration, in: environment)
        self.name = name
        self.http = http
        hook = Hook(name: name, address: address, exchange: http, secrets: configuration.headers.fields.map(\.value))
    }

    public static func body(of message: Message, for delivery: Delivery) -> JSON {
        SlackRenderer().render(message, from: MessageOrigin(delivery))
    }

    /// Slack says plain `ok` when it has taken a message; anything else under status 200 is none of its.
    public func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let body = Self.body(of: message, for: delivery).encoded()
        let request = HTTPRequest(
            "POST", hook.address, headers: ["Content-Type": "application/json; charset=utf-8"], body: body,
            notAfter: delivery.expires)
        let response = try await hook.send(request, expecting: .success, at: attempt.now)
        guard response.body.filter({ $0 > 0x20 }) == Array("ok".utf8) else {
            if ReceiverAnswer.isPage(response) {
                throw Failure(
                    .unexpectedPage, .retry(after: nil),
                    "\(hook.label) answered with a web page instead of `ok`: an intermediary answered.")
            }
            throw Failure(
                .badAnswer, .giveUp,
                "\(hook.label) answered \(response.status) but not `ok`, as an incoming webhook of Slack does\(hook.words(of: response))"
            )
        }
        return Receipt("\(response.status) from \(hook.label)")
    }

    public var limits: ReceiverLimits { http.limits(Self.manifest.limits) }

    public func action(_ kind: String) -> (any Action)? { kind == NotifyAction.manifest.kind ? NotifyAction(self) : nil }

    public func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: hook.address, clock: http.clock).findings()
    }

    public func shutdown() async throws { try await http.shutdown() }
}
