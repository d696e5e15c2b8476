import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopInbound

/// Applies changed secrets while the agent runs: those that a command changed in the keychain, and on SIGHUP those of all places. It rebuilds
/// the connections that use them, polls their sources at once, and wakes deliveries that paused because a connection was unusable.
/// Requests from other systems are checked with the new secrets.
///
/// Uses bellhop.yaml as it was at the start: changes in the file take effect at the next start.
struct SecretReloader {
    /// The outcome for one connection, for one source that takes requests, or for another part of bellhop.yaml.
    struct Outcome {
        enum Subject {
            case connection(String), source(String)
            /// A part of bellhop.yaml that is read only at the start, such as `console`.
            case section(String)

            /// Its name in signals and in the status.
            var name: String {
                switch self {
                case .connection(let name), .section(let name): name
                case .source(let name): "source \(name)"
                }
            }
        }

        var subject: Subject
        var rebound: Connectors.RebuildResult
    }

    private let assembly: Assembly
    private let loader: ConfigurationLoader
    /// Nil if nothing listens.
    private let handler: InboundHandler?
    /// Applies one change at a time, so that the secrets read last are in use.
    private let gate = FIFOGate()

    init(_ assembly: Assembly, handler: InboundHandler?, environment: [String: String]) {
        self.assembly = assembly
        self.handler = handler
        loader = ConfigurationLoader(environment: environment, keychain: assembly.configuration.keychain)
    }

    /// Applies a command's change of a keychain. Returns the outcomes; if the agent reads another keychain, only that one's path.
    func answer(_ change: KeychainChange, in place: KeychainPlace) async -> JSON {
        let own = SharedFile.resolved(assembly.configuration.keychain.path)
        if let file = place.file, file != own { return ["keychain": .string(own)] }
        return .array(await apply(change, project: place.project).map(\.json))
    }

    /// - Parameter project: whose keychain entries were changed; nil for those that all projects share.
    func apply(_ change: KeychainChange, project: String?) async -> [Outcome] {
        guard (try? await gate.enter()) != nil else { return [] }
        defer { gate.leave() }
        var outcomes: [Outcome] = []
        let isLogin = if case .login = change { true } else { false }
        for connection in connections(using: change) {
            var rebound = obstacle(project)
            if rebound == nil {
                rebound = try? await assembly.connectors.rebind(connection, retriesRefused: isLogin) {
                    () async throws(Failure) -> Connectors.Entries in
                    do throws(ConfigurationError) { return try await entries(of: connection) } catch {
                        throw Failure(
                            .badArguments, .pauseConnection, "Connection \(connection) cannot be used: \(error.sentence)")
                    }
                }
            }
            guard let rebound else { return outcomes }  // the agent ends
            outcomes.append(report(.connection(connection), rebound))
            await wake(connection)
        }
        return outcomes + (await replaceKeys(for: change, project: project)) + sections(using: change)
    }

    /// Reads the secrets and files of connections, and the secrets of requests from other systems, again, and applies those that have
    /// changed. If one cannot be used, the previous one stays in use.
    func reload() async {
        guard (try? await gate.enter()) != nil else { return }
        defer { gate.leave() }
        let content = assembly.configuration.content ?? []
        for connection in assembly.configuration.connections.map(\.name)
        where assembly.connectors.readsFiles(connection: connection)
            || !ConfigurationLoader.secretNames(ofConnection: connection, in: content).isEmpty
        {
            let entries: Connectors.Entries
            do throws(ConfigurationError) { entries = try await self.entries(of: connection) } catch {
                if Task.isCancelled { return }  // the agent ends
                report(.connection(connection), .unusable("\(error.sentence) \(Self.unchanged)"))
                continue
            }
            if assembly.connectors.uses(entries, connection: connection), !assembly.runtimeFacts.isUnbound(connection) {
                continue
            }
            let rebound = try? await assembly.connectors.rebind(connection, keepsPrevious: true) {
                () async throws(Failure) -> Connectors.Entries in entries
            }
            guard let rebound else { return }  // the agent ends
            if case .unusable(let reason) = rebound {
                report(.connection(connection), .unusable("\(reason) \(Self.unchanged)"))
                continue
            }
            report(.connection(connection), rebound)
            await wake(connection)
        }
        await reloadKeys(in: content)
    }

    /// Reads again the keys with which requests from other systems are checked.
    private func reloadKeys(in content: [UInt8]) async {
        guard let handler else { return }
        for endpoint in assembly.configuration.inbound.endpoints
        where !ConfigurationLoader.secretNames(ofSource: endpoint.source, in: content).isEmpty {
            let source = Outcome.Subject.source(endpoint.source)
            do throws(ConfigurationError) {
                let isNew = handler.replaceKey(of: endpoint.path, with: try await key(of: endpoint))
                if isNew || assembly.runtimeFacts.isUnbound(source.name) { report(source, .inUse) }
            } catch {
                if Task.isCancelled { return }  // the agent ends
                report(source, .unusable("\(error.sentence) \(Self.unchanged)"))
            }
        }
    }

    private static let unchanged = "It stays as it was."

