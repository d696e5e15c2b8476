import BellhopAgent
import BellhopConnectors
import BellhopCore

/// The context of commands that check rules: a configuration with its connectors, or nothing.
struct Workplace {
    var rulePaths: [String]
    var hasDefaultRules: Bool
    var surroundings: RuleSurroundings

    /// What is missing but needed only for running.
    var warnings = Diagnostics()

    /// - Parameters:
    ///   - mayLackConfiguration: true if the command can work without bellhop.yaml.
    ///   - focus: how much of bellhop.yaml must be valid.
    static func open(
        _ config: ConfigOptions, mayLackConfiguration: Bool, focus: ConfigurationLoader.Focus = .everything
    ) async throws(Trouble) -> Workplace {
        if mayLackConfiguration, config.config == "bellhop.yaml", !Files.exist(config.config) {
            return Workplace(rulePaths: ["rules"], hasDefaultRules: true, surroundings: RuleLoading.openSurroundings())
        }
        let configuration = try await config.load(focus: focus)
        var needed = configuration
        if focus == .shape {
            // A receiver is only a name here: what its use needs may be missing.
            needed.connections.removeAll { connection in !configuration.sources.contains { $0.connection == connection.name } }
        }
        let notes = StoredNotes(path: configuration.store)
        let connectors: Connectors
        do throws(AssemblyError) {
            connectors = try await Assembly.connectors(
                needed, clock: SystemClock(), events: NoOpSink(), notebook: notes, output: { _ in },
                login: { [keychain = configuration.keychain] connection in
                    try keychain.login(connection) ?? .init(username: "nobody-\(connection)", password: "none")
                },
                tokens: configuration.keychain, hasPlaceholders: focus == .shape)
        } catch {
            throw Trouble(error)
        }
        await connectors.prepare(offline: true)
        let surroundings = RuleLoading.surroundings(configuration, sources: connectors.sources)
        await connectors.shutdown()
        await notes.close()
        return Workplace(
            rulePaths: configuration.rules, hasDefaultRules: configuration.rules == [configuration.folder + "rules"],
            surroundings: surroundings, warnings: try doubts(of: configuration))
    }

    /// What a configuration lacks only for running: logins that are not stored, and login choices that are not written in
    /// bellhop.yaml.
    static func doubts(of configuration: Configuration) throws(Trouble) -> Diagnostics {
        let logins = try missingLogins(configuration).map { name in
            Diagnostic(
                .warning, code: "no-login", "the login of connection `\(name)` is not stored yet",
                help: "run `bellhop login \(name)`")
        }
        var choices: [Diagnostic] = []
        for connection in configuration.connections where Catalogue.login(ofKind: connection.kind, connection.settings) == .asked
        {
            let login = try SecretCommand.keychain { () throws(SecretError) in
                try configuration.keychain.login(connection.name)
            }
            for (setting, value) in login?.choices ?? [:] where connection.settings.values[setting] == nil {
                choices.append(
                    Diagnostic(
                        .warning, code: "missing-choice",
                        "the account of connection `\(connection.name)` has several of `\(setting)`, and bellhop.yaml names none",
                        help: "write `\(setting): \(value.text)` under `\(connection.name)`, which was chosen by `bellhop login`")
                )
            }
        }
        return Diagnostics(logins + choices)
    }

    /// Connections whose login is not stored yet.
    static func missingLogins(_ configuration: Configuration) throws(Trouble) -> [String] {
        let keychain = configuration.keychain
        var missing: [String] = []
        for connection in configuration.connections {
            let way = Catalogue.login(ofKind: connection.kind, connection.settings)
            guard way.isStored else { continue }
            let isThere = try SecretCommand.keychain { () throws(SecretError) -> Bool in
                let tokens = try keychain.storedTokens(connection.name)
                if way == .agreed { return tokens != nil }
                let login = try keychain.login(connection.name)
                return login != nil || tokens?.client != nil
            }
            if !isThere { missing.append(connection.name) }
        }
        return missing
    }
}

/// Discards events and notes: for commands that send no requests.
struct NoOpSink: EventSink, Notebook {
    func emit(_ events: [Event]) async {}
    func retry(_ events: [Event], after error: StoreError) {}
    func note(_ key: String) async throws -> JSON? { nil }
    func setNote(_ key: String, to value: JSON?) async throws {}
}
