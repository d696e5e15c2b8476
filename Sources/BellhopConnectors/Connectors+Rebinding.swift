public import BellhopCore
import BellhopFiles
import Synchronization

/// The connections in use.
///
/// A class with a mutex, because deliveries look connections up while one is replaced.
final class BoundConnections: Sendable {
    private struct Bound: Sendable {
        var connection: any Connection
        /// What it was made from; nil if it cannot be used.
        var entries: Connectors.Entries?
    }

    private let bound: Mutex<[String: Bound]>
    /// Connections are rebuilt one at a time, so that the settings read last win.
    let gate = FIFOGate()

    init(_ connections: [String: any Connection], from entries: [String: Connectors.Entries]) {
        bound = Mutex(connections.reduce(into: [:]) { $0[$1.key] = Bound(connection: $1.value, entries: entries[$1.key]) })
    }

    var all: [String: any Connection] { bound.withLock { $0.mapValues(\.connection) } }

    subscript(name: String) -> (any Connection)? { bound.withLock { $0[name]?.connection } }

    func entries(of name: String) -> Connectors.Entries? { bound.withLock { $0[name]?.entries } }

    /// Replaces a connection. The previous one closes after its last request.
    /// - Parameter entries: what the new one was made from; nil if it cannot be used.
    func put(_ connection: any Connection, as name: String, from entries: Connectors.Entries?) {
        bound.withLock { $0[name] = Bound(connection: connection, entries: entries) }
    }
}

extension Connectors {
    /// A connection and the sources that read from it, with their current settings.
    public struct Entries: Sendable {
        public var kind: String
        public var settings: Settings
        public var sources: [(name: String, kind: String, settings: Settings)]
        /// The content of the files that the settings name, such as certificates, by path; without unreadable files.
        fileprivate var files: [String: Fingerprint] = [:]

        public init(kind: String, settings: Settings, sources: [(name: String, kind: String, settings: Settings)]) {
            (self.kind, self.settings, self.sources) = (kind, settings, sources)
        }

        /// Compares the values alone: ``Settings/secrets`` may also have those of other connections.
        fileprivate func isSame(as other: Entries) -> Bool {
            kind == other.kind && settings.values == other.settings.values && files == other.files
                && sources.elementsEqual(other.sources) {
                    $0.name == $1.name && $0.kind == $1.kind && $0.settings.values == $1.settings.values
                }
        }

        /// The same with the present content of the files.
        func withFiles(in environment: ConnectorEnvironment) -> Entries {
            var entries = self
            let type = SettingType.record(Catalogue.kind(kind)?.manifest.settings ?? [])
            for path in type.paths(in: .object(settings.values)) {
                entries.files[path] = (try? Descriptor.read(at: environment.path(path))).map { Fingerprint(content: $0) }
            }
            return entries
        }
    }

    public enum RebuildResult: Sendable, Hashable {
        /// All further requests use the new settings.
        case inUse
        /// The new settings cannot be used until this error is fixed.
        case unusable(String)
        /// It continues as before: with the new settings its sources would see different tasks.
        case needsRestart(String)
    }

    /// Whether a connection can be used, and was made from these settings and the present content of the files that they name.
    public func uses(_ entries: Entries, connection: String) -> Bool {
        bound.entries(of: connection)?.isSame(as: entries.withFiles(in: environment)) ?? false
    }

    /// Whether a connection in use was made from files, such as certificates.
    public func readsFiles(connection: String) -> Bool { bound.entries(of: connection).map { !$0.files.isEmpty } ?? false }

