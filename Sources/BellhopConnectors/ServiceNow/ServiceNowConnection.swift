public import BellhopCore

/// A ServiceNow instance and Bellhop's account on it: a connection of kind `servicenow` in bellhop.yaml.
///
/// It has one session for reading and one or more for writing, so that a long list does not delay a comment: the server runs one
/// request per session at a time.
public struct ServiceNowConnection: Connection {
    let name: String
    /// The instance's base address, such as `https://acme.service-now.com`.
    let instance: String
    /// The configured user name; without one, a stable placeholder such as `(api key of snow)`. The user that the instance
    /// recognizes is `reading.user`.
    let username: String
    private let identity: ServiceNowLogin.Identity
    private let users: UserMemory
    let oauth: OAuthClient?
    let base: HTTPAddress
    let reading: ServiceNowSession
    let writers: WritingSessions
    let taskPrefetch = TaskPrefetch()
    let entries = ReadAhead<Journal.Entries>()
    /// Resolves labels and names to values on the instance.
    let labels: FieldLabels
    private let gates: SharedGates
    let notebook: any Notebook
    /// Whether each comment ends with a reference to its delivery (`marker`).
    let marksComments: Bool
    let journalAccess = Journal.Access()
    let claims: ClaimedEntries
    let clock: any AgentClock
    let http: HTTPConnection
    private let tokens: HTTPConnection?

    /// - Parameters:
    ///   - settings: checked against ``manifest``.
    ///   - username: the user whose password or tokens the keychain holds; nil if they are in the configuration.
    ///   - usesKeychain: whether all credentials are in the keychain: then logins have event types of their own.
    ///   - credentials: called at each login, so that a changed password is noticed; nil to use the configuration's.
    ///   - exchange: replaces the network.
    public init(
        name: String, settings: Settings, username: String? = nil, usesKeychain: Bool = false,
        credentials: (@Sendable () async throws -> Credentials)? = nil, in environment: ConnectorEnvironment,
        over exchange: (any HTTPExchange)? = nil
    ) throws(ConnectorError) {
        let base = try Self.base(settings.text("instance") ?? "", connection: name)
        let auth = try Auth(settings, connection: name, base: base) { environment.path($0) }
        var configuration = try HTTPConnection.Configuration(name: name, settings)
        if let refusal = configuration.refusal(of: base) { throw ConnectorError(connection: name, setting: "instance", refusal) }
        if case .certificate(let certificate) = auth { configuration.certificate = certificate }
        let http = try HTTPConnection(configuration, in: environment)
        let tokens = try Self.tokenExchange(auth, base, http, configuration, environment)
        let login = try ServiceNowLogin(
            auth, connection: name, username: settings.record("auth")?.text("username"),
            stored: .init(username: username, credentials: credentials), http: http, tokens: tokens ?? http,
            environment: environment)
        self.name = name
        self.base = base
        self.http = http
        self.tokens = tokens
        instance = base.origin
        gates = environment.gates
        claims = environment.claims
        marksComments = settings.boolean("marker") ?? false
        identity = login.identity
        self.username = identity.text
        oauth = login.oauth
        notebook = environment.notebook
        clock = environment.clock
        let memory = RefusalMemory(
            connection: name, instance: base.origin, notebook: environment.notebook, salt: environment.random)
        let users = UserMemory(connection: name, instance: base.origin, notebook: environment.notebook)
        var usesKeychain = usesKeychain
        if case .keychain = auth { usesKeychain = true }
        let events = LoginEvents(
            connection: name, instance: base.origin, user: login.identity.text, usesKeychain: usesKeychain,
            sink: environment.events)
        self.users = users
        func session(_ name: String) -> ServiceNowSession {
            ServiceNowSession(
                name, base: base, exchange: exchange ?? http, login: login, memory: memory, users: users, events: events,
                clock: environment.clock)
        }
        reading = session("reading")
        let count = settings.integer("sessions") ?? 1
        writers = WritingSessions((1...max(count, 1)).map { session($0 == 1 ? "writing" : "writing \($0)") })
        labels = FieldLabels(at: base.place)
    }

    /// The HTTP connection to a token endpoint on another host, which must not get the cookies and header fields for the instance.
    /// Nil for the same host.
    private static func tokenExchange(
        _ auth: Auth, _ base: HTTPAddress, _ http: HTTPConnection, _ configuration: HTTPConnection.Configuration,
        _ environment: ConnectorEnvironment
    ) throws(ConnectorError) -> HTTPConnection? {
        guard case .oauth(let settings) = auth else { return nil }
        if let refusal = configuration.refusal(of: settings.tokenAddress) {
            throw ConnectorError(connection: configuration.name, setting: "auth.oauth.token_url", refusal)
        }
        if settings.tokenAddress.origin == base.origin { return nil }
        var own = configuration
        own.headers = [:]
        return try HTTPConnection(own, clock: environment.clock)
    }

