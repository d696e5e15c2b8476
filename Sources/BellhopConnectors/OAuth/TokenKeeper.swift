public import BellhopCore

/// Tokens of a connection that outlive the program. Never prints them.
public struct KeptTokens: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var access: String?
    /// When `access` ends; nil where nobody said.
    public var expires: Timestamp?
    public var refresh: String?
    /// Whose tokens they are, as far as it could be learnt when they were stored; empty otherwise.
    public var username: String
    /// A digest of the client, and of the refresh token of bellhop.yaml where there is one: tokens of another origin are not used.
    public var origin: String
    /// Another for each time that `bellhop login` stored tokens.
    public var mark: String
    /// The `oauth` settings that they are renewed by, where bellhop.yaml has none (`auth: {keychain: true}`).
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

/// Keeps tokens between runs: the keychain. The database never sees one.
public protocol TokenKeeper: Sendable {
    /// What is kept for a connection; nil when there is nothing.
    func tokens(of connection: String) async throws -> KeptTokens?
    func keep(_ tokens: KeptTokens, of connection: String) async throws
}

/// Keeps nothing: for those who ask nobody.
public struct NoTokenKeeper: TokenKeeper {
    public init() {}
    public func tokens(of connection: String) async throws -> KeptTokens? { nil }
    public func keep(_ tokens: KeptTokens, of connection: String) async throws {}
}
