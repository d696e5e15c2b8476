import BellhopConnectors
import BellhopCore
import BellhopEngine

/// Applies a command's change to the keychain while the agent runs: connections that use it are made again, their sources are
/// polled at once, and deliveries that paused because of an unusable connection continue.
///
/// Uses bellhop.yaml as it was at the start: other changes in it take effect at the next start.
struct TakingOver {
    /// The outcome for one connection.
    struct Outcome {
        var connection: String
        var rebound: Connectors.Rebound
    }

    private let assembly: Assembly
    private let loader: ConfigurationLoader

    init(_ assembly: Assembly, environment: [String: String]) {
        self.assembly = assembly
        loader = ConfigurationLoader(environment: environment, keychain: assembly.configuration.keychain)
    }

    /// - Parameter project: whose keychain entries were changed; nil for those that all projects share.
    func take(_ change: KeychainChange, project: String?) async -> [Outcome] {
        var outcomes: [Outcome] = []
        let isLogin = if case .login = change { true } else { false }
        for connection in concerned(change) {
            var rebound: Connectors.Rebound?
            if let project, project != assembly.configuration.keychain.project?.id {
                rebound = .needsRestart("bellhop.yaml got its line `\(ProjectLine.key)` after the agent's start")
            } else {
                rebound = try? await assembly.connectors.rebind(connection, pardons: isLogin) {
                    () async throws(Failure) -> Connectors.Entries in
                    try await entries(of: connection)
                }
            }
            guard let rebound else { return outcomes }  // the agent ends
            outcomes.append(Outcome(connection: connection, rebound: rebound))
            switch rebound {
            case .inUse: assembly.surroundings.signals.emit(.rebound(connection: connection, problem: nil))
            case .unusable(let why), .needsRestart(let why):
                assembly.surroundings.signals.emit(.rebound(connection: connection, problem: why))
            }
            await wake(connection)
        }
        return outcomes
    }

    private func concerned(_ change: KeychainChange) -> [String] {
        let names = assembly.configuration.connections.map(\.name)
        switch change {
        case .login(let connection): return names.filter { $0 == connection }
        case .secret(let secret): return names.filter { loader.asks($0, for: secret, in: assembly.configuration.content ?? []) }
        }
    }

    private func entries(of connection: String) async throws(Failure) -> Connectors.Entries {
        let running = assembly.configuration
        do throws(ConfigurationError) {
            let now = try await loader.load(running.content ?? [], file: running.file, focus: .connection(connection))
            guard let entry = now.connection(connection) else {
                throw ConfigurationError.unreadable("There is no connection `\(connection)` in \(running.file).")
            }
            return Connectors.Entries(
                kind: entry.kind, settings: entry.settings,
                sources: now.sources.filter { $0.connection == connection }.map { ($0.name, $0.kind, $0.settings) })
        } catch {
            throw Failure(.badArguments, .pauseConnection, "Connection \(connection) cannot be used: \(error.sentence)")
        }
    }

    private func wake(_ connection: String) async {
        for source in assembly.configuration.sources where source.connection == connection {
            assembly.engine.pollNow(source.name)
        }
        do throws(StoreError) {
            try await assembly.surroundings.store.wake(receiver: connection, at: assembly.surroundings.clock.now)
        } catch {
            assembly.surroundings.signals.emit(.storeFailed(doing: "waking deliveries", error))
        }
        assembly.surroundings.bells.dispatcher.ring()
    }
}

extension TakingOver.Outcome {
    var json: JSON {
        switch rebound {
        case .inUse: ["connection": .string(connection), "outcome": "in_use"]
        case .unusable(let why): ["connection": .string(connection), "outcome": "unusable", "why": .string(why)]
        case .needsRestart(let why): ["connection": .string(connection), "outcome": "needs_restart", "why": .string(why)]
        }
    }
}

extension ConfigurationError {
    /// What is wrong, in one sentence for people.
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
