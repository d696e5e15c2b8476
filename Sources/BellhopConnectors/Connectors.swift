public import BellhopCore
import Synchronization

/// The connectors of one configuration. Call ``shutdown()`` before releasing it.
///
/// A connection whose secrets or login change is rebuilt while the others continue: see ``rebind(_:retriesRefused:keepsPrevious:with:)``.
public struct Connectors: Sendable {
    /// In the order of the configuration.
    public let sources: [any Source]
    let bound: BoundConnections
    let environment: ConnectorEnvironment
    /// The actions that need no connection, by kind.
    private let own: [String: any Action]
    /// For addresses written in rules.
    private let direct: HTTPConnection
    /// For addresses with hosts computed from values: public internet only.
    private let guarded: HTTPConnection

    /// Makes all connectors, or throws all errors. Contacts nothing but the keychain.
    /// - Parameters:
    ///   - connections: settings checked against their kinds' manifests, like those of the sources.
    public init(
        connections entries: [(name: String, kind: String, settings: Settings)],
        sources sourceEntries: [(name: String, kind: String, connection: String, settings: Settings)],
        environment: ConnectorEnvironment
    ) async throws(ConnectorErrors) {
        let made = Self.entries(entries, sourceEntries, in: environment)
        var problems: [ConnectorError] = []
        var connections: [String: any Connection] = [:]
        var failed: Set<String> = []
        for (name, kind, settings) in entries {
            do throws(ConnectorErrors) {
                connections[name] = try await Self.connection(name, kind, settings, environment)
            } catch {
                failed.insert(name)
                problems += error.all
            }
        }
        var sources: [any Source] = []
        for (name, kind, connection, settings) in sourceEntries where !failed.contains(connection) {
            do throws(ConnectorError) {
                sources.append(try Self.source(name, kind, settings, on: connections[connection], called: connection))
            } catch {
                var problem = error
                problem.isOfSource = true
                problems.append(problem)
            }
        }
        if problems.isEmpty { Self.disambiguate(&sources, sourceEntries, connections) }
        var direct: HTTPConnection?
        var guarded: HTTPConnection?
        do throws(ConnectorError) {
            var configuration = HTTPConnection.Configuration(name: "webhook", maxBody: WebhookReceiver.largestAnswer)
            direct = try HTTPConnection(configuration, clock: environment.clock)
            configuration.refusesPrivate = true
            guarded = try HTTPConnection(configuration, clock: environment.clock)
        } catch {
            problems.append(error)
        }
        guard problems.isEmpty, let direct, let guarded else {
            await Self.close(connections, [direct, guarded])
            throw ConnectorErrors(problems)
        }
        self.sources = zip(sources, sourceEntries).map { BoundSource($0, connection: $1.connection) }
        bound = BoundConnections(connections, from: made)
        self.environment = environment
        self.direct = direct
        self.guarded = guarded
        own = [
            LogAction.manifest.kind: LogAction(
                baseFolder: environment.baseFolder, places: environment.logPlaces, sink: environment.output),
            EmitAction.manifest.kind: EmitAction(environment.events),
            ExecAction.manifest.kind: ExecAction(
                isAllowed: environment.allowsExec, folder: environment.baseFolder, notebook: environment.notebook),
        ]
    }

    private static func entries(
        _ connections: [(name: String, kind: String, settings: Settings)],
        _ sources: [(name: String, kind: String, connection: String, settings: Settings)], in environment: ConnectorEnvironment
    ) -> [String: Entries] {
        connections.reduce(into: [:]) { made, entry in
            let own = sources.filter { $0.connection == entry.name }.map { (name: $0.name, kind: $0.kind, settings: $0.settings) }
            made[entry.name] = Entries(kind: entry.kind, settings: entry.settings, sources: own).withFiles(in: environment)
        }
    }

    /// Prepares all sources concurrently, so that their schemas are known; see ``BellhopCore/Source/prepare(offline:)``.
    public func prepare(offline: Bool) async {
        await withDiscardingTaskGroup { group in
            for source in sources { group.addTask { await source.prepare(offline: offline) } }
        }
    }

    /// The action that performs a delivery; nil if its receiver is no longer configured.
    public func action(for delivery: Delivery) -> (any Action)? {
        if let action = own[delivery.action] { return action }
        let receiver = delivery.id.receiver
        if let connection = bound[receiver] {
            if let action = connection.action(delivery.action) { return action }
            let kinds = Catalogue.connections(taking: delivery.action).joined(separator: " or ")
            let message = "\(delivery.action) needs a connection of kind \(kinds); `\(receiver)` is of another kind."
            return FailingAction(failure: Failure(.missingReceiver, .giveUp, message))
        }
        if delivery.action == WebhookAction.manifest.kind, case .values(let arguments) = delivery.arguments,
            arguments["url"] != nil
        {
            return WebhookAction(.direct(direct, guarded: guarded))
        }
        return nil
    }

    /// Sends a message through a connection at once, without the store: nothing is retried or repeated.
    public func send(_ message: Message, to connection: String) async throws(Failure) -> Receipt {
        let now = environment.clock.now
        let delivery = Delivery(
            id: Delivery.ID(
                occasion: Occasion.ID("test/\(now.microseconds)"), rule: "notify", step: StepPath(index: 0), receiver: connection),
            revision: "", action: Catalogue.messageAction, arguments: .message(message), task: nil, lane: connection,
            createdAt: now)
        guard bound[connection] != nil, let action = action(for: delivery) else {
            throw Failure(.missingReceiver, .giveUp, "There is no connection `\(connection)`.")
        }
        return try await action.perform(delivery, attempt: Attempt(number: 1, now: now))
    }

    public func limits(of receiver: String) -> ReceiverLimits {
        bound[receiver]?.limits ?? (receiver == ExecAction.receiver ? ExecAction.limits : ReceiverLimits())
    }

