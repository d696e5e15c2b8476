import BellhopCore

/// One connection of bellhop.yaml: its sources and its actions.
///
/// A new kind of connection is one type that conforms, and its line in ``Catalogue``.
protocol Connection: Sendable {
    /// A source that reads from it; nil if it does not support the kind.
    /// - Parameter settings: checked against the source's manifest.
    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)?

    /// The action that performs deliveries of this kind; nil if it does not support the kind.
    func action(_ kind: String) -> (any Action)?

    var limits: ReceiverLimits { get }

    /// Tries to log in, even with credentials that were refused before, and reports the result.
    /// - Parameter needs: what the login is for, if that affects how it is tried.
    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial

    /// The next choice for the person who logs in; nil if there is none. Tries the login.
    /// - Parameter chosen: the keys of earlier choices, by the settings' names.
    func question(after chosen: [String: String]) async throws(Failure) -> LoginQuestion?

    /// The client that gets its tokens, if it logs in by OAuth.
    var oauth: OAuthClient? { get }

    /// Checks everything that `bellhop doctor` reports, from the host's name to each permission needed; writes nothing.
    func examine(_ needs: ConnectionNeeds) async -> [Finding]

    /// The origin of the addresses that its login uses; nil if it has none.
    var origin: String? { get }

    /// Differs between two connections to the same origin that log in as different users; null if the scopes of its sources name
    /// the user.
    var credentials: JSON { get }

    /// The same connection, with its name in the scopes of its sources; nil if the scopes name the user.
    var named: Self? { get }

    /// Closes all sockets and waits for them; must be called exactly once.
    func shutdown() async throws
}

extension Connection {
    func source(_ name: String, kind: String, settings: Settings) throws(ConnectorError) -> (any Source)? { nil }

    var oauth: OAuthClient? { nil }

    var origin: String? { nil }

    var credentials: JSON { .null }

    var named: Self? { nil }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        [Finding("connection", .unknown, "connections of this kind cannot be examined yet")]
    }

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        throw Failure.badArguments("This kind of connection has no login.")
    }

    func question(after chosen: [String: String]) async throws(Failure) -> LoginQuestion? { nil }
}

/// A kind of connection: its manifest, and how to make one.
struct ConnectionKind: Sendable {
    let manifest: ConnectionManifest
    let login: @Sendable (Settings) -> LoginMethod
    /// Makes a connection from its name and checked settings, whose paths are already absolute. Contacts nothing but the
    /// keychain.
    let make: @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorErrors) -> any Connection
    /// The type of event that reports its logins with these settings; nil for a kind that reports none.
    let logins: @Sendable (Settings) -> EventType?
    /// The request body for a message, without secrets; nil for a kind that does not take messages.
    let body: (@Sendable (Message, Delivery, Settings) -> JSON)?
    /// Whether its messages can have a mention. A mention that they cannot have is left out.
    let canMention: @Sendable (Message.Mention) -> Bool

    init(
        _ manifest: ConnectionManifest, login: @escaping @Sendable (Settings) -> LoginMethod,
        logins: @escaping @Sendable (Settings) -> EventType? = { _ in nil },
        make: @escaping @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorError) -> any Connection
    ) {
        self.init(
            manifest, login: login, logins: logins,
            makeReportingAll: { name, settings, environment throws(ConnectorErrors) in
                do throws(ConnectorError) { return try await make(name, settings, environment) } catch {
                    throw ConnectorErrors([error])
                }
            })
    }

    /// - Parameter makeReportingAll: makes a connection, or throws all errors in its settings.
    init(
        _ manifest: ConnectionManifest, login: @escaping @Sendable (Settings) -> LoginMethod,
        logins: @escaping @Sendable (Settings) -> EventType? = { _ in nil },
        makeReportingAll make:
            @escaping @Sendable (String, Settings, ConnectorEnvironment) async throws(ConnectorErrors) -> any Connection,
        body: (@Sendable (Message, Delivery, Settings) -> JSON)? = nil,
        canMention: @escaping @Sendable (Message.Mention) -> Bool = { _ in true }
    ) {
        self.manifest = manifest.withDeliverySettings
        self.login = login
        self.make = make
        self.logins = logins
        self.body = body
        self.canMention = canMention
    }
}
