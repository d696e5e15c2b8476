public import BellhopCore

/// A bearer token from a token endpoint. Never prints itself.
public struct OAuthToken: Sendable, Hashable, Confidential {
    public var text: String
    /// When the token expires; nil if the server does not say.
    public var expires: Timestamp?
    /// When to renew the token; nil to wait until it is refused.
    var renewal: Timestamp?

    /// How long before its end a token is renewed.
    static let margin = Duration.seconds(60)

    /// A token that was issued now.
    ///
    /// A new token is renewed a margin before its end, or after half its lifetime if that is shorter than two margins. A server may
    /// return the same token until it expires; then an early renewal is useless, so that token is used to its end.
    init(_ text: String, expiresIn: Duration?, instead old: OAuthToken?, at now: Timestamp) {
        self.text = text
        guard let expiresIn else { return }
        let life = max(expiresIn, .seconds(1))
        expires = now + life
        let margin = old?.text == text ? .zero : min(Self.margin, life / 2)
        renewal = now + (life - margin)
    }

    /// The value of the `Authorization` field.
    public var authorization: String { "Bearer " + text }

    public func isDue(at now: Timestamp) -> Bool { renewal.map { $0 <= now } ?? false }

    func hasEnded(at now: Timestamp) -> Bool { expires.map { $0 <= now } ?? false }

    public var description: String { "OAuthToken(\(Redaction.mark))" }
}

/// Tokens of a connection that survive a restart. Never prints them.
public struct StoredTokens: Sendable, Hashable, Confidential {
    public var access: String?
    /// When `access` ends; nil if unknown.
    public var expires: Timestamp?
    public var refresh: String?
    /// The tokens' user, if known when they were stored; otherwise empty.
    public var username: String
    /// A digest of the client, and of the refresh token in bellhop.yaml if any: tokens of another origin are not used.
    public var origin: String
    /// Changes each time `bellhop login` stores tokens.
    public var mark: String
    /// The `oauth` settings used to renew them, if bellhop.yaml has none (`auth: {keychain: true}`).
    public var client: Settings?

    public init(
        access: String? = nil, expires: Timestamp? = nil, refresh: String? = nil, username: String = "", origin: String,
        mark: String = "", client: Settings? = nil
    ) {
        self.access = access
        self.expires = expires
        self.refresh = refresh
        self.username = username
        self.origin = origin
        self.mark = mark
        self.client = client
    }

    public var description: String { "StoredTokens(\(username))" }
}

/// Stores tokens between runs, in the keychain; never in the database.
public protocol TokenStorage: Sendable {
    func tokens(of connection: String) async throws -> StoredTokens?
    func keep(_ tokens: StoredTokens, of connection: String) async throws
}

/// Stores nothing: for uses without requests.
public struct NoTokenStorage: TokenStorage {
    public init() {}
    public func tokens(of connection: String) async throws -> StoredTokens? { nil }
    public func keep(_ tokens: StoredTokens, of connection: String) async throws {}
}