    public func verifyLogin(connection: String, _ needs: ConnectionNeeds = ConnectionNeeds()) async throws(Failure) -> LoginTrial
    {
        guard let connection = bound[connection] else {
            throw Failure(.missingReceiver, .giveUp, "There is no connection `\(connection)`.")
        }
        return try await connection.verifyLogin(needs)
    }

    /// The next choice for the person who logs in to a connection; nil if there is none.
    public func question(connection: String, after chosen: [String: String]) async throws(Failure) -> LoginQuestion? {
        try await bound[connection]?.question(after: chosen)
    }

    /// The origin of the addresses that a connection's login uses; nil if it has none.
    public func origin(connection: String) -> String? { bound[connection]?.origin }

    /// The client that gets a connection's tokens; nil if it does not log in by OAuth.
    public func oauth(connection: String) -> OAuthClient? { bound[connection]?.oauth }

    /// Examines a connection for `bellhop doctor`; empty if there is no connection with this name.
    public func examine(connection: String, _ needs: ConnectionNeeds) async -> [Finding] {
        await bound[connection]?.examine(needs) ?? []
    }

    /// Closes what is open; requests under way fail.
    public func shutdown() async {
        await Self.close(bound.all, [direct, guarded])
        await environment.rates.settle()
    }

    static func close(_ connections: [String: any Connection], _ direct: [HTTPConnection?]) async {
        for connection in connections.values {
            do { try await connection.shutdown() } catch { continue }  // already closed
        }
        for client in direct {
            do { try await client?.shutdown() } catch { continue }
        }
    }

    static func connection(
        _ name: String, _ kind: String, _ settings: Settings, _ environment: ConnectorEnvironment
    ) async throws(ConnectorErrors) -> any Connection {
        guard let kind = Catalogue.kind(kind) else {
            throw ConnectorErrors([ConnectorError(connection: name, setting: "kind", "There is no connection kind `\(kind)`.")])
        }
        var settings = settings
        if let ca = settings.text("ca") { settings.values["ca"] = .string(environment.path(ca)) }
        await environment.rates.restore(name, settings.record("rate").flatMap(Rate.init), in: environment)
        do throws(ConnectorErrors) { return try await kind.make(name, settings, environment) } catch {
            // The error names only the first wrong HTTP setting; the user wants to know all of them.
            let all = HTTPConnection.Configuration.problems(name, settings)
            throw ConnectorErrors(all + error.all.filter { !all.contains($0) })
        }
    }

    static func source(
        _ name: String, _ kind: String, _ settings: Settings, on connection: (any Connection)?, called connectionName: String
    ) throws(ConnectorError) -> any Source {
        guard let connection else {
            throw ConnectorError(connection: name, setting: "connection", "There is no connection `\(connectionName)`.")
        }
        if let source = try connection.source(name, kind: kind, settings: settings) { return source }
        guard let manifest = Catalogue.sources.first(where: { $0.kind == kind }) else {
            throw ConnectorError(connection: name, setting: "kind", "There is no source kind `\(kind)`.")
        }
        throw ConnectorError(
            connection: name, setting: "connection",
            "A \(kind) source reads from a connection of kind \(manifest.connections.joined(separator: " or ")).")
    }

    /// Adds the connection's name to a source's scope if connections with different logins would otherwise share it.
    private static func disambiguate(
        _ sources: inout [any Source],
        _ entries: [(name: String, kind: String, connection: String, settings: Settings)], _ connections: [String: any Connection]
    ) {
        for places in Dictionary(grouping: sources.indices, by: { sources[$0].scope.id }).values where places.count > 1 {
            let named = places.compactMap { place in connections[entries[place].connection]?.named.map { (place, $0) } }
            guard Set(named.map(\.1.credentials)).count > 1 else { continue }
            for (place, connection) in named {
                let entry = entries[place]
                // It was made successfully a moment ago.
                let source = try? connection.source(entry.name, kind: entry.kind, settings: entry.settings)
                if let source { sources[place] = source }
            }
        }
    }
}

/// A source whose connection can be rebuilt while it is polled. Its stored state stays the same: see ``scope``.
///
/// A class with a mutex, because one task replaces the underlying source while another polls it.
final class BoundSource: Source {
    private struct Binding {
        var source: any Source
        /// The failure of every poll; nil in normal operation.
        var refusal: Failure?
    }

    let name: String
    let scope: Scope
    let connection: String
    var receiver: String { connection }
    private let binding: Mutex<Binding>

    init(_ source: any Source, connection: String) {
        self.connection = connection
        name = source.name
        scope = source.scope
        binding = Mutex(Binding(source: source))
    }

    var current: any Source { binding.withLock { $0.source } }

    /// Switches to another source of the same scope.
    func bind(_ source: any Source) {
        precondition(source.scope.id == scope.id, "Connectors.rebind keeps the scope")
        binding.withLock { $0 = Binding(source: source) }
    }

    /// Makes every poll fail until the source is bound again.
    func refuse(_ failure: Failure) { binding.withLock { $0.refusal = failure } }

    var user: String? { current.user }
    var schema: TaskSchema { current.schema }
    var definitions: [String: String] { current.definitions }
    var hidesChanges: Bool { current.hidesChanges }
    var shows: RecordKind { current.shows }
    var maxDepartures: Int { current.maxDepartures }

    func prepare(offline: Bool) async { await current.prepare(offline: offline) }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer { try await usable().list(from: lastPoll) }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        try await usable().details(of: keys, in: listing)
    }

    private func usable() throws(Failure) -> any Source {
        let binding = binding.withLock { $0 }
        if let refusal = binding.refusal { throw refusal }
        return binding.source
    }
}
