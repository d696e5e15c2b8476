public import BellhopCore

/// A ServiceNow instance and the account we use there, as a connection of kind `servicenow` in bellhop.yaml.
///
/// It has two sessions, so that a long list does not keep a comment waiting: the server runs one request of a session at a time.
public struct ServiceNowConnection: Connection {
    /// What a connection needs of the program around it.
    public struct Surroundings: Sendable {
        public var clock: any AgentClock
        public var events: any EventSink
        public var notebook: any Notebook
        /// Random bits, for salts.
        public var random: @Sendable () -> UInt64

        public init(
            clock: any AgentClock, events: any EventSink, notebook: any Notebook,
            random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
        ) {
            self.clock = clock
            self.events = events
            self.notebook = notebook
            self.random = random
        }
    }

    public let name: String
    /// The instance's base address, such as `https://acme.service-now.com`.
    public let instance: String
    public let username: String
    let base: HTTPAddress
    let reading: ServiceNowSession
    let writing: ServiceNowSession
    let notebook: any Notebook
    let clock: any AgentClock
    private let http: HTTPConnection

    /// - Parameters:
    ///   - settings: checked against ``manifest``.
    ///   - username: where the configuration has none (`auth: {keychain: true}`): the user whose password the keychain holds, nil when
    ///     it holds none.
    ///   - credentials: asked at each login, so that a changed password is seen; nil for those of the configuration.
    public init(
        name: String, settings: Settings, username: String? = nil,
        credentials: (@Sendable () async throws -> Credentials)? = nil, in surroundings: Surroundings
    ) throws(ConnectorError) {
        try self.init(name: name, settings: settings, username: username, credentials: credentials, in: surroundings, over: nil)
    }

    /// - Parameter exchange: the way to the instance, where it is not the network.
    init(
        name: String, settings: Settings, username: String? = nil,
        credentials: (@Sendable () async throws -> Credentials)? = nil, in surroundings: Surroundings,
        over exchange: (any HTTPExchange)?
    ) throws(ConnectorError) {
        let base = try Self.base(settings.text("instance") ?? "", connection: name)
        let auth = try Auth(settings, connection: name)
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        if let refusal = configuration.refusal(of: base) { throw ConnectorError(connection: name, setting: "instance", refusal) }
        let user: String
        let source: @Sendable () async throws -> Credentials
        switch auth {
        case .basic(let given):
            user = given.username
            source = credentials ?? { given }
        case .keychain:
            guard let username, let credentials else {
                throw ConnectorError(
                    connection: name, setting: "auth.keychain",
                    "The keychain holds no login for \(name): run `bellhop login \(name)`.")
            }
            user = username
            source = credentials
        }
        guard !user.isEmpty, !user.hasPrefix("javascript:"), HeaderFields.isValue(user), !user.contains(":") else {
            throw ConnectorError(connection: name, setting: "auth", "This is no user name that can log in.")
        }
        let http = try HTTPConnection(configuration, clock: surroundings.clock)
        self.name = name
        self.base = base
        self.http = http
        instance = base.origin
        self.username = user
        notebook = surroundings.notebook
        clock = surroundings.clock
        let memory = RefusalMemory(
            connection: name, instance: base.origin, notebook: surroundings.notebook, salt: surroundings.random)
        let events = LoginEvents(
            connection: name, instance: base.origin, user: user, usesKeychain: auth == .keychain, sink: surroundings.events)
        func session(_ name: String) -> ServiceNowSession {
            ServiceNowSession(
                name, base: base, exchange: exchange ?? http, username: user, credentials: source, memory: memory, events: events,
                clock: surroundings.clock)
        }
        reading = session("reading")
        writing = session("writing")
    }

    /// Tries to log in, also with a password that was refused before, and says who the instance takes us for.
    public func verifyUser() async throws(Failure) -> ServiceNowUser { try await reading.verify() }

    public func verifyLogin() async throws(Failure) -> String {
        let user = try await verifyUser()
        return user.name.isEmpty || user.name == user.username ? user.username : "\(user.name) (\(user.username))"
    }

    public func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        switch kind {
        case TrackerSource.manifest.kind: try TrackerSource(name: name, settings: settings, connection: self)
        case TableSource.manifest.kind: try TableSource(name: name, settings: settings, connection: self)
        default: nil
        }
    }

    public func action(_ kind: String) -> (any Action)? {
        switch kind {
        case CommentAction.manifest.kind: CommentAction(connection: self)
        default: nil
        }
    }

    /// Closes what is open and waits for it.
    public func shutdown() async throws { try await http.shutdown() }

    /// `acme`, `acme.service-now.com` or a whole address to the base address.
    static func base(_ text: String, connection: String) throws(ConnectorError) -> HTTPAddress {
        let text = ASCII.trimmed(text)
        let isName = !text.isEmpty && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        let whole = isName ? "https://\(text).service-now.com" : text.contains("://") ? String(text) : "https://\(text)"
        let address: HTTPAddress
        do {
            address = try HTTPAddress(whole)
        } catch {
            throw ConnectorError(connection: connection, setting: "instance", error.message)
        }
        guard address.target == "/", address.userInfo == nil else {
            throw ConnectorError(
                connection: connection, setting: "instance",
                "An instance is its name (acme) or its base address (https://acme.service-now.com), without a path, user or password."
            )
        }
        return address
    }

    /// Where a person opens a task.
    func page(of key: TaskKey) -> String {
        "\(instance)/nav_to.do?uri=" + PercentEncoding.encode("task.do?sys_id=\(key.text)")
    }

    /// Whether a text can be a sys_id: 32 hexadecimal digits in lower case.
    static func isSysID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { ASCII.isDigit($0) || $0 &- 0x61 < 6 }
    }
}
