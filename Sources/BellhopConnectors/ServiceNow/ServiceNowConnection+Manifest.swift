import BellhopCore

extension ServiceNowConnection {
    static let manifest = ConnectionManifest(
        kind: "servicenow", summary: "A ServiceNow instance.",
        actions: [CommentAction.manifest, UpdateAction.manifest, CreateAction.manifest, AttachAction.manifest].map(\.kind),
        // A write consists of a read, the write and its verification.
        limits: DeliveryLimits(requests: 3, upcoming: 20),
        settings: [
            Setting("instance", .text, required: true, "The instance's name (acme) or its full address."),
            Setting(
                "auth",
                .record(
                    Setting.passwordLogin("Log in with a name and a password.", username: "The account's user name.") + [
                        Setting("oauth", .record(OAuthSettings.manifest), "Log in with tokens that Bellhop obtains and renews."),
                        Setting("bearer", .secret, "Log in with a token that somebody else obtains and renews."),
                        Setting("api_key", .secret, "Log in with an API key (`x-sn-apikey`)."),
                        Setting(
                            "certificate",
                            .record([
                                Setting("cert", .path, required: true, "The certificate with its chain: a PEM file."),
                                Setting("key", .path, required: true, "Its private key: a PEM file without a password."),
                            ]), "Log in with a certificate (mutual TLS)."),
                        Setting(
                            "username", .text,
                            "The account's user name, if the login does not contain it; a login of another user is refused."
                        ),
                    ]), required: true, "How to log in.", example: "auth: {keychain: true}"),
            Setting(
                "sessions", .integer(1...8), default: "1",
                "The number of sessions for comments and other writes: an instance handles one request per session at a time, and only a few API requests at once for all its users."
            ),
            Setting(
                "marker", .boolean, default: "false",
                "Whether each comment ends with a short reference to its delivery (`ref 3f2a9c`), which proves that it was written."
            ),
        ] + HTTPConnection.Configuration.settings)

    enum Auth: Sendable {
        case basic(Credentials)
        case keychain
        case oauth(OAuthSettings)
        case bearer(String)
        case apiKey(String)
        case certificate(HTTPConnection.ClientCertificate)

        private static let methods = ["basic", "keychain", "oauth", "bearer", "api_key", "certificate"]

        /// - Parameter path: resolves a path of bellhop.yaml for this process.
        init(_ settings: Settings, connection: String, base: HTTPAddress, path: (String) -> String) throws(ConnectorError) {
            func problem(_ setting: String, _ message: String) -> ConnectorError {
                ConnectorError(connection: connection, setting: setting, message)
            }
            let auth = settings.record("auth") ?? Settings()
            let given = Self.methods.filter { auth.values[$0] != nil && auth.values[$0] != .bool(false) }
            guard let method = given.first else {
                throw problem("auth", "Say how to log in: auth: {basic: {username: …, password: …}} or auth: {keychain: true}.")
            }
            if given.count > 1 { throw problem("auth", "Choose one of \(given.joined(separator: " and ")).") }
            if auth.text("username") != nil, ["basic", "keychain"].contains(method) {
                throw problem("auth.username", "`\(method)` already contains the user name.")
            }
            func secret() throws(ConnectorError) -> String {
                guard let text = auth.text(method), !text.isEmpty, HeaderFields.isValue(text) else {
                    throw problem("auth.\(method)", "This is empty, or has characters that a header cannot have.")
                }
                return text
            }
            switch method {
            case "basic":
                guard let basic = auth.record("basic"), let username = basic.text("username"),
                    let password = basic.text("password"), !password.isEmpty
                else { throw problem("auth.basic", "Basic authentication needs a username and a password.") }
                self = .basic(Credentials(username: username, password: password))
            case "keychain": self = .keychain
            case "oauth":
                let endpoints = OAuthSettings.Endpoints(
                    token: base.with(target: "/oauth_token.do"), page: base.with(target: "/oauth_auth.do"))
                let oauth = try OAuthSettings(
                    auth.record("oauth") ?? Settings(), connection: connection, at: "auth.oauth", defaults: endpoints, path: path)
                if case .password = oauth.grant, auth.text("username") != nil {
                    throw problem("auth.username", "The grant password already contains the user name.")
                }
                self = .oauth(oauth)
            case "bearer": self = .bearer(try secret())
            case "api_key": self = .apiKey(try secret())
            default:
                let files = auth.record("certificate")
                guard base.isSecure else { throw problem("auth.certificate", "A certificate requires https://.") }
                self = .certificate(
                    HTTPConnection.ClientCertificate(chain: path(files?.text("cert") ?? ""), key: path(files?.text("key") ?? "")))
            }
        }
    }
}

extension ServiceNowConnection {
    static let kind = ConnectionKind(
        manifest, login: { settings in loginMethod(settings) },
        logins: { EventType.login(usesKeychain: $0.record("auth")?.boolean("keychain") == true) },
        make: { name, settings, environment throws(ConnectorError) in try await open(name, settings, in: environment) })

    private static func loginMethod(_ settings: Settings) -> LoginMethod {
        let auth = settings.record("auth")
        if auth?.boolean("keychain") == true { return .prompt }
        return OAuthSettings.needsAuthorization(auth) ? .browser : .configured
    }

    /// Opens a connection with the login of its settings, if necessary from the keychain.
    private static func open(
        _ name: String, _ settings: Settings, in environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> ServiceNowConnection {
        let auth = settings.record("auth")
        if OAuthSettings.needsAuthorization(auth) {
            let user = try await Self.tokenUser(of: name, environment)
            return try ServiceNowConnection(name: name, settings: settings, username: user, in: environment)
        }
        guard auth?.boolean("keychain") == true else {
            return try ServiceNowConnection(name: name, settings: settings, in: environment)
        }
        let origin = try Self.base(settings.text("instance") ?? "", connection: name).origin
        if let account = try await environment.account(of: name, at: origin) {
            return try ServiceNowConnection(
                name: name, settings: settings, username: account.username, credentials: account.credentials, in: environment)
        }
        if let connection = try await Self.withStoredTokens(name, settings, in: environment) { return connection }
        throw .noLogin(of: name)
    }

    /// A connection with the tokens from the keychain and the client that renews them; nil if the keychain has no tokens for it.
    private static func withStoredTokens(
        _ name: String, _ settings: Settings, in environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> ServiceNowConnection? {
        let tokens: StoredTokens?
        do {
            tokens = try await environment.tokens.tokens(of: name)
        } catch {
            throw ConnectorError(connection: name, setting: "auth.keychain", "The keychain cannot be read: \(error)")
        }
        guard let tokens, let client = tokens.client else { return nil }
        var settings = settings
        settings.values["auth"] = ["oauth": .object(client.values)]
        return try ServiceNowConnection(
            name: name, settings: settings, username: tokens.username.isEmpty ? nil : tokens.username, usesKeychain: true,
            in: environment)
    }

    /// The user of the tokens in the keychain; nil if there are no tokens or they do not name a user.
    private static func tokenUser(of name: String, _ environment: ConnectorEnvironment) async throws(ConnectorError) -> String? {
        do {
            return try await environment.tokens.tokens(of: name).flatMap { $0.username.isEmpty ? nil : $0.username }
        } catch {
            let message = (error as? Failure)?.message ?? "The keychain cannot be read: \(error)"
            throw ConnectorError(connection: name, setting: "auth.oauth", message)
        }
    }
}
