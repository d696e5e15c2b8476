/// A program that the instance's OAuth registry knows.
public struct SimulatedClient: Sendable, Hashable {
    /// How it may ask for tokens, as bellhop.yaml and the registry call it.
    public enum Grant: String, Sendable, Hashable, CaseIterable {
        case password, jwt
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case authorizationCode = "authorization_code"
    }

    /// What the answer to a refresh token says of the next one.
    public enum NextRefreshToken: String, Sendable, Hashable {
        /// The same again.
        case same
        /// Nothing: the old one stays good.
        case none
        /// Another; the old one is worthless from then on.
        case other
    }

    public let id: String
    /// Nil for one that cannot keep a secret, and proves itself by PKCE alone.
    public var secret: String?
    public var grants = Set(Grant.allCases)
    /// "OAuth Application User": whom client_credentials act for.
    public var user: String?
    /// The public key of its assertions, in PEM.
    public var publicKey: String?
    /// Addresses that an agreement may lead back to.
    public var redirects: Set<String> = []
    public var accessSeconds = 1800
    public var refreshSeconds = 8_640_000
    public var next = NextRefreshToken.same
    /// Whether a refresh token brings a new access token also while the old one is good.
    public var refreshBringsAnother = true

    public init(id: String, secret: String?) {
        self.id = id
        self.secret = secret
    }
}

/// A key that stands for a user, and the paths for which a REST API Access Policy takes it.
public struct SimulatedAPIKey: Sendable, Hashable {
    public let key: String
    public var user: String
    /// Beginnings of paths; empty for all.
    public var paths: [String] = []

    func covers(_ path: String) -> Bool { paths.isEmpty || paths.contains(where: path.hasPrefix) }
}
