import BellhopAgent
import BellhopConnectors
import BellhopConsole
import BellhopCore
import BellhopRules

/// The context for checking rules: what the configuration and its connectors define, or no configuration at all.
struct Workspace {
    var rulePaths: [String]
    var hasDefaultRules: Bool
    var context: RuleContext

    /// Warnings about logins that only a running agent needs, and about holidays.
    var warnings = Diagnostics()

    /// - Parameters:
    ///   - mayLackConfiguration: true if the command can work without bellhop.yaml.
    ///   - focus: how much of bellhop.yaml must be valid.
    static func open(
        _ config: ConfigOptions, mayLackConfiguration: Bool, focus: ConfigurationLoader.Focus = .everything
    ) async throws(CommandError) -> Workspace {
        if mayLackConfiguration, config.config == "bellhop.yaml", !Files.exist(config.config) {
            return Workspace(rulePaths: ["rules"], hasDefaultRules: true, context: RuleLoading.openContext())
        }
        let configuration = try await config.load(focus: focus)
        if focus == .everything {
            let problems = ServerCertificate.diagnostics(configuration)
            if problems.hasErrors { throw CommandError(problems) }
        }
        var needed = configuration
        if focus == .shape {
            // Checking rules needs only the receivers' names, so their settings and logins may be missing.
            needed.connections.removeAll { connection in !configuration.sources.contains { $0.connection == connection.name } }
        }
        let notes = StoredNotes(path: configuration.store)
        let connectors = try await connectors(needed, notebook: notes, hasPlaceholders: focus == .shape) {
            .init(username: "nobody-\($0)", password: "none")
        }
        await connectors.prepare(offline: true)
        await connectors.shutdown()
        await notes.close()
        let now = SystemClock().now
        let calendars = try rethrowing(as: CommandError.init) { () throws(Diagnostics) in
            try CalendarEntry.read(configuration.calendars, at: now)
        }
        return Workspace(
            rulePaths: configuration.rules, hasDefaultRules: configuration.rules == [configuration.folder + "rules"],
            context: RuleLoading.context(configuration, sources: connectors.sources, calendars: calendars),
            warnings: Diagnostics(
                try missingForRunning(of: configuration).all
                    + CalendarEntry.outdated(configuration.calendars, calendars, at: now)))
    }

    /// Compiles the condition of `--where`; nil without one.
    static func condition<Condition>(
        _ text: String?, _ config: ConfigOptions, _ compile: (String, RuleContext) throws(Diagnostics) -> Condition
    ) async throws(CommandError) -> Condition? {
        guard let text else { return nil }
        let context = try await open(config, mayLackConfiguration: true, focus: .shape).context
        do throws(Diagnostics) { return try compile(text, context) } catch { throw CommandError(error) }
    }

    /// The rules of the present files.
    /// - Parameter toExplain: whether conditions explain the values of their parts.
    func book(toExplain: Bool = false) async throws(CommandError) -> RuleBook {
        try await book(RuleFinder.find(rulePaths, isImplicit: hasDefaultRules), toExplain: toExplain)
    }

    /// The rules of other files and folders.
    func book(of paths: [String]) async throws(CommandError) -> RuleBook { try await book(RuleFinder.find(paths)) }

    private func book(_ found: RuleFinder.Found, toExplain: Bool = false) async throws(CommandError) -> RuleBook {
        try await rethrowing(as: CommandError.init) { () async throws(Diagnostics) in
            try await RuleLoading.book(found, context: context, toExplain: toExplain).book
        }
    }

    /// The connectors of a configuration, for a command that runs without an agent.
    /// - Parameter login: the placeholder for a login that is not stored.
    static func connectors(
        _ configuration: Configuration, notebook: any Notebook, hasPlaceholders: Bool = false,
        login: @escaping @Sendable (String) -> Keychain.Login? = { _ in nil }
    ) async throws(CommandError) -> Connectors {
        let keychain = configuration.keychain
        return try await rethrowing(as: CommandError.init) { () async throws(AssemblyError) in
            try await Assembly.connectors(
                configuration, clock: SystemClock(), events: NoOpSink(), notebook: notebook, output: { _ in },
                login: { try keychain.login($0) ?? login($0) }, tokens: keychain, hasPlaceholders: hasPlaceholders)
        }
    }

    /// Warnings about what only a running agent needs: missing logins, and login choices that bellhop.yaml lacks.
    static func missingForRunning(of configuration: Configuration) throws(CommandError) -> Diagnostics {
        let logins = try missingLogins(configuration).map { name in
            Diagnostic(
                .warning, code: "no-login", "the login of connection `\(name)` is not stored yet",
                help: "run `bellhop login \(name)`")
        }
        var choices: [Diagnostic] = []
        for connection in configuration.connections where Catalogue.login(ofKind: connection.kind, connection.settings) == .prompt
        {
            let login = try rethrowing(as: CommandError.init) { () throws(SecretError) in
                try configuration.keychain.login(connection.name)
            }
            for (setting, value) in login?.choices ?? [:] where connection.settings.values[setting] == nil {
                choices.append(
                    Diagnostic(
                        .warning, code: "missing-choice",
                        "the account of connection `\(connection.name)` has several of `\(setting)`, "
                            + "but bellhop.yaml does not name one",
                        help: "write `\(setting): \(value.text)` under `\(connection.name)`, which was chosen by `bellhop login`")
                )
            }
        }
        return Diagnostics(logins + choices)
    }

    static func requireLogins(_ configuration: Configuration) throws(CommandError) {
        guard let missing = try missingLogins(configuration).first else { return }
        throw CommandError(
            .loginRefused, "The login of connection `\(missing)` is not stored yet: run `bellhop login \(missing)`.")
    }

    static func missingLogins(_ configuration: Configuration) throws(CommandError) -> [String] {
        let keychain = configuration.keychain
        var missing: [String] = []
        for connection in configuration.connections {
            let way = Catalogue.login(ofKind: connection.kind, connection.settings)
            guard way.isStored else { continue }
            let isThere = try rethrowing(as: CommandError.init) { () throws(SecretError) -> Bool in
                let tokens = try keychain.storedTokens(connection.name)
                if way == .browser { return tokens != nil }
                let login = try keychain.login(connection.name)
                return login != nil || tokens?.client != nil
            }
            if !isThere { missing.append(connection.name) }
        }
        return missing
    }
}