    /// Rebuilds a connection after a change of its secrets, its login or a file. Requests under way end with the old ones.
    /// - Parameters:
    ///   - retriesRefused: whether to try credentials again that were refused before: true after a new login.
    ///   - keepsPrevious: whether the connection continues as before if the new settings cannot be used.
    ///   - read: reads its current settings.
    /// - Throws: if the task was cancelled before the new settings were in use. The connection then stays as it was.
    public func rebind(
        _ name: String, retriesRefused: Bool = false, keepsPrevious: Bool = false, with read: () async throws(Failure) -> Entries
    ) async throws(CancellationError) -> RebuildResult {
        try await bound.gate.enter()
        defer { bound.gate.leave() }
        let own = sources.compactMap { $0 as? BoundSource }.filter { $0.connection == name }
        do throws(Failure) {
            var environment = environment
            if retriesRefused { environment.notebook = RefusalClearingNotebook(environment.notebook) }
            return try await bind(name, to: try await read(), own, in: environment)
        } catch {
            // The cancellation may be the cause, as for a command that prints a secret.
            if Task.isCancelled { throw CancellationError() }
            if keepsPrevious { return .unusable(error.message) }
            bound.put(RefusedConnection(failure: error), as: name, from: nil)
            for source in own { source.refuse(error) }
            return .unusable(error.message)
        }
    }

    private func bind(
        _ name: String, to entries: Entries, _ own: [BoundSource], in environment: ConnectorEnvironment
    ) async throws(Failure) -> RebuildResult {
        let entries = entries.withFiles(in: environment)
        let connection = try await rethrowing(as: { Self.unusable(name, $0.all) }) { () async throws(ConnectorErrors) in
            try await Self.connection(name, entries.kind, entries.settings, environment)
        }
        var made: [(BoundSource, any Source)] = []
        try rethrowing(as: { Self.unusable(name, [$0]) }) { () throws(ConnectorError) in
            for source in own {
                guard let entry = entries.sources.first(where: { $0.name == source.name }) else { continue }
                made.append((source, try Self.source(source, entry.kind, entry.settings, on: connection, called: name)))
            }
        }
        if let other = made.first(where: { $0.0.scope.id != $0.1.scope.id }) {
            await Self.close([name: connection], [])
            return .needsRestart(
                "the login is for another user now, and the state of the source \(other.0.name) belongs to the previous one")
        }
        // The new sources take over the state of the old ones.
        for (_, source) in made { await source.prepare(offline: true) }
        bound.put(connection, as: name, from: entries)
        for (source, new) in made { source.bind(new) }
        return .inUse
    }

    private static func unusable(_ name: String, _ errors: [ConnectorError]) -> Failure {
        Failure(
            .badArguments, .pauseConnection,
            "Connection \(name) cannot be used: \(errors.map(\.message).joined(separator: " "))")
    }

    /// The source of an entry on a connection. Its scope has the connection's name if the previous source's has.
    private static func source(
        _ before: BoundSource, _ kind: String, _ settings: Settings, on connection: any Connection, called name: String
    ) throws(ConnectorError) -> any Source {
        let source = try source(before.name, kind, settings, on: connection, called: name)
        guard source.scope.id != before.scope.id,
            let named = try connection.named?.source(before.name, kind: kind, settings: settings),
            named.scope.id == before.scope.id
        else { return source }
        return named
    }
}

/// Replaces a connection that cannot be used until its secrets or its login are fixed.
private struct RefusedConnection: Connection {
    let failure: Failure

    var limits: ReceiverLimits { ReceiverLimits() }

    func action(_ kind: String) -> (any Action)? { FailingAction(failure: failure) }

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial { throw failure }

    func shutdown() async throws {}
}

/// Replaces an action that cannot be performed.
struct FailingAction: Action {
    let failure: Failure

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt { throw failure }
}

extension SettingType {
    /// The paths of files in a value of this type.
    fileprivate func paths(in value: JSON) -> [String] {
        switch (self, value) {
        case (.path, .string(let path)): [path]
        case (.record(let members), .object(let values)):
            members.flatMap { member in values[member.name].map { member.type.paths(in: $0) } ?? [] }
        case (.either(let types), _): types.flatMap { $0.paths(in: value) }
        default: []
        }
    }
}