    /// Why no change can be applied; nil if it can.
    private func obstacle(_ project: String?) -> Connectors.RebuildResult? {
        guard let project, project != assembly.configuration.keychain.project?.id else { return nil }
        return .needsRestart("bellhop.yaml got its line `\(ProjectLine.key)` after the agent's start")
    }

    @discardableResult
    private func report(_ subject: Outcome.Subject, _ rebound: Connectors.RebuildResult) -> Outcome {
        let problem: String? =
            switch rebound {
            case .inUse: nil
            case .unusable(let reason), .needsRestart(let reason): reason
            }
        assembly.context.signals.emit(.rebound(connection: subject.name, problem: problem))
        return Outcome(subject: subject, rebound: rebound)
    }

    /// Replaces the keys with which requests from other systems are checked.
    private func replaceKeys(for change: KeychainChange, project: String?) async -> [Outcome] {
        guard let handler, case .secret(let secret) = change else { return [] }
        let running = assembly.configuration
        var outcomes: [Outcome] = []
        for endpoint in running.inbound.endpoints
        where ConfigurationLoader.secretNames(ofSource: endpoint.source, in: running.content ?? []).contains(secret) {
            if let obstacle = obstacle(project) {
                outcomes.append(report(.source(endpoint.source), obstacle))
                continue
            }
            do throws(ConfigurationError) {
                handler.replaceKey(of: endpoint.path, with: try await key(of: endpoint))
                outcomes.append(report(.source(endpoint.source), .inUse))
            } catch {
                if Task.isCancelled { return outcomes }  // the agent ends
                handler.replaceKey(of: endpoint.path, with: nil)
                outcomes.append(
                    report(.source(endpoint.source), .unusable("Requests to \(endpoint.path) are refused: \(error.sentence)")))
            }
        }
        return outcomes
    }

    /// The key of a path, made from its present secret.
    private func key(of endpoint: InboundEndpoint) async throws(ConfigurationError) -> InboundKey {
        let running = assembly.configuration
        let now = try await loader.load(running.content ?? [], file: running.file, focus: .source(endpoint.source))
        guard let key = now.inbound.endpoints.first(where: { $0.path == endpoint.path })?.key else {
            throw .unreadable("There is no path `\(endpoint.path)` in \(running.file).")
        }
        return key
    }

    /// The parts of bellhop.yaml that use a secret only at the start.
    private func sections(using change: KeychainChange) -> [Outcome] {
        guard case .secret(let secret) = change else { return [] }
        return ConfigurationLoader.sections(with: secret, in: assembly.configuration.content ?? []).map { name in
            Outcome(subject: .section(name), rebound: .needsRestart("`\(name)` in bellhop.yaml is read only at the start"))
        }
    }

    private func connections(using change: KeychainChange) -> [String] {
        let names = assembly.configuration.connections.map(\.name)
        switch change {
        case .login(let connection): return names.filter { $0 == connection }
        case .secret(let secret):
            let content = assembly.configuration.content ?? []
            return names.filter { ConfigurationLoader.secretNames(ofConnection: $0, in: content).contains(secret) }
        }
    }

    /// The settings of a connection with the present secrets.
    private func entries(of connection: String) async throws(ConfigurationError) -> Connectors.Entries {
        let running = assembly.configuration
        let now = try await loader.load(running.content ?? [], file: running.file, focus: .connection(connection))
        guard let entry = now.connection(connection) else {
            throw .unreadable("There is no connection `\(connection)` in \(running.file).")
        }
        return Connectors.Entries(
            kind: entry.kind, settings: entry.settings,
            sources: now.sources.filter { $0.connection == connection }.map { ($0.name, $0.kind, $0.settings) })
    }

    private func wake(_ connection: String) async {
        for source in assembly.configuration.sources where source.connection == connection {
            assembly.engine.pollNow(source.name)
        }
        do throws(StoreError) {
            try await assembly.engine.ignoreEarlierRefusals(by: connection)
            try await assembly.context.store.wake(receiver: connection, at: assembly.context.clock.now)
        } catch {
            assembly.context.signals.emit(.storeFailed(doing: "waking deliveries", error))
        }
        assembly.context.bells.dispatcher.ring()
    }
}

extension SecretReloader.Outcome {
    var json: JSON {
        var json: JSON.Object =
            switch subject {
            case .connection(let name): ["connection": .string(name)]
            case .source(let name): ["source": .string(name)]
            case .section(let name): ["section": .string(name)]
            }
        switch rebound {
        case .inUse: json["outcome"] = "in_use"
        case .unusable(let reason): (json["outcome"], json["reason"]) = ("unusable", .string(reason))
        case .needsRestart(let reason): (json["outcome"], json["reason"]) = ("needs_restart", .string(reason))
        }
        return .object(json)
    }
}

extension ConfigurationError {
    /// The problem, in one sentence for people.
    fileprivate var sentence: String {
        switch self {
        case .diagnostics(let problems):
            problems.all.filter { $0.severity == .error }.map { problem in
                problem.help.map { "\(problem.message): \($0)" } ?? problem.message
            }.joined(separator: "; ") + "."
        case .unreadable(let message): message
        case .secret(let error): error.message
        }
    }
}
