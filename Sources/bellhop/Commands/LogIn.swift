import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore

struct LogIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Ask for a connection's login, try it, and store it in the keychain.",
        discussion: """
            For connections with `auth: {keychain: true}`, and for `oauth` with the grant authorization_code, where a person \
            agrees in a browser. Any other login in bellhop.yaml is only tried. The password is asked for without being shown. \
            If an account has several enterprises or sites (kind eto), they are listed to choose from. If standard input is not \
            a terminal, its lines are the user name (unless --user gives it), the password, and the choices. A refused login is \
            not stored, and the login stored before stays. A running agent uses the new login at once, even if the server \
            refused it before.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var options: KeychainOptions

    @Option(help: "The user name.")
    var user: String?

    @Option(help: "Log in with OAuth in a browser, with this client ID. Asks for the client's secret.")
    var clientId: String?

    @Flag(help: "Paste the address at which the browser ends, if no browser can reach this machine.")
    var paste = false

    @Argument(help: "The connection's name in bellhop.yaml.")
    var connection: String

    func validate() throws {
        if user != nil, clientId != nil || paste {
            throw ValidationError(
                "Give either --user, for a login with a password, or --client-id and --paste, for one in a browser.")
        }
    }

    func run() async throws {
        let configuration = try await config.load(focus: .connection(connection))
        guard let entry = configuration.connection(connection) else {
            let names = configuration.connections.map(\.name)
            throw CommandError(.usage, Suggestion.unknown("connection", connection, among: names))
        }
        switch Catalogue.login(ofKind: entry.kind, entry.settings) {
        case .none(let why):
            throw CommandError(.usage, "The connection `\(connection)` has no login to try or to store: \(why).")
        case .browser:
            guard user == nil, clientId == nil else {
                throw CommandError(
                    .usage, "bellhop.yaml names the client with which `\(connection)` logs in: leave out --user and --client-id.")
            }
            try await authorize(configuration)
        case .configured: try await tryConfigured(configuration, entry)
        case .prompt:
            if let clientId {
                guard Self.canAuthorize(entry) else {
                    throw CommandError(
                        .usage, "A connection of kind \(entry.kind) logs in with a name and a password, without a client.")
                }
                return try await authorize(configuration, asClient: clientId)
            }
            if paste { throw CommandError(.usage, "--paste is for a login in a browser: give --client-id, too.") }
            try await askAndStore(configuration, entry)
        }
    }

    /// Whether connections of this kind can log in by OAuth in a browser.
    private static func canAuthorize(_ entry: Configuration.ConnectionEntry) -> Bool {
        let oauth: JSON = ["oauth": ["grant": .string(OAuthSettings.GrantName.authorizationCode.rawValue)]]
        return Catalogue.login(ofKind: entry.kind, Settings(["auth": oauth])) == .browser
    }

    private func askAndStore(_ configuration: Configuration, _ entry: Configuration.ConnectionEntry) async throws(CommandError) {
        var given = self.user
        if given == nil { given = try Console.ask("User name: ") }
        guard let user = given, !user.isEmpty, let password = try Console.askSecretLine("Password: "), !password.isEmpty
        else { throw CommandError(.usage, "No user name or no password was given, so nothing was stored.") }
        var choices = LoginChoices(entry)
        let attempted: (trial: LoginTrial, place: String?)
        do throws(CommandError) {
            attempted = try await attempt((user, password), configuration, &choices, notebook: NoOpSink())
        } catch {
            guard error.code == .loginRefused, let message = error.message else { throw error }
            throw CommandError(.loginRefused, "\(message) Nothing was stored.")
        }
        let (trial, place) = attempted
        let nonce = Hexadecimal.random()
        let keychain = try config.keychain(toStore: options)
        var before: Keychain.Login?
        try rethrowing(as: CommandError.init) { () throws(SecretError) in
            before = try keychain.login(connection)
            try keychain.setLogin(
                connection,
                to: Keychain.Login(username: user, password: password, nonce: nonce, place: place, choices: choices.open))
            try keychain.setTokens(connection, to: nil)
        }
        Console.sentence("Logged in as \((trial.user ?? user).singleLine); stored in \(keychain.path).")
        if let before, before.username != user || before.place != place {
            let whose = before.place.map { "\(before.username) at \($0)" } ?? before.username
            Console.sentence("It replaces the login of \(whose.singleLine).")
        }
        try config.informAgent(.login(connection), options)
        choices.report()
    }

    /// Tries the login in bellhop.yaml. The store records the result, which replaces an earlier refusal.
    private func tryConfigured(
        _ configuration: Configuration, _ entry: Configuration.ConnectionEntry
    ) async throws(CommandError) {
        guard user == nil, clientId == nil, !paste, !options.shared else {
            let isStorable = Catalogue.login(ofKind: entry.kind, Settings(["auth": ["keychain": true]])) == .prompt
            let way =
                isStorable
                ? "write `auth: {keychain: true}` to store one here" : "logins of its kind cannot be stored in the keychain"
            throw CommandError(.usage, "The connection `\(connection)` has its login in bellhop.yaml; \(way).")
        }
        // Without a store, there is no earlier refusal.
        let notebook: any Notebook =
            Files.exist(configuration.store)
            ? CommandNotes(store: configuration.store, environment: config.environment) : NoOpSink()
        var choices = LoginChoices(entry)
        let trial = try await attempt(nil, configuration, &choices, notebook: notebook).trial
        Console.sentence(Self.words(trial, "the login in bellhop.yaml") + " Nothing was stored.")
        choices.report()
        // A running agent retries a refused login only after a command has informed it.
        try config.informAgent(ofTriedLogin: connection)
    }

    /// The result of trying a login, as a sentence.
    static func words(_ trial: LoginTrial, _ what: String) -> String {
        let user = trial.user.map { " as \($0.singleLine)" } ?? ""
        if let doubt = trial.doubt {
            let end = doubt.hasSuffix(".") ? "" : "."
            return "The system does not reject \(what)\(user), but does not confirm it either. \(doubt.visible)\(end)"
        }
        return trial.user == nil ? "Accepted: \(what)." : "Logged in\(user) with \(what)."
    }

    /// Tries a given login, or the login of the configuration, after a person has made all choices.
    private func attempt(
        _ login: (username: String, password: String)?, _ configuration: Configuration, _ choices: inout LoginChoices,
        notebook: any Notebook
    ) async throws(CommandError) -> (trial: LoginTrial, place: String?) {
        var connectors = try await connectors(configuration, notebook: notebook, login: login, tokens: configuration.keychain)
        do throws(CommandError) {
            try await choices.ask(connectors)
            if !choices.lines.isEmpty {
                await connectors.shutdown()
                connectors = try await self.connectors(
                    configuration.with(choices.entry), notebook: notebook, login: login, tokens: configuration.keychain)
            }
            let trial = try await verify(connectors, configuration)
            let place = connectors.origin(connection: connection)
            await connectors.shutdown()
            return (trial, place)
        } catch {
            await connectors.shutdown()
            throw error
        }
    }

    func verify(_ connectors: Connectors, _ configuration: Configuration) async throws(CommandError) -> LoginTrial {
        let sources = configuration.sources.filter { $0.connection == connection }.map {
            ConnectionNeeds.SourceNeed(name: $0.name, kind: $0.kind, settings: $0.settings, schema: TaskSchema([]))
        }
        return try await rethrowing(as: { CommandError($0) }) { () async throws(Failure) in
            try await connectors.verifyLogin(connection: connection, ConnectionNeeds(sources: sources))
        }
    }

    func connectors(
        _ configuration: Configuration, notebook: any Notebook, login: (username: String, password: String)?,
        tokens: any TokenStorage
    ) async throws(CommandError) -> Connectors {
        let environment = ConnectorEnvironment(
            clock: SystemClock(), events: NoOpSink(), notebook: notebook, login: { _ in login }, isTrial: login != nil,
            tokens: tokens, baseFolder: configuration.folder, output: { _ in })
        return try await rethrowing(as: { CommandError(.badConfiguration, $0.message) }) { () async throws(ConnectorErrors) in
            try await Connectors(
                connections: configuration.connections.filter { $0.name == connection }.map { ($0.name, $0.kind, $0.settings) },
                sources: [], environment: environment)
        }
    }
}

extension Configuration {
    fileprivate func with(_ entry: ConnectionEntry) -> Configuration {
        var copy = self
        if let place = connections.firstIndex(where: { $0.name == entry.name }) { copy.connections[place] = entry }
        return copy
    }
}