    /// The user name on the instance; nil if only the instance knows it, and has not told it yet.
    var user: String? {
        switch identity {
        case .user(let name): name
        case .placeholder(let name): users.known.flatMap { $0 == name ? nil : $0 }
        }
    }

    /// Learns the user of a login without a user name: from an earlier login, or else by a login.
    func learnUser(offline: Bool) async {
        if user != nil { return }
        // Without an answer, the user stays unknown until a poll logs in, and the checker warns.
        let earlier = try? await users.username()
        if earlier == nil, !offline { try? await reading.logInOnce() }
    }

    /// Tries to log in, and returns the user the instance recognizes.
    /// - Parameter force: whether to try credentials that were refused before.
    func verifyUser(force: Bool = true) async throws(Failure) -> ServiceNowUser { try await reading.verify(force: force) }

    var origin: String? { instance }

    /// One write per session.
    var limits: ReceiverLimits { http.limits(Self.manifest.limits, lanes: writers.all.count) }

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        LoginTrial(user: try await verifyUser().shown)
    }

    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        switch kind {
        case TrackerSource.manifest.kind: try TrackerSource(name: name, settings: settings, connection: self)
        case TableSource.manifest.kind: try TableSource(name: name, settings: settings, connection: self)
        case PageSource.manifest.kind: try PageSource(name: name, settings: settings, base: base, user: username, host: self)
        default: nil
        }
    }

    func action(_ kind: String) -> (any Action)? {
        switch kind {
        case AttachAction.manifest.kind: AttachAction(connection: self)
        case CommentAction.manifest.kind: CommentAction(connection: self)
        case CreateAction.manifest.kind: CreateAction(connection: self)
        case UpdateAction.manifest.kind: UpdateAction(connection: self)
        default: nil
        }
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: base, clock: clock).findings {
            var examination = ServiceNowExamination(self, needs)
            return await examination.run()
        }
    }

    public func shutdown() async throws {
        try await tokens?.shutdown()
        try await http.shutdown()
    }

    /// The base address for `acme`, `acme.service-now.com` or a full address.
    static func base(_ text: String, connection: String) throws(ConnectorError) -> HTTPAddress {
        let text = ASCII.trimmed(text)
        let isName = ASCII.isName(text, of: 1..., with: "-")
        let whole = isName ? "https://\(text).service-now.com" : text.contains("://") ? String(text) : "https://\(text)"
        let address = try ConnectorError.reading("instance", of: connection) { () throws(InvalidValue) in
            try HTTPAddress(whole)
        }
        guard address.target == "/", address.userInfo == nil else {
            throw ConnectorError(
                connection: connection, setting: "instance",
                "An instance is its name (acme) or its base address (https://acme.service-now.com), without a path, user or password."
            )
        }
        return address
    }

    /// The gate that serializes creations with the same key, across all connections to the instance. There are 64 gates, so
    /// different keys may share one.
    func creating(_ key: String) -> FIFOGate { gates.gate("create \(base.origin) \(Fingerprint(content: key).low % 64)") }

    /// Drops the prefetched data of a task, because it was written to.
    func forget(_ task: TaskKey) {
        taskPrefetch.forget(task)
        entries.forget(task)
    }

    /// The task's address for people.
    func page(of key: TaskKey) -> String { page(of: "task") + PercentEncoding.encode(key.text) }

    /// The address of a table's rows for people; a row's percent-encoded sys_id must be appended.
    func page(of table: String) -> String { "\(instance)/nav_to.do?uri=" + PercentEncoding.encode("\(table).do?sys_id=") }

    /// Whether a text can be a sys_id: 32 lower-case hexadecimal digits.
    static func isSysID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { $0.isASCIIDigit || $0 &- 0x61 < 6 }
    }
}

extension ServiceNowConnection: PageHost {
    /// Empty: answers that are not pages are filtered out before they reach a source.
    var hidden: [String] { [] }

    /// A page read in the reading session: after the login, only cookies authenticate.
    func page(_ address: HTTPAddress, headers: HeaderFields, timeout: Duration?) async throws(Failure) -> HTTPResponse {
        var call = ServiceNowCall(target: address.target, expecting: .page, timeout: timeout)
        call.headers = headers.with(["Accept": "text/html, */*;q=0.5"])
        do throws(Failure) {
            let reply = try await reading.send(call)
            return HTTPResponse(status: reply.status, headers: reply.headers, body: reply.body)
        } catch {
            var failure = error
            if failure.reason == .sessionExpired {
                failure.message +=
                    " The login is valid, so either the account may not open this page, or the instance does not accept API sessions for pages (com.glide.processors.aprocessor.donot_reuse_api_session)."
            }
            throw failure
        }
    }
}
