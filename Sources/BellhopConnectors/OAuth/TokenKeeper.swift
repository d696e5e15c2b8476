public import BellhopCore

/// Tokens of a connection that survive a restart. Never prints them.
public struct KeptTokens: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
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

    public var description: String { "KeptTokens(\(username))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}

/// Keeps tokens between runs, in the keychain; never in the database.
public protocol TokenKeeper: Sendable {
    /// The stored tokens of a connection; nil if there are none.
    func tokens(of connection: String) async throws -> KeptTokens?
    func keep(_ tokens: KeptTokens, of connection: String) async throws
}

/// Keeps nothing: for uses without requests.
public struct NoTokenKeeper: TokenKeeper {
    public init() {}
    public func tokens(of connection: String) async throws -> KeptTokens? { nil }
    public func keep(_ tokens: KeptTokens, of connection: String) async throws {}
}
