public import BellhopCore

/// The connectors of one configuration, made once. ``shutdown()`` must be called before it is let go.
public struct Connectors: Sendable {
    /// A connection of each kind there is.
    private enum Connection: Sendable {
        case serviceNow(ServiceNowConnection)
        case slack(SlackConnection)
        case webhook(WebhookConnection)

        func shutdown() async throws {
            switch self {
            case .serviceNow(let connection): try await connection.shutdown()
            case .slack(let connection): try await connection.shutdown()
            case .webhook(let connection): try await connection.shutdown()
            }
        }
    }

    /// In the order of the configuration.
    public let sources: [any Source]
    private let connections: [String: Connection]
    private let log: LogAction
    /// The way to addresses that rules name themselves.
    private let direct: HTTPConnection

    /// Makes everything, or says all that is wrong; asks nobody outside but the keychain.
    ///
    /// - Parameters:
    ///   - connections: settings checked against their kinds' manifests, as the sources'.
    public init(
        connections entries: [(name: String, kind: String, settings: Settings)],
        sources sourceEntries: [(name: String, kind: String, connection: String, settings: Settings)],
        environment: ConnectorEnvironment
    ) async throws(ConnectorErrors) {
        var problems: [ConnectorError] = []
        var connections: [String: Connection] = [:]
        var failed: Set<String> = []
        for (name, kind, settings) in entries {
            do throws(ConnectorError) {
                connections[name] = try await Self.connection(name, kind, settings, environment)
            } catch {
                failed.insert(name)
                problems.append(error)
            }
        }
        var sources: [any Source] = []
        for (name, kind, connection, settings) in sourceEntries where !failed.contains(connection) {
            do throws(ConnectorError) {
                sources.append(try Self.source(name, kind, settings, on: connections[connection], called: connection))
            } catch {
                problems.append(error)
            }
        }
        var direct: HTTPConnection?
        do throws(ConnectorError) {
            direct = try HTTPConnection(.init(name: "webhook"), clock: environment.clock)
        } catch {
            problems.append(error)
        }
        guard problems.isEmpty, let direct else {
            await Self.close(connections, direct)
            throw ConnectorErrors(problems)
        }
        self.sources = sources
        self.connections = connections
        self.direct = direct
        log = LogAction(baseFolder: environment.baseFolder, rotation: environment.logRotation, sink: environment.output)
    }

    /// Who performs a delivery; nil when its receiver is not in the configuration any more.
    public func action(for delivery: Delivery) -> (any Action)? {
        let receiver = delivery.id.receiver
        switch delivery.action {
        case "log": return log
        case "webhook":
            if case .values(let arguments) = delivery.arguments, arguments["url"] != nil, connections[receiver] == nil {
                return WebhookAction(.direct(direct))
            }
            guard let connection = connections[receiver] else { return nil }
            guard case .webhook(let connection) = connection else { return Misdirected(receiver, wanted: "webhook") }
            return WebhookAction(.connection(connection))
        case "notify":
            switch connections[receiver] {
            case .slack(let connection)?: return NotifyAction(connection)
            case .webhook(let connection)?: return NotifyAction(connection)
            case .serviceNow?: return Misdirected(receiver, wanted: "slack or webhook")
            case nil: return nil
            }
        case "comment":
            guard let connection = connections[receiver] else { return nil }
            guard case .serviceNow(let connection) = connection else { return Misdirected(receiver, wanted: "servicenow") }
            return CommentAction(connection: connection)
        default: return nil
        }
    }

    /// Tries a connection's login and says whom it takes us for: `Ada Lovelace (ada)`.
    public func verifyLogin(connection: String) async throws(Failure) -> String {
        switch connections[connection] {
        case .serviceNow(let serviceNow)?:
            let user = try await serviceNow.verifyLogin()
            return user.name.isEmpty || user.name == user.username ? user.username : "\(user.name) (\(user.username))"
        case .slack?, .webhook?:
            throw Failure(.badArguments, .giveUp, "The connection `\(connection)` is of a kind that has no login.")
        case nil: throw Failure(.missingReceiver, .giveUp, "There is no connection `\(connection)`.")
        }
    }

