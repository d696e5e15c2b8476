/// A client in the instance's OAuth registry.
public struct SimulatedClient: Sendable, Hashable {
    /// How it may request tokens, named as in bellhop.yaml and the registry.
    public enum Grant: String, Sendable, Hashable, CaseIterable {
        case password, jwt
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case authorizationCode = "authorization_code"
    }

    /// Which refresh token the answer to a refresh token contains.
    public enum NextRefreshToken: String, Sendable, Hashable {
        /// The same one.
        case same
        /// No refresh token: the old one stays valid.
        case none
        /// A new one; the old one becomes invalid.
        case other
    }

    public let id: String
    /// Nil for a client that cannot keep a secret and uses PKCE alone.
    public var secret: String?
    public var grants = Set(Grant.allCases)
    /// "OAuth Application User": the user for client_credentials.
    public var user: String?
    /// The public key of its assertions, in PEM.
    public var publicKey: String?
    /// Allowed redirect addresses.
    public var redirects: Set<String> = []
    public var accessSeconds = 1800
    public var refreshSeconds = 8_640_000
    public var next = NextRefreshToken.same
    /// Whether a refresh token returns a new access token even if the old one is still valid.
    public var refreshIssuesNewToken = true

    public init(id: String, secret: String?) {
        self.id = id
        self.secret = secret
    }
}

/// A key that acts as a user, and the paths for which a REST API Access Policy accepts it.
public struct SimulatedAPIKey: Sendable, Hashable {
    public let key: String
    public var user: String
    /// Path prefixes; empty for all.
    public var paths: [String] = []

    func covers(_ path: String) -> Bool { paths.isEmpty || paths.contains(where: path.hasPrefix) }
}
