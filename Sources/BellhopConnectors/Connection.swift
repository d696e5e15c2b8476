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

    /// What it takes of deliveries.
    var limits: ReceiverLimits { get }

    /// Tries to log in, also with what was refused before, and says what that shows.
    /// - Parameter needs: what the login is for, where that tells how it can be tried.
    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial

    /// What a person must choose who logs in; nil when nothing is left to choose. Tries the login.
    /// - Parameter chosen: the keys of what was chosen before, by the settings' names.
    func question(after chosen: [String: String]) async throws(Failure) -> LoginQuestion?

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

    public func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        throw Failure(.badArguments, .giveUp, "This connection is of a kind that has no login.")
    }

    public func question(after chosen: [String: String]) async throws(Failure) -> LoginQuestion? { nil }
}

/// A kind of source: how it declares itself, and what its manifest's types cannot say of its settings.
public struct SourceKind: Sendable {
    public let manifest: SourceManifest
    /// What is wrong inside of its settings, each with its place.
    let complaints: @Sendable (Settings) -> [SettingComplaint]

    init(_ manifest: SourceManifest, complaints: @escaping @Sendable (Settings) -> [SettingComplaint] = { _ in [] }) {
        self.manifest = manifest
        self.complaints = complaints
    }
}

/// A kind of connection: how it declares itself, and how one is made.
public struct ConnectionKind: Sendable {
    public let manifest: ConnectionManifest
    /// How one of these settings logs in.
    public let login: @Sendable (Settings) -> LoginWay
    /// Makes one of its name and checked settings; paths in them are whole already. Asks nobody outside but the keychain.
    let make: @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorError) -> any Connection
    /// The type of event by which its logins are told, with these settings; nil for a kind that tells of none.
    let logins: @Sendable (Settings) -> EventType?

    init(
        _ manifest: ConnectionManifest, login: @escaping @Sendable (Settings) -> LoginWay,
        logins: @escaping @Sendable (Settings) -> EventType? = { _ in nil },
        make: @escaping @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorError) -> any Connection
    ) {
        self.manifest = manifest
        self.login = login
        self.make = make
        self.logins = logins
    }
}