    /// Closes what is open; requests under way fail.
    public func shutdown() async { await Self.close(connections, direct) }

    private static func close(_ connections: [String: Connection], _ direct: HTTPConnection?) async {
        for connection in connections.values {
            do { try await connection.shutdown() } catch { continue }  // it is closed already, which is what was wanted
        }
        do { try await direct?.shutdown() } catch { return }
    }

    private static func connection(
        _ name: String, _ kind: String, _ settings: Settings, _ environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> Connection {
        var settings = settings
        if let ca = settings.text("ca") { settings.values["ca"] = .string(environment.path(ca)) }
        switch kind {
        case ServiceNowConnection.manifest.kind: return .serviceNow(try await serviceNow(name, settings, environment))
        case SlackConnection.manifest.kind:
            return .slack(try SlackConnection(name: name, settings: settings, clock: environment.clock))
        case WebhookConnection.manifest.kind:
            return .webhook(try WebhookConnection(name: name, settings: settings, clock: environment.clock))
        default:
            throw ConnectorError(connection: name, setting: "kind", "There are no connections of kind `\(kind)`.")
        }
    }

    private static func serviceNow(
        _ name: String, _ settings: Settings, _ environment: ConnectorEnvironment
    ) async throws(ConnectorError) -> ServiceNowConnection {
        let surroundings = ServiceNowConnection.Surroundings(
            clock: environment.clock, events: environment.events, notebook: environment.notebook, random: environment.random)
        guard settings.record("auth")?.boolean("keychain") == true else {
            return try ServiceNowConnection(name: name, settings: settings, in: surroundings)
        }
        let (login, mark) = (environment.login, environment.loginMark)
        let stored: (username: String, password: String)?
        do {
            stored = try await login(name)
        } catch {
            let message = (error as? Failure)?.message ?? "The keychain cannot be read: \(error)"
            throw ConnectorError(connection: name, setting: "auth.keychain", message)
        }
        guard let stored else {
            throw ConnectorError(
                connection: name, setting: "auth.keychain",
                "The keychain holds no login for \(name): run `bellhop login \(name)`.")
        }
        return try ServiceNowConnection(
            name: name, settings: settings, username: stored.username,
            credentials: {
                guard let login = try await login(name) else {
                    throw Failure(
                        .unauthenticated, .pauseConnection,
                        "The keychain holds no login for \(name) any more: run `bellhop login \(name)`.")
                }
                return Credentials(username: login.username, password: login.password, mark: try await mark(name) ?? "")
            }, in: surroundings)
    }

    private static func source(
        _ name: String, _ kind: String, _ settings: Settings, on connection: Connection?, called connectionName: String
    ) throws(ConnectorError) -> any Source {
        guard let connection else {
            throw ConnectorError(connection: name, setting: "connection", "There is no connection `\(connectionName)`.")
        }
        switch (kind, connection) {
        case (TrackerSource.manifest.kind, .serviceNow(let serviceNow)):
            return try TrackerSource(name: name, settings: settings, connection: serviceNow)
        case (TrackerSource.manifest.kind, _):
            throw ConnectorError(
                connection: name, setting: "connection",
                "A \(kind) source reads from a connection of kind \(TrackerSource.manifest.connections.joined(separator: " or "))."
            )
        default:
            throw ConnectorError(connection: name, setting: "kind", "There are no sources of kind `\(kind)`.")
        }
    }

    /// Stands for an action whose receiver is a connection of another kind.
    private struct Misdirected: Action {
        let receiver: String
        let wanted: String

        init(_ receiver: String, wanted: String) {
            self.receiver = receiver
            self.wanted = wanted
        }

        func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
            throw Failure(
                .missingReceiver, .giveUp,
                "\(delivery.action) needs a connection of kind \(wanted); `\(receiver)` is of another kind.")
        }
    }
}
