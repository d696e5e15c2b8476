public import BellhopCore

/// ETO's services and the account we use there, as a connection of kind `eto` in bellhop.yaml.
///
/// It has one session and one request at a time: the program one works in is state of the server's.
public struct ETOConnection: Connection {
    public let name: String
    /// The services' base address, and what tells this enterprise from others there.
    public let instance: String
    public let username: String
    let session: ETOSession
    let notebook: any Notebook
    let clock: any AgentClock
    /// What writes responses, one after the other: who looks whether one is there must not meet another one's.
    let writing = FIFOGate()
    private let http: HTTPConnection

    /// - Parameters:
    ///   - settings: checked against ``manifest``.
    ///   - username: the e-mail address that logs in.
    ///   - credentials: asked at each login, so that a changed password is seen.
    init(
        name: String, settings: Settings, username: String, credentials: @escaping @Sendable () async throws -> Credentials,
        environment: ConnectorEnvironment
    ) throws(ConnectorError) {
        let base = try Self.base(settings.text("address") ?? Self.address, connection: name)
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        if let refusal = configuration.refusal(of: base) { throw ConnectorError(connection: name, setting: "address", refusal) }
        guard !username.isEmpty, username.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw ConnectorError(connection: name, setting: "auth", "This is no e-mail address that can log in.")
        }
        let wanted = ETOSession.Place(
            enterprise: settings.text("enterprise"), site: settings.text("site"),
            program: settings.text("program").flatMap(ETOProgram.init), timeZoneOffset: settings.integer("time_zone_offset") ?? 0)
        let http = try HTTPConnection(configuration, clock: environment.clock)
        self.name = name
        self.http = http
        self.username = username
        // A GUID has no place in events and the store, so the enterprise's fingerprint stands for it.
        let part = wanted.enterprise.map { "/" + Fingerprint.of("eto", ASCII.lowercased($0)).hex.prefix(8) } ?? ""
        instance = base.origin + part
        notebook = environment.notebook
        clock = environment.clock
        let memory = RefusalMemory(
            connection: name, instance: base.origin, notebook: environment.notebook, salt: environment.random)
        let events = LoginEvents(
            connection: name, instance: base.origin, user: username, usesKeychain: Self.usesKeychain(settings),
            sink: environment.events)
        session = ETOSession(
            base: base, exchange: http, wanted: wanted, username: username, credentials: credentials, memory: memory,
            events: events, clock: environment.clock)
    }

    public func verifyLogin() async throws(Failure) -> String { try await session.verify() }

    /// The account's enterprises, to choose one; tries the login.
    public func enterprises() async throws(Failure) -> [ETOChoice] { try await session.enterprises() }

    /// The sites of one of ``enterprises()``, to choose one.
    public func sites(of enterprise: ETOChoice) async throws(Failure) -> [ETOChoice] { try await session.sites(of: enterprise) }

    public func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        kind == TouchPointsSource.manifest.kind ? try TouchPointsSource(name: name, settings: settings, connection: self) : nil
    }

    public var origin: String? { session.base.origin }

    public func action(_ kind: String) -> (any Action)? {
        kind == TouchPointAction.manifest.kind ? TouchPointAction(connection: self) : nil
    }

    public func shutdown() async throws { try await http.shutdown() }

    static let address = "https://services.etosoftware.com"

    static func base(_ text: String, connection: String) throws(ConnectorError) -> HTTPAddress {
        let address: HTTPAddress
        do throws(HTTPAddress.Problem) {
            address = try HTTPAddress(ASCII.trimmed(text))
        } catch {
            throw ConnectorError(connection: connection, setting: "address", error.message)
        }
        guard address.target == "/", address.userInfo == nil else {
            throw ConnectorError(
                connection: connection, setting: "address",
                "The address of ETO's services has no path, user or password: \(Self.address).")
        }
        return address
    }
}
