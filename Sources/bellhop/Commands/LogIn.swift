import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopStore

struct LogIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Ask for a connection's login, try it, and store it in the keychain.",
        discussion: """
            For connections with `auth: {keychain: true}`, and for `oauth` with the grant authorization_code, where a person agrees in a
            browser; any other login in bellhop.yaml is only tried. The password is asked for without being shown; where standard input is no
            terminal, its lines are the user name (unless --user gives it) and the password. A login that is refused is not stored,
            and what was stored before stays. One that works
            is tried by the agent again, also when the server refused it before.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "The user name.")
    var user: String?

    @Option(help: "Log in by OAuth with this client, and a browser; its secret is asked for.")
    var clientId: String?

    @Flag(help: "Paste what the browser was led to, where no browser reaches this machine.")
    var paste = false

    @Argument(help: "The connection's name in bellhop.yaml.")
    var connection: String

    func run() async throws {
        var configuration = try await config.load(focus: .connection(connection))
        let names = configuration.connections.map(\.name)
        guard let entry = configuration.connection(connection) else {
            let help = Suggestion.didYouMean(connection, among: names) ?? "there is \(names.joined(separator: ", "))"
            throw Trouble(.usage, "There is no connection `\(connection)`: \(help)")
        }
        var eto = ETOLogIn(entry)
        guard let auth = entry.settings.record("auth") ?? (["eto", "mobilefirst"].contains(entry.kind) ? Settings() : nil) else {
            throw Trouble(.usage, "The connection `\(connection)` is of a kind that has no login.")
        }
        if Workplace.needsAgreement(entry) { return try await agree(configuration) }
        guard auth.boolean("keychain") == true || eto?.usesKeychain == true else {
            try await eto?.choose(nil, folder: configuration.folder)
            try await tryConfigured(configuration.with(eto?.entry))
            eto?.report()
            return
        }
        if let clientId { return try await agree(configuration, asClient: clientId) }
        guard let user = user ?? Console.ask("User name: "), !user.isEmpty,
            let password = Console.askSecret("Password: "), !password.isEmpty
        else { throw Trouble(.usage, "No user name or no password was given, so nothing was stored.") }
        try await eto?.choose((user, password), folder: configuration.folder)
        configuration = configuration.with(eto?.entry)
        let (name, place) = try await attempt((user, password), configuration, notebook: Deaf())
        let nonce = String(UInt64.random(in: .min ... .max), radix: 16)
        var before: Keychain.Login?
        do throws(SecretError) {
            before = try config.keychain.login(connection)
            try config.keychain.setLogin(
                connection, to: Keychain.Login(username: user, password: password, nonce: nonce, place: place))
            try config.keychain.setTokens(connection, to: nil)
        } catch {
            throw Trouble(error)
        }
        Console.note("Logged in as \(name.singleLine); stored in \(config.keychain.path).")
        if let before, before.username != user || before.place != place {
            let whose = before.place.map { "\(before.username) at \($0)" } ?? before.username
            Console.note("It takes the place of the login of \(whose.singleLine).")
        }
        eto?.report()
    }

    /// Tries the login that bellhop.yaml has. The store learns how it went, so that an agent does not go by an earlier refusal.
    private func tryConfigured(_ configuration: Configuration) async throws(Trouble) {
        guard user == nil else {
            throw Trouble(
                .usage,
                "The connection `\(connection)` has its login in bellhop.yaml; write `auth: {keychain: true}` to store one here.")
        }
        var store: SQLiteStore?
        var agentRuns = false
        do throws(StoreError) {
            if Files.exist(configuration.store) { store = try SQLiteStore.open(path: configuration.store) }
        } catch {
            guard error.kind == .busy else { throw Trouble(error) }
            agentRuns = true
        }
        let name: String
        do throws(Trouble) {
            name = try await attempt(nil, configuration, notebook: store ?? Deaf()).name
        } catch {
            try await close(store)
            throw error
        }
        try await close(store)
        Console.note("Logged in as \(name.singleLine) with the login in bellhop.yaml; nothing was stored.")
        if agentRuns {
            throw Trouble(
                .tryLater,
                "An agent runs, and does not try again what it was refused: if it was, stop it, run `bellhop login \(connection)`, "
                    + "and start it again.")
        }
    }

    private func close(_ store: SQLiteStore?) async throws(Trouble) {
        do throws(StoreError) {
            try await store?.close()
        } catch {
            throw Trouble(error)
        }
    }

    /// Tries a login that is not stored yet, or the one of the configuration. The name of the user.
    private func attempt(
        _ login: (username: String, password: String)?, _ configuration: Configuration, notebook: any Notebook
    ) async throws(Trouble) -> (name: String, place: String?) {
        let connectors = try await connectors(configuration, notebook: notebook, login: login, tokens: config.keychain)
        do throws(Failure) {
            let name = try await connectors.verifyLogin(connection: connection)
            await connectors.shutdown()
            return (name, connectors.origin(connection: connection))
        } catch {
            await connectors.shutdown()
            throw Trouble(error)
        }
    }

    /// The connection alone.
    func connectors(
        _ configuration: Configuration, notebook: any Notebook, login: (username: String, password: String)?,
        tokens: any TokenKeeper
    ) async throws(Trouble) -> Connectors {
        let environment = ConnectorEnvironment(
            clock: SystemClock(), events: Deaf(), notebook: notebook, login: { _ in login }, tokens: tokens,
            baseFolder: configuration.folder, output: { _ in })
        do throws(ConnectorErrors) {
            return try await Connectors(
                connections: configuration.connections.filter { $0.name == connection }.map { ($0.name, $0.kind, $0.settings) },
                sources: [], environment: environment)
        } catch {
            throw Trouble(.badConfiguration, error.message)
        }
    }
}

extension Configuration {
    /// The same with another entry for a connection.
    fileprivate func with(_ entry: ConnectionEntry?) -> Configuration {
        var copy = self
        if let entry, let place = connections.firstIndex(where: { $0.name == entry.name }) { copy.connections[place] = entry }
        return copy
    }
}
