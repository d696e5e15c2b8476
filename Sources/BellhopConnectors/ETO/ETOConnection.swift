import BellhopCore

/// ETO's services with one account, as a connection of kind `eto` in bellhop.yaml.
///
/// It has one session and sends one request at a time, because the current program is server-side state.
struct ETOConnection: Connection {
    let name: String
    /// The services' base address, plus a part that distinguishes this enterprise from others there.
    let instance: String
    let username: String
    let session: ETOSession
    let notebook: any Notebook
    let claims: ClaimedEntries
    let clock: any AgentClock
    /// Serializes writes, so that no other delivery adds a response between the lookup of a write and its proof.
    let writing = FIFOGate()
    /// Whether the configuration names the program for its requests.
    let hasProgram: Bool
    /// Rate limits and times in the services' answers.
    let watch: AnswerWatch
    private let http: HTTPConnection

    /// - Parameters:
    ///   - settings: checked against ``manifest``.
    ///   - account: the e-mail address that logs in, and its password.
    init(name: String, settings: Settings, account: Account, environment: ConnectorEnvironment) throws(ConnectorError) {
        let base = try Self.base(settings.text("address") ?? Self.address, connection: name)
        let configuration = try HTTPConnection.Configuration(name: name, settings)
        if let refusal = configuration.refusal(of: base) { throw ConnectorError(connection: name, setting: "address", refusal) }
        let username = account.username
        guard !username.isEmpty, username.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw ConnectorError(connection: name, setting: "auth", "This is not a valid e-mail address.")
        }
        let wanted = ETOSession.Place(
            enterprise: settings.text("enterprise"), site: settings.text("site"),
            program: settings.text("program").flatMap(ETOProgram.init), timeZoneOffset: settings.integer("time_zone_offset") ?? 0)
        let http = try HTTPConnection(configuration, in: environment)
        self.name = name
        self.http = http
        let watch = AnswerWatch(base, http)
        self.watch = watch
        hasProgram = wanted.program != nil
        self.username = username
        // A fingerprint identifies the enterprise, because its GUID must not appear in events and the store.
        let part = wanted.enterprise.map { "/" + Fingerprint.of("eto", ASCII.lowercased($0)).hex.prefix(8) } ?? ""
        instance = base.origin + part
        notebook = environment.notebook
        claims = environment.claims
        clock = environment.clock
        let memory = RefusalMemory(
            connection: name, instance: base.origin, notebook: environment.notebook, salt: environment.random)
        let events = LoginEvents(
            connection: name, instance: base.origin, user: username, usesKeychain: Self.usesKeychain(settings),
            sink: environment.events)
        session = ETOSession(
            base: base, exchange: watch, wanted: wanted, account: account, memory: memory, events: events,
            clock: environment.clock)
    }

    /// One response at a time, from the check before it to its proof.
    var limits: ReceiverLimits { http.limits(Self.manifest.limits) }

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        LoginTrial(user: try await session.verify())
    }

    /// The enterprise, then one of its sites.
    func question(after chosen: [String: String]) async throws(Failure) -> LoginQuestion? {
        guard let enterprise = chosen["enterprise"] else {
            return LoginQuestion("enterprise", try await session.enterprises().map { .init(key: $0.key, name: $0.name) })
        }
        guard chosen["site"] == nil else { return nil }
        let sites = try await session.sites(of: ETOChoice(key: enterprise, name: ""))
        return LoginQuestion("site", sites.map { .init(key: $0.key, name: $0.name, showsKey: true) })
    }

    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? {
        kind == TouchPointsSource.manifest.kind ? try TouchPointsSource(name: name, settings: settings, connection: self) : nil
    }

    var origin: String? { session.base.origin }

    func action(_ kind: String) -> (any Action)? {
        kind == TouchPointAction.manifest.kind ? TouchPointAction(connection: self) : nil
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        await NetworkExamination(configuration: http.configuration, address: session.base, clock: clock).findings {
            await ETOExamination(connection: self, needs: needs).run()
        }
    }

    func shutdown() async throws { try await http.shutdown() }

    static let address = "https://services.etosoftware.com"

    static func base(_ text: String, connection: String) throws(ConnectorError) -> HTTPAddress {
        try HTTPAddress(server: text, "address", of: connection)
    }
}

extension ETOConnection {
    static let manifest = ConnectionManifest(
        kind: "eto", summary: "Efforts to Outcomes (ETO), by its web services.",
        actions: [TouchPointAction.manifest.kind], limits: DeliveryLimits(concurrency: 1, requests: 3),
        settings: [
            Setting(
                "address", .address, default: address,
                "The services' address; other regions use etosoftware.ca, etosoftware.us or etosoftwareau.com."),
            Setting(
                "auth",
                .record(
                    Setting.passwordLogin(
                        "Log in with an e-mail address and a password.", username: "The account's e-mail address.")),
                "How to log in; by default with the login stored by `bellhop login`. Use a separate account: logging in to ETO's web "
                    + "pages with it ends Bellhop's session."),
            Setting("enterprise", .text, "The enterprise, by name or GUID; required if the account has several."),
            Setting("site", .text, "The site, by name or number; required if the enterprise has several."),
            Setting("program", .text, "The default program for sources and actions, by name or number."),
            Setting(
                "time_zone_offset", .integer(-86_400...86_400), default: "0",
                "The time zone offset sent with the login to a site. Its unit is not documented; most clients send 0."),
        ]
            + HTTPConnection.Configuration.settings.map { setting in
                setting.name == "max_body" ? Setting("max_body", .size, default: "50MB", setting.summary) : setting
            }, starter: ["auth"])

    static let kind = ConnectionKind(
        manifest, login: { usesKeychain($0) ? .prompt : .configured },
        logins: { EventType.login(usesKeychain: usesKeychain($0)) },
        make: { name, settings, environment throws(ConnectorError) in
            try await ETOConnection(name: name, settings: settings, in: environment)
        })

    static func usesKeychain(_ settings: Settings) -> Bool { settings.record("auth")?.record("basic") == nil }

    /// Makes a connection with the login in its settings, or with the one in the keychain.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) async throws(ConnectorError) {
        let auth = settings.record("auth")
        let usesKeychain = Self.usesKeychain(settings)
        guard (auth?.boolean("keychain") ?? usesKeychain) == usesKeychain else {
            throw ConnectorError(connection: name, setting: "auth", "Choose one of basic and keychain.")
        }
        guard let basic = auth?.record("basic") else {
            let origin = try Self.base(settings.text("address") ?? Self.address, connection: name).origin
            guard let account = try await environment.account(of: name, at: origin) else { throw .noLogin(of: name) }
            try self.init(name: name, settings: settings, account: account, environment: environment)
            return
        }
        guard let username = basic.text("username"), let password = basic.text("password"), !password.isEmpty else {
            throw ConnectorError(connection: name, setting: "auth.basic", "The login needs a username and a password.")
        }
        let credentials = Credentials(username: username, password: password)
        let account = Account(connection: name, username: username) { credentials }
        try self.init(name: name, settings: settings, account: account, environment: environment)
    }
}
