import BellhopCore

/// A Mobile Foundation runtime, as a connection of kind `mobilefirst` in bellhop.yaml: its adapters, the external resources that
/// it protects, and the back-end services of its API connector.
struct MobileFoundationConnection: Connection {
    let name: String
    /// The runtime's address: `https://mfp.example.com/mfp`.
    let instance: String
    let clientID: String
    let base: HTTPAddress
    let clock: any AgentClock
    private let runtime: String
    private let servicePrefix: String
    /// The external servers that may be called, and get a token if they demand one.
    private let external: Set<String>
    private let defaultScopes: Set<String>
    private let tokens: ClientTokens
    private let secrets: [String]
    private let configuration: HTTPConnection.Configuration
    private let http: HTTPConnection
    /// Rate limits and times in the server's answers.
    let watch: AnswerWatch
    let notebook: any Notebook

    init(name: String, settings: Settings, environment: ConnectorEnvironment) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: name, setting: setting, message)
        }
        let base = try HTTPAddress(server: settings.text("address") ?? "", "address", of: name)
        configuration = try HTTPConnection.Configuration(name: name, settings)
        if let refusal = configuration.refusal(of: base) { throw problem("address", refusal) }
        guard let client = settings.text("client_id"), let secret = settings.text("client_secret"), !client.isEmpty,
            !client.contains(":"), !secret.isEmpty
        else { throw problem("client_id", "Set a `client_id`, without a colon, and a `client_secret`.") }
        let runtime = settings.text("runtime") ?? "mfp"
        guard Self.isPath(runtime) else { throw problem("runtime", "A runtime is named by letters, digits, `-`, `_` and `/`.") }
        let prefix = settings.text("service_prefix") ?? "services"
        guard Self.isPath(prefix) else {
            throw problem(
                "service_prefix", "A path has letters, digits, `-`, `_`, `.` and `/`, but neither `..` nor a `/` at its ends.")
        }
        external = Set(
            try settings.texts("external").map { text throws(ConnectorError) in
                try HTTPAddress(server: text, "external", of: name).origin
            })
        let scopes = settings.texts("scope").flatMap { $0.split(separator: " ").map(String.init) }
        defaultScopes = scopes.isEmpty ? ["RegisteredClient"] : Set(scopes)
        let http = try HTTPConnection(configuration, in: environment)
        let watch = AnswerWatch(base, http)
        let instance = "\(base.origin)/\(runtime)"
        let credentials = Credentials(username: client, password: secret)
        tokens = ClientTokens(
            address: base.with(target: "/\(runtime)/api/az/v1/token"), exchange: watch, credentials: credentials,
            memory: RefusalMemory(connection: name, instance: instance, notebook: environment.notebook, salt: environment.random),
            pause: HostPause(connection: name, place: base.place, notebook: environment.notebook, clock: environment.clock),
            events: LoginEvents(
                connection: name, instance: instance, user: client, usesKeychain: false, sink: environment.events),
            clock: environment.clock)
        secrets = credentials.secrets + configuration.headers.fields.map(\.value) + settings.secrets
        self.name = name
        self.base = base
        self.runtime = runtime
        self.http = http
        self.watch = watch
        self.instance = instance
        notebook = environment.notebook
        servicePrefix = prefix
        clientID = client
        clock = environment.clock
    }

    private static func isPath(_ text: String) -> Bool {
        ASCII.isName(text, of: 1..., with: "-_./") && !text.hasPrefix("/") && !text.hasSuffix("/") && !text.contains("..")
    }

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        try await tokens.verify(defaultScopes, force: true)
        return LoginTrial(user: clientID)
    }

    /// Gets a new token for the default scopes, unless these credentials were refused before; returns the scopes.
    func verifyToken() async throws(Failure) -> String {
        try await tokens.verify(defaultScopes, force: false)
        return defaultScopes.sorted().joined(separator: ", ")
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: configuration, address: base, clock: clock).findings {
            await MobileFoundationExamination(connection: self, needs: needs).run()
        }
    }

    /// The scopes that a resource has demanded; nil if it demanded none, or was not called yet.
    func demandedScopes(of request: AdapterRequest) async -> [String]? {
        guard let address = try? address(of: request) else { return nil }
        return await tokens.scopes(of: Self.resource(request, address))?.sorted()
    }

    private static func resource(_ request: AdapterRequest, _ address: HTTPAddress) -> String {
        "\(request.method) \(address.origin)\(address.path)"
    }

    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        kind == AdapterSource.manifest.kind ? try AdapterSource(name: name, settings: settings, connection: self) : nil
    }

    var limits: ReceiverLimits { http.limits(Self.manifest.limits) }

    func action(_ kind: String) -> (any Action)? { kind == AdapterAction.manifest.kind ? AdapterAction(connection: self) : nil }

    func shutdown() async throws { try await http.shutdown() }

    // MARK: Sending requests

    /// The address of a request; throws for an external server that the configuration does not list.
    func address(of request: AdapterRequest) throws(Failure) -> HTTPAddress {
        let address: HTTPAddress
        switch request.target {
        case .adapter(let name, let path):
            address = base.with(target: "/\(runtime)/api/adapters/\(name)\(path.isEmpty ? "" : "/" + path)")
        case .service(let name, let path):
            address = base.with(target: "/\(runtime)/api/\(servicePrefix)/\(name)\(path.isEmpty ? "" : "/" + path)")
        case .outside(let given):
            guard external.contains(given.origin), given.userInfo == nil else {
                throw Failure.badArguments(
                    "The server \(given.place) is not listed under `external` of the connection \(name), so nothing is sent there."
                )
            }
            if let refusal = configuration.refusal(of: given) { throw Failure.badArguments(refusal) }
            address = given
        }
        guard let encoded = try? HTTPAddress(address.text) else {
            throw Failure.badArguments("The request to \(address.place) has an invalid address.")
        }
        return encoded.adding(request.arguments.query)
    }

    /// Sends a request, and repeats it after a challenge: with a token if one is demanded, with a new one if the old one is invalid, or
    /// with one for the demanded scopes; each at most once.
    func send(
        _ request: AdapterRequest, expecting expected: StatusSet, _ repetition: Repetition, notAfter: Timestamp? = nil
    ) async throws(Failure) -> AdapterReply {
        let address = try address(of: request)
        let isOwn = address.hasOrigin(of: base)
        let resource = Self.resource(request, address)
        var scopes = await tokens.scopes(of: resource) ?? request.scopes
        var tried: Set<String> = []
        var shown: [String] = []
        while true {
            let token: ClientTokens.Token?
            if let scopes { token = try await tokens.token(for: scopes) } else { token = nil }
            if let token { shown.append(token.text) }
            let response = try await transmit(request, address, token, repetition, notAfter)
            let challenge = BearerChallenge(response)
            switch (challenge, scopes, token) {
            case (.token?, nil, _) where tried.insert("token").inserted: scopes = defaultScopes
            case (.token?, let used?, let token?) where tried.insert("valid").inserted,
                (.invalidToken?, let used?, let token?) where tried.insert("valid").inserted:
                await tokens.drop(token, for: used)
            case (.scopes(let wanted)?, _, _) where wanted != scopes && tried.insert("scopes").inserted: scopes = wanted
            default:
                if response.isSuccess { await tokens.remember(scopes, of: resource) }
                let hidden = secrets + shown + (await tokens.texts)
                let reply = AdapterReply(response: response, place: "\(name) (\(address.place))", secrets: hidden, isOwn: isOwn)
                guard var failure = reply.failure(expecting: expected, repetition, at: clock.now) else { return reply }
                // A refusal by the runtime concerns the whole connection.
                if isOwn, failure.reason == .unauthenticated { failure.remedy = .pauseConnection }
                throw failure.from(ownHost: isOwn)
            }
        }
    }

    private func transmit(
        _ request: AdapterRequest, _ address: HTTPAddress, _ token: ClientTokens.Token?, _ repetition: Repetition,
        _ notAfter: Timestamp?
    ) async throws(Failure) -> HTTPResponse {
        var asked = request.arguments.request(to: address, notAfter: notAfter)
        asked.address = address
        asked.isRepeatable = repetition.isAllowed
        if asked.headers["Accept"] == nil { asked.headers["Accept"] = "application/json, */*;q=0.5" }
        if let token { asked.headers["Authorization"] = "Bearer " + token.text }
        do throws(TransportError) {
            return try await watch.send(asked)
        } catch {
            throw repetition.failure(of: error).from(ownHost: address.hasOrigin(of: base))
        }
    }
}

