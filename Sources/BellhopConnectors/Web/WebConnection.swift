public import BellhopCore

/// Anybody's HTTP API or site, as a connection of kind `http` in bellhop.yaml: one origin, and who we are there.
public struct WebConnection: Connection {
    /// What bellhop.yaml may say of a connection of kind `http`.
    public static let manifest = ConnectionManifest(
        kind: "http", role: .system, summary: "Any HTTP API.", actions: [RESTAction.manifest.kind],
        settings: [
            Setting(
                "url", .address, required: true,
                "Its base address, such as https://api.example.com/v2; paths of sources and actions begin there."),
            Setting("auth", .record(WebAuth.settings), "How to be known there; without it nobody is."),
        ] + HTTPConnection.Configuration.settings)

    static let kind = ConnectionKind(
        manifest, login: { loginWay($0) },
        make: { name, settings, environment throws(ConnectorError) in
            try WebConnection(name: name, settings: settings, in: environment)
        })

    public let name: String
    let base: HTTPAddress
    /// The account's name, where the configuration says it.
    private(set) var username: String
    /// All that may tell who asks, to see whether two connections are the same to the API.
    let credentials: JSON
    let auth: WebAuth
    let session: WebSession
    /// The same origin, asked as nobody: what it refuses to strangers shows that a login is taken.
    let stranger: WebSession
    /// What the origin's answers say besides.
    let watch: AnswerWatch
    let notebook: any Notebook
    let clock: any AgentClock
    private let http: HTTPConnection
    /// The way to the token endpoint, which may be another host: nothing of the connection's own goes along.
    private let tokens: HTTPConnection?

    /// - Parameter settings: checked against ``manifest``.
    public init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorError) {
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
            let way = try HTTPConnection(bare, clock: environment.clock)
            tokens = way
            auth = .oauth(OAuthClient(oauth, connection: name, exchange: way, environment: environment))
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
        let secrets =
            auth.secrets + configuration.headers.fields.map(\.value) + settings.secrets + (password.map { [$0] } ?? [])
        let watch = AnswerWatch(base, http)
        self.watch = watch
        func session(_ auth: WebAuth) -> WebSession {
            WebSession(
                name: name, base: base, exchange: watch, auth: auth, secrets: secrets, notebook: environment.notebook,
                clock: environment.clock)
        }
        self.session = session(auth)
        stranger = session(.none)
    }

    public func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        switch kind {
        case RESTSource.manifest.kind: try RESTSource(name: name, settings: settings, connection: self)
        case PageSource.manifest.kind:
            try PageSource(name: name, settings: settings, base: base, user: username, host: self)
        default: nil
        }
    }

    /// The same connection, whose sources' knowledge is called by its name too: for another one with another login, where nothing else would
    /// tell apart what they see.
    var named: WebConnection {
        var named = self
        named.username = username.isEmpty ? "(\(name))" : "\(username) (\(name))"
        return named
    }

    public var limits: ReceiverLimits { http.limits() }

    public func action(_ kind: String) -> (any Action)? {
        switch kind {
        case RESTAction.manifest.kind: RESTAction(connection: self)
        default: nil
        }
    }

    public func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        let way = await NetworkExamination(configuration: http.configuration, address: base, clock: clock).findings()
        guard way.allSatisfy({ $0.verdict != .missing }) else { return way }
        var examination = WebExamination(self, needs)
        return way + (await examination.run())
    }

    public func shutdown() async throws {
        try await http.shutdown()
        try await tokens?.shutdown()
    }

    private static func base(
        _ settings: Settings, _ configuration: HTTPConnection.Configuration
    ) throws(ConnectorError) -> HTTPAddress {
        func problem(_ message: String) -> ConnectorError {
            ConnectorError(connection: configuration.name, setting: "url", message)
        }
        let address: HTTPAddress
        do throws(HTTPAddress.Problem) {
            address = try HTTPAddress(ASCII.trimmed(settings.text("url") ?? ""))
        } catch {
            throw problem(error.message)
        }
        guard address.userInfo == nil else { throw problem("Names and passwords belong under `auth`, not in the address.") }
        guard !address.target.contains("?") else {
            throw problem("A base address has no query: say it in the sources and actions, as `query`.")
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
