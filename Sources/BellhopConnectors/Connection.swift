public import BellhopCore

/// One connection of bellhop.yaml, made: what can be read from it and what it can do.
///
/// A new kind is one type that conforms, and its line in ``Catalogue``.
public protocol Connection: Sendable {
    /// A source that reads from it; nil when it is none of its kinds.
    /// - Parameter settings: checked against the source's manifest.
    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)?

    /// Who performs a delivery of this kind of action on it; nil when it is none of its kinds.
    func action(_ kind: String) -> (any Action)?

    /// Tries to log in and says whom the other side takes us for: `Ada Lovelace (ada)`.
    func verifyLogin() async throws(Failure) -> String

    /// What gets its tokens, where it logs in by OAuth.
    var oauth: OAuthClient? { get }

    /// Looks at everything that `bellhop doctor` asks about, from the name of the host to each right that is needed; writes nothing.
    func examine(_ needs: ConnectionNeeds) async -> [Finding]

    /// The origin of the addresses that its login goes to; nil where it has none.
    var origin: String? { get }

    /// Closes what is open and waits for it; must be called once.
    func shutdown() async throws
}

extension Connection {
    public func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? { nil }

    public var oauth: OAuthClient? { nil }

    public var origin: String? { nil }

    public func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        [Finding("connection", .unknown, "connections of this kind cannot be looked at yet")]
    }

    public func verifyLogin() async throws(Failure) -> String {
        throw Failure(.badArguments, .giveUp, "This connection is of a kind that has no login.")
    }
}

/// A kind of connection: how it declares itself, and how one is made.
public struct ConnectionKind: Sendable {
    public let manifest: ConnectionManifest
    /// Makes one of its name and checked settings; paths in them are whole already. Asks nobody outside but the keychain.
    let make: @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorError) -> any Connection

    init(
        _ manifest: ConnectionManifest,
        make: @escaping @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorError) -> any Connection
    ) {
        self.manifest = manifest
        self.make = make
    }
}
