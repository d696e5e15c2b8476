public import BellhopCore

extension OAuthSettings {
    /// The settings for a login by OAuth.
    public static let manifest: [Setting] = [
        Setting(
            "grant", .oneOf(GrantName.allCases.map(\.rawValue)), required: true,
            "How tokens are asked for; `authorization_code` asks a person once, by `bellhop login`."),
        Setting("client_id", .text, required: true, "What the server calls Bellhop."),
        Setting("client_secret", .secret, "The client's secret."),
        Setting(
            "client_auth", .oneOf(["body", "header"]), default: "body",
            "Whether the client's secret goes into the form or, as Basic authentication, into the header."),
        Setting("username", .text, "The user, for the grant `password`."),
        Setting("password", .secret, "The user's password, for the grant `password`."),
        Setting(
            "refresh_token", .secret,
            "The first refresh token, for the grant `refresh_token`; those that follow are kept in the keychain."),
        Setting("scope", .text, "What the token is to be good for, as the server writes it."),
        Setting("parameters", .map(.secret), "Further fields of the token request, such as `audience`."),
        Setting("token_url", .address, "The token endpoint; for a ServiceNow instance its own."),
        Setting("authorize_url", .address, "The page on which a person agrees; for a ServiceNow instance its own."),
        Setting(
            "redirect_url", .address, default: defaultRedirect,
            "Where that page leads back to, as the server has it registered. `bellhop login` listens there where it is this machine."
        ),
        Setting("key", .path, "The private key that signs assertions, for the grant `jwt`: a PEM file without a password."),
        Setting(
            "algorithm", .oneOf(SigningKey.Algorithm.allCases.map(\.rawValue)), default: "RS256", "How they are signed."),
        Setting("key_id", .text, "The key's name at the server: the assertion's `kid`."),
        Setting("subject", .text, "Whom an assertion is about: the user, as the server's registration wants it."),
        Setting("issuer", .text, "The assertion's `iss`; by default the client's id."),
        Setting("audience", .text, "The assertion's `aud`; by default the client's id."),
    ]

    /// Whether the settings under `auth` need a person's authorization in a browser.
    static func needsAgreement(_ auth: Settings?) -> Bool {
        auth?.record("oauth")?.text("grant") == GrantName.authorizationCode.rawValue
    }

    public static let defaultRedirect = "http://127.0.0.1:8912/callback"

    /// An instance's own endpoints, used if bellhop.yaml names none.
    public struct Endpoints: Sendable {
        public var token: HTTPAddress?
        public var page: HTTPAddress?

        public init(token: HTTPAddress? = nil, page: HTTPAddress? = nil) {
            self.token = token
            self.page = page
        }
    }

    /// The settings of a grant, besides those of the client, and which of them are required.
    private static func members(of grant: GrantName) -> (needed: [String], other: [String]) {
        switch grant {
        case .password: (["username", "password"], [])
        case .refreshToken: (["refresh_token"], [])
        case .clientCredentials: (["client_secret"], [])
        case .jwt: (["key", "subject"], ["key_id", "issuer", "audience", "algorithm"])
        case .authorizationCode: ([], ["authorize_url", "redirect_url"])
        }
    }

    /// Settings with a default, which are present even if not written.
    private static let withDefault: Set = ["algorithm", "redirect_url", "client_auth"]

    /// Reads checked settings.
    ///
    /// - Parameters:
    ///   - place: the settings' path, for messages: `auth.oauth`.
    ///   - defaults: the endpoints used if bellhop.yaml names none.
    ///   - path: resolves a path of bellhop.yaml for this process.
    public init(
        _ settings: Settings, connection: String, at place: String, defaults: Endpoints = Endpoints(), path: (String) -> String
    ) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: connection, setting: "\(place).\(setting)", message)
        }
        guard let grant = settings.text("grant").flatMap(GrantName.init(rawValue:)), let clientID = settings.text("client_id"),
            !clientID.isEmpty
        else { throw problem("grant", "OAuth needs a grant and a client_id.") }
        let mine = Self.members(of: grant)
        for name in mine.needed where (settings.text(name) ?? "").isEmpty {
            throw problem(name, "The grant \(grant.rawValue) needs `\(name)`.")
        }
        for other in GrantName.allCases where other != grant {
            let theirs = Self.members(of: other)
            let foreign = Set(theirs.needed + theirs.other).subtracting(mine.needed + mine.other)
                .subtracting(Self.withDefault).subtracting(["client_secret"])
            if let stray = foreign.filter({ settings.values[$0] != nil }).min() {
                throw problem(stray, "`\(stray)` belongs to the grant \(other.rawValue), not to \(grant.rawValue).")
            }
        }
        func address(_ setting: String, _ fallback: HTTPAddress?) throws(ConnectorError) -> HTTPAddress {
            guard let text = settings.text(setting) else {
                guard let fallback else { throw problem(setting, "The grant \(grant.rawValue) needs `\(setting)` here.") }
                return fallback
            }
            do {
                return try HTTPAddress(text)
            } catch {
                throw problem(setting, error.message)
            }
        }
        self.clientID = clientID
        clientSecret = settings.text("client_secret").flatMap { $0.isEmpty ? nil : $0 }
        secretInHeader = settings.text("client_auth") == "header"
        if secretInHeader, clientSecret == nil { throw problem("client_auth", "`client_auth: header` needs a `client_secret`.") }
        scope = settings.text("scope")
        parameters = (settings.record("parameters")?.values ?? [:]).map { ($0.key, $0.value.asString ?? "") }
        tokenAddress = try address("token_url", defaults.token)
        if tokenAddress.target.contains("?") || tokenAddress.userInfo != nil {
            throw problem("token_url", "A token endpoint has no query or password; further fields go into `parameters`.")
        }
        switch grant {
        case .password:
            self.grant = .password(username: settings.text("username") ?? "", password: settings.text("password") ?? "")
        case .refreshToken: self.grant = .refreshToken(settings.text("refresh_token") ?? "")
        case .clientCredentials: self.grant = .clientCredentials
        case .authorizationCode:
            let redirect = try address("redirect_url", try? HTTPAddress(Self.defaultRedirect))
            self.grant = .authorizationCode(page: try address("authorize_url", defaults.page), redirect: redirect)
        case .jwt:
            let file = path(settings.text("key") ?? "")
            let algorithm = SigningKey.Algorithm(rawValue: settings.text("algorithm") ?? "") ?? .rs256
            let key: SigningKey
            do {
                key = try SigningKey(pemFile: file, algorithm: algorithm)
            } catch {
                throw problem("key", error.message)
            }
            self.grant = .jwt(
                JWTAssertion(
                    key: key, keyID: settings.text("key_id"), issuer: settings.text("issuer") ?? clientID,
                    audience: settings.text("audience") ?? clientID, subject: settings.text("subject") ?? ""))
        }
    }
}
