public import BellhopCore

/// What connectors need of the program around them.
public struct ConnectorEnvironment: Sendable {
    public var clock: any AgentClock
    /// Hears of logins.
    public var events: any EventSink
    public var notebook: any Notebook
    /// The login that the keychain holds for a connection; nil when it holds none. Asked at each login, so that a changed password is seen.
    public var login: @Sendable (_ connection: String) async throws -> (username: String, password: String)?
    /// What tells one storing of a connection's login from the next, even of the same password; nil where nothing does.
    public var loginMark: @Sendable (_ connection: String) async throws -> String?
    /// Whom a connection's stored login was typed for: the origin of their addresses; nil where that is not known.
    public var loginPlace: @Sendable (_ connection: String) async throws -> String?
    /// Where tokens are kept between runs.
    public var tokens: any TokenKeeper
    /// The folder of bellhop.yaml, which relative paths are relative to; empty for the current one.
    public var baseFolder: String
    /// Gets the lines of `log` actions that have no file.
    public var output: LogSink
    public var logRotation: LogRotation
    /// Where log files may lie.
    public var logPlaces: LogPlaces
    /// What connections of this program do one at a time.
    let gates = SharedGates()
    /// What deliveries of this program found to be theirs.
    let claims = ClaimedEntries()
    /// How fast connections of this program go.
    let rates = SharedRates()
    /// Whether the rates of its connections are noted, so that they hold over a restart: for the agent, not for commands beside it.
    public var keepsRates: Bool
    /// Random bits, for salts.
    public var random: @Sendable () -> UInt64

    public init(
        clock: any AgentClock, events: any EventSink, notebook: any Notebook,
        login: @escaping @Sendable (_ connection: String) async throws -> (username: String, password: String)?,
        loginMark: @escaping @Sendable (_ connection: String) async throws -> String? = { _ in nil },
        loginPlace: @escaping @Sendable (_ connection: String) async throws -> String? = { _ in nil },
        tokens: any TokenKeeper = NoTokenKeeper(), baseFolder: String, output: @escaping LogSink,
        logRotation: LogRotation = LogRotation(), logPlaces: LogPlaces? = nil,
        keepsRates: Bool = false, random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.clock = clock
        self.events = events
        self.notebook = notebook
        self.login = login
        self.loginMark = loginMark
        self.loginPlace = loginPlace
        self.tokens = tokens
        self.baseFolder = baseFolder
        self.output = output
        self.logRotation = logRotation
        self.logPlaces = logPlaces ?? LogPlaces(folders: [baseFolder])
        self.keepsRates = keepsRates
        self.random = random
    }

    /// The login that the keychain holds for a connection that leads here. A password goes to whom it was typed for, and nobody else.
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

    /// A path of bellhop.yaml as this process reaches it.
    func path(_ path: String) -> String {
        path.hasPrefix("/") || baseFolder.isEmpty ? path : baseFolder + (baseFolder.hasSuffix("/") ? "" : "/") + path
    }
}
