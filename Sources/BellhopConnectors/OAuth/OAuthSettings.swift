public import BellhopCore
import Crypto

/// How a connection gets its tokens: the checked `oauth` settings of bellhop.yaml. Never prints them.
public struct OAuthSettings: Sendable, Confidential {
    /// A grant's name in bellhop.yaml.
    public enum GrantName: String, Sendable, Hashable, CaseIterable {
        case password
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case jwt
        case authorizationCode = "authorization_code"
    }

    public enum Grant: Sendable {
        case password(username: String, password: String)
        /// The first refresh token; later ones are kept in the keychain.
        case refreshToken(String)
        case clientCredentials
        case jwt(JWTAssertion)
        /// A person authorizes once in a browser: `bellhop login`. Servers compare the redirect address as text, as it was registered.
        case authorizationCode(page: HTTPAddress, redirect: HTTPAddress, registered: String)

        public var name: GrantName {
            switch self {
            case .password: .password
            case .refreshToken: .refreshToken
            case .clientCredentials: .clientCredentials
            case .jwt: .jwt
            case .authorizationCode: .authorizationCode
            }
        }
    }

    public var grant: Grant
    public var clientID: String
    public var clientSecret: String?
    /// Whether the client sends its secret as Basic authentication instead of in the form.
    public var secretInHeader: Bool
    public var scope: String?
    /// Further fields of the form.
    public var parameters: [(name: String, value: String)]
    public var tokenAddress: HTTPAddress

    /// Whether tokens must be stored, because bellhop.yaml alone is not enough to get new ones after a restart.
    public var needsKeeping: Bool {
        switch grant {
        case .refreshToken, .authorizationCode: true
        case .password, .clientCredentials, .jwt: false
        }
    }

    /// The texts that must never be shown.
    var secrets: [String] {
        var secrets = [clientSecret].compactMap(\.self) + parameters.map(\.value)
        switch grant {
        case .password(_, let password): secrets.append(password)
        case .refreshToken(let token): secrets.append(token)
        case .clientCredentials, .jwt, .authorizationCode: break
        }
        return secrets
    }

    /// A digest of the client, its endpoint and the refresh token in bellhop.yaml: stored tokens with a different digest are
    /// not used.
    var origin: String {
        var facts = [tokenAddress.text, clientID, grant.name.rawValue]
        if case .refreshToken(let first) = grant { facts.append(first) }
        let digest = SHA256.hash(data: Array(facts.joined(separator: "\u{0}").utf8))
        return Base64URL.encode(Array(digest).prefix(15))
    }

    public var description: String { "OAuthSettings(\(grant.name.rawValue))" }
}

extension OAuthSettings {
    public static let manifest: [Setting] = [
        Setting(
            "grant", .oneOf(GrantName.allCases.map(\.rawValue)), required: true,
            "The OAuth grant; `authorization_code` asks a person once, through `bellhop login`."),
        Setting("client_id", .text, required: true, "The OAuth client ID."),
        Setting("client_secret", .secret, "The OAuth client secret."),
        Setting(
            "client_auth", .oneOf(["body", "header"]), default: "body",
            "Whether to send the client secret in the form or in the header (Basic authentication)."),
        Setting("username", .text, "The user, for the grant `password`."),
        Setting("password", .secret, "The user's password, for the grant `password`."),
        Setting(
            "refresh_token", .secret,
            "The first refresh token, for the grant `refresh_token`; later ones are stored in the keychain."),
        Setting("scope", .text, "The token's scope, as the server writes it."),
        Setting("parameters", .map(.secret), "Further fields of the token request, such as `audience`."),
        Setting("token_url", .address, "The token endpoint; by default the ServiceNow instance's."),
        Setting("authorize_url", .address, "The page where a person authorizes Bellhop; by default the ServiceNow instance's."),
        Setting(
            "redirect_url", .address, default: defaultRedirect,
            "The redirect address registered with the server. `bellhop login` listens there if it is this machine."
        ),
        Setting("key", .path, "The private key that signs assertions, for the grant `jwt`: a PEM file without a password."),
        Setting("algorithm", .oneOf(SigningKey.Algorithm.allCases.map(\.rawValue)), default: "RS256", "The signature algorithm."),
        Setting("key_id", .text, "The key's ID at the server (`kid`)."),
        Setting("subject", .text, "The user, as the server's registration expects it (`sub`)."),
        Setting("issuer", .text, "The issuer (`iss`); by default the client ID."),
        Setting("audience", .text, "The audience (`aud`); by default the client ID."),
    ]

    /// Whether the settings under `auth` need a person's authorization in a browser.
    static func needsAuthorization(_ auth: Settings?) -> Bool {
        auth?.record("oauth")?.text("grant") == GrantName.authorizationCode.rawValue
    }

    public static let defaultRedirect = "http://127.0.0.1:8912/callback"

    /// An instance's own endpoints, used if bellhop.yaml names none.
    struct Endpoints: Sendable {
        var token: HTTPAddress?
        var page: HTTPAddress?
    }

    /// The settings that a grant has besides those of the client.
    private static func members(of grant: GrantName) -> (needed: [String], other: [String]) {
        switch grant {
        case .password: (["username", "password"], [])
        case .refreshToken: (["refresh_token"], [])
        case .clientCredentials: (["client_secret"], [])
        case .jwt: (["key", "subject"], ["key_id", "issuer", "audience", "algorithm"])
        case .authorizationCode: ([], ["authorize_url", "redirect_url"])
        }
    }

    /// Settings with a default, which are present even if bellhop.yaml does not have them.
    private static let withDefault: Set = ["algorithm", "redirect_url", "client_auth"]

    /// Reads checked settings.
    /// - Parameters:
    ///   - place: the settings' path, for messages: `auth.oauth`.
    ///   - defaults: the endpoints used if bellhop.yaml names none.
    ///   - path: resolves a path of bellhop.yaml for this process.
    init(
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
            return try ConnectorError.reading("\(place).\(setting)", of: connection) { () throws(InvalidValue) in
                try HTTPAddress(text)
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
            self.grant = .authorizationCode(
                page: try address("authorize_url", defaults.page), redirect: redirect,
                registered: settings.text("redirect_url") ?? Self.defaultRedirect)
        case .jwt:
            let file = path(settings.text("key") ?? "")
            let algorithm = SigningKey.Algorithm(rawValue: settings.text("algorithm") ?? "") ?? .rs256
            let key = try ConnectorError.reading("\(place).key", of: connection) { () throws(InvalidValue) in
                try SigningKey(pemFile: file, algorithm: algorithm)
            }
            self.grant = .jwt(
                JWTAssertion(
                    key: key, keyID: settings.text("key_id"), issuer: settings.text("issuer") ?? clientID,
                    audience: settings.text("audience") ?? clientID, subject: settings.text("subject") ?? ""))
        }
    }
}
