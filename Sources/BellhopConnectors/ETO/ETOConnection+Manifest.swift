public import BellhopCore

extension ETOConnection {
    /// The settings of a connection of kind `eto` in bellhop.yaml.
    public static let manifest = ConnectionManifest(
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
            })

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
