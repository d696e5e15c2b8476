public import BellhopCore

/// A user's own HTTP endpoint, as a connection of kind `webhook` in bellhop.yaml.
///
/// `notify` sends it the document of ``WebhookMessageRenderer``; the action `webhook` sends what the rule describes. With a
/// `secret` its requests are signed (``WebhookSigner``).
public struct WebhookConnection: MessageReceiver, Connection {
    /// The settings of a connection of kind `webhook` in bellhop.yaml.
    public static let manifest = ConnectionManifest(
        kind: "webhook", summary: "Your own HTTP endpoint.",
        actions: [NotifyAction.manifest.kind, WebhookAction.manifest.kind], messages: MessageAbilities(threads: .yes),
        settings: [
            Setting("url", .secret, required: true, "The address of the endpoint."),
            Setting(
                "secret", .secret,
                "Signs each request according to Standard Webhooks: whsec_ and the Base64 of 24 to 64 random bytes."),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest,
        login: { _ in
            .none(
                "it needs only its address, or a `secret` to sign requests with, and only a message would show that it works"
            )
        },
        make: { name, settings, environment throws(ConnectorError) in
            try WebhookConnection(name: name, settings: settings, in: environment)
        })

    public let name: String
    let hook: Hook
    let signer: WebhookSigner?
    private let http: HTTPConnection

    /// - Parameter settings: checked against ``manifest``.
    public init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorError) {
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        let address = try Hook.address(settings, configuration)
        do throws(WebhookSigner.Problem) {
            signer = try settings.text("secret").map { secret throws(WebhookSigner.Problem) in try WebhookSigner(secret: secret) }
        } catch {
            throw ConnectorError(connection: name, setting: "secret", error.message)
        }
        let http = try HTTPConnection(configuration, in: environment)
        self.name = name
        self.http = http
        hook = Hook(
            name: name, address: address, exchange: http,
            secrets: configuration.headers.fields.map(\.value) + (settings.text("secret").map { [$0] } ?? []))
    }

    public static func body(of message: Message, for delivery: Delivery) -> JSON {
        WebhookMessageRenderer().render(message, from: MessageOrigin(delivery))
    }

    public func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let body = Self.body(of: message, for: delivery).encoded()
        var headers: HeaderFields = ["Content-Type": "application/json", "webhook-id": delivery.id.text]
        if let signer { headers = headers.with(signer.headers(id: delivery.id.text, body: body, at: attempt.now)) }
        let request = HTTPRequest("POST", hook.address, headers: headers, body: body, notAfter: delivery.expires)
        let response = try await hook.send(request, expecting: .success, at: attempt.now)
        return Receipt("\(response.status) from \(hook.label)")
    }

    public var limits: ReceiverLimits { http.limits(Self.manifest.limits) }

    public func action(_ kind: String) -> (any Action)? {
        switch kind {
        case NotifyAction.manifest.kind: NotifyAction(self)
        case WebhookAction.manifest.kind: WebhookAction(.connection(self))
        default: nil
        }
    }

    public func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: hook.address, clock: http.clock).findings()
    }

    public func shutdown() async throws { try await http.shutdown() }
}
