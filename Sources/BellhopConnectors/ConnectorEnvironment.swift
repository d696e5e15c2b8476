public import BellhopCore

/// The services that the agent gives to its connectors.
public struct ConnectorEnvironment: Sendable {
    public var clock: any AgentClock
    public var events: any EventSink
    public var notebook: any Notebook
    /// A connection's login in the keychain; nil if there is none. Read at each login, to notice a changed password.
    public var login: @Sendable (_ connection: String) async throws -> (username: String, password: String)?
    /// Whether ``login`` is only tried before it is stored.
    public var isTrial: Bool
    /// Changes each time a connection's login is stored, even with the same password; nil if unsupported.
    public var loginMark: @Sendable (_ connection: String) async throws -> String?
    /// The origin of the addresses that a connection's login was stored for; nil if unknown.
    public var loginPlace: @Sendable (_ connection: String) async throws -> String?
    public var tokens: any TokenStorage
    /// The folder of bellhop.yaml, which relative paths are relative to; empty for the current folder.
    public var baseFolder: String
    /// Receives the lines of `log` actions that have no file.
    public var output: LogSink
    public var logPlaces: LogPlaces
    public var allowsExec: Bool
    /// Locks for what connections must do one at a time.
    let gates = SharedGates()
    /// The remote entries that deliveries have recognized as their own.
    let claims = ClaimedEntries()
    /// The request rates of this program's connections.
    let rates = SharedRates()
    /// Whether to store the used part of each connection's rate, so that a restart respects it: only the agent does.
    public var keepsRates: Bool
    /// Random bits, for salts.
    public var random: @Sendable () -> UInt64

    public init(
        clock: any AgentClock, events: any EventSink, notebook: any Notebook,
        login: @escaping @Sendable (_ connection: String) async throws -> (username: String, password: String)?,
        isTrial: Bool = false,
        loginMark: @escaping @Sendable (_ connection: String) async throws -> String? = { _ in nil },
        loginPlace: @escaping @Sendable (_ connection: String) async throws -> String? = { _ in nil },
        tokens: any TokenStorage = NoTokenStorage(), baseFolder: String, output: @escaping LogSink,
        logPlaces: LogPlaces? = nil, allowsExec: Bool = false, keepsRates: Bool = false,
        random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.clock = clock
        self.events = events
        self.notebook = notebook
        self.login = login
        self.isTrial = isTrial
        self.loginMark = loginMark
        self.loginPlace = loginPlace
        self.tokens = tokens
        self.baseFolder = baseFolder
        self.output = output
        self.logPlaces = logPlaces ?? LogPlaces(folders: [baseFolder])
        self.allowsExec = allowsExec
        self.keepsRates = keepsRates
        self.random = random
    }

    /// The login in the keychain for a connection to this origin. A password is sent only to the origin it was stored for.
    func login(of connection: String, at origin: String) async throws -> (username: String, password: String)? {
        guard let login = try await login(connection) else { return nil }
        if let place = try await loginPlace(connection), place != origin {
            throw Failure(
                .unauthenticated, .pauseConnection,
                "The login stored for \(connection) is for \(place), and the connection leads to \(origin): "
                    + "run `bellhop login \(connection)` to store one for it.")
        }
        return login
    }

    /// A path of bellhop.yaml, resolved for this process.
    func path(_ path: String) -> String { Self.path(path, in: baseFolder) }

    /// A path that may be relative to a folder; the empty folder is the current one.
    static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") || folder.isEmpty ? path : folder + (folder.hasSuffix("/") ? "" : "/") + path
    }
}

/// Discards events and notes: for connections that send nothing.
public struct NoOpSink: EventSink, Notebook {
    public init() {}
    public func emit(_ events: [Event]) async {}
    public func retry(_ events: [Event], after error: StoreError) {}
    public func note(_ key: String) async throws -> JSON? { nil }
    public func setNote(_ key: String, to value: JSON?) async throws {}
}