extension MobileFoundationConnection: Confidential {
    var description: String { "MobileFoundationConnection(\(name))" }
}

extension MobileFoundationConnection {
    static let manifest = ConnectionManifest(
        kind: "mobilefirst", summary: "A Mobile Foundation runtime.", actions: [AdapterAction.manifest.kind],
        settings: [
            Setting("address", .address, required: true, "The server's address, without a path."),
            Setting("runtime", .text, default: "mfp", "The runtime's context root."),
            Setting("client_id", .text, required: true, "The confidential client's id.", example: "client_id: bellhop"),
            Setting("client_secret", .secret, required: true, "The confidential client's secret."),
            Setting(
                "scope", .list(.text), default: "RegisteredClient",
                "The scopes of a resource's first token; the server reports which other scopes it requires."),
            Setting(
                "external", .list(.address),
                "Other servers that may be called by their full address. A server that requires a Mobile Foundation token gets one."
            ),
            Setting(
                "service_prefix", .text, default: "services",
                "The path of the API connector's back-end services below /RUNTIME/api/. It is not documented: ask the server's operator."
            ),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { _ in .configured }, logins: { _ in .loginEvent },
        make: { name, settings, environment throws(ConnectorError) in
            try MobileFoundationConnection(name: name, settings: settings, environment: environment)
        })
}
