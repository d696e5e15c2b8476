import BellhopCore

/// An HTTP API or site, as a connection of kind `http` in bellhop.yaml: one origin, with credentials.
struct WebConnection: Connection {
    static let manifest = ConnectionManifest(
        kind: "http", summary: "Any HTTP API.", actions: [RESTAction.manifest.kind],
        settings: [
            Setting(
                "url", .address, required: true,
                "The base address, such as https://api.example.com/v2; the paths of sources and actions start there."),
            Setting("auth", .record(WebAuth.settings), "How to log in; by default without a login."),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { loginMethod($0) },
        make: { name, settings, environment throws(ConnectorError) in
            try WebConnection(name: name, settings: settings, in: environment)
        })

    let name: String
    let base: HTTPAddress
    /// The account's name, if the configuration has it.
    private(set) var username: String
    /// All credentials: two connections with the same ones are the same user to the API.
    let credentials: JSON
    let auth: WebAuth
    let session: WebSession
    /// Sends without credentials: a request that is refused only here proves that the login is accepted.
    let anonymousSession: WebSession
    /// Records rate limits and times in the origin's answers.
    let watch: AnswerWatch
    let notebook: any Notebook
    let clock: any AgentClock
    private let http: HTTPConnection
    /// The client for the token endpoint, which may be on another host: without the connection's header fields and rate.
    private let tokens: HTTPConnection?

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorError) {
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        let base = try Self.base(settings, configuration)
        let fixed = try WebAuth(fixed: settings, connection: name)
        var tokens: HTTPConnection?
        let auth: WebAuth
        if let fixed {
            auth = fixed
        } else {
            let oauth = try OAuthSettings(
                settings.record("auth")?.record("oauth") ?? Settings(), connection: name, at: "auth.oauth",
                path: { environment.path($0) })
            if let refusal = configuration.refusal(of: oauth.tokenAddress) {
                throw ConnectorError(connection: name, setting: "auth.oauth.token_url", refusal)
            }
            var bare = configuration
            (bare.headers, bare.rate) = ([:], nil)
            let client = try HTTPConnection(bare, clock: environment.clock)
            tokens = client
            auth = .oauth(OAuthClient(oauth, connection: name, exchange: client, environment: environment))
        }
        let http = try HTTPConnection(configuration, in: environment)
        self.name = name
        self.base = base
        self.http = http
        self.tokens = tokens
        notebook = environment.notebook
        clock = environment.clock
        username = WebAuth.user(settings)
        credentials = [settings.values["auth"] ?? .null, settings.values["headers"] ?? .null]
        self.auth = auth
        let password = settings.record("auth")?.record("basic")?.text("password")
        let secrets = auth.secrets + configuration.headers.fields.map(\.value) + settings.secrets + (password.map { [$0] } ?? [])
        let watch = AnswerWatch(base, http)
        self.watch = watch
        func session(_ auth: WebAuth) -> WebSession {
            WebSession(
                name: name, base: base, exchange: watch, auth: auth, secrets: secrets, notebook: environment.notebook,
                clock: environment.clock)
        }
        self.session = session(auth)
        anonymousSession = session(.none)
    }

    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        switch kind {
        case RESTSource.manifest.kind: try RESTSource(name: name, settings: settings, connection: self)
        case PageSource.manifest.kind: try PageSource(name: name, settings: settings, base: base, user: username, host: self)
        default: nil
        }
    }

    /// The connection with its name in its sources' scopes, for when another login would otherwise share them.
    var named: WebConnection? {
        var named = self
        named.username = username.isEmpty ? "(\(name))" : "\(username) (\(name))"
        return named
    }

    var limits: ReceiverLimits { http.limits(Self.manifest.limits) }

    func action(_ kind: String) -> (any Action)? { kind == RESTAction.manifest.kind ? RESTAction(connection: self) : nil }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: base, clock: clock).findings {
            var examination = WebExamination(self, needs)
            return await examination.run()
        }
    }

    func shutdown() async throws {
        try await http.shutdown()
        try await tokens?.shutdown()
    }

    private static func base(
        _ settings: Settings, _ configuration: HTTPConnection.Configuration
    ) throws(ConnectorError) -> HTTPAddress {
        func problem(_ message: String) -> ConnectorError {
            ConnectorError(connection: configuration.name, setting: "url", message)
        }
        let address = try ConnectorError.reading("url", of: configuration.name) { () throws(InvalidValue) in
            try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
        }
        guard address.userInfo == nil else { throw problem("Names and passwords belong under `auth`, not in the address.") }
        guard !address.target.contains("?") else {
            throw problem("A base address must not have a query: set `query` in the sources and actions.")
        }
        if let refusal = configuration.refusal(of: address) { throw problem(refusal) }
        return address
    }
}

extension WebConnection: PageHost {
    var hidden: [String] { session.hidden }

    func page(_ address: HTTPAddress, headers: HeaderFields, timeout: Duration?) async throws(Failure) -> HTTPResponse {
        var headers = headers
        headers["Accept"] = "text/html, */*;q=0.5"
        return try await session.read(HTTPRequest(address, headers: headers, timeout: timeout)).response
    }
}
