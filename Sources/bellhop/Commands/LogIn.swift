import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopStore

struct LogIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Ask for a connection's login, try it, and store it in the keychain.",
        discussion: """
            For connections with `auth: {keychain: true}`. The password is asked for without being shown; where standard input is no
            terminal, its lines are the user name (unless --user gives it) and the password. A login that is refused is not stored,
            and what was stored before stays.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "The user name.")
    var user: String?

    @Argument(help: "The connection's name in bellhop.yaml.")
    var connection: String

    func run() async throws {
        let configuration = try await config.load(focus: .connection(connection))
        let names = configuration.connections.map(\.name)
        guard let entry = configuration.connection(connection) else {
            let help = Suggestion.didYouMean(connection, among: names) ?? "there is \(names.joined(separator: ", "))"
            throw Trouble(.usage, "There is no connection `\(connection)`: \(help)")
        }
        guard entry.settings.record("auth")?.boolean("keychain") == true else {
            throw Trouble(
                .usage,
                "The connection `\(connection)` has its login in bellhop.yaml; write `auth: {keychain: true}` to store it here.")
        }
        guard let user = user ?? Console.ask("User name: "), !user.isEmpty,
            let password = Console.askSecret("Password: "), !password.isEmpty
        else { throw Trouble(.usage, "No user name or no password was given, so nothing was stored.") }
        let name = try await attempt(Keychain.Login(username: user, password: password), configuration)
        do throws(SecretError) {
            try config.keychain.setLogin(connection, to: Keychain.Login(username: user, password: password))
        } catch {
            throw Trouble(error)
        }
        Console.note("Logged in as \(name.singleLine); stored in \(config.keychain.path).")
    }

    /// Tries a login that is not stored yet. The name of the user.
    private func attempt(_ login: Keychain.Login, _ configuration: Configuration) async throws(Trouble) -> String {
        let environment = ConnectorEnvironment(
            clock: SystemClock(), events: Deaf(), notebook: Deaf(),
            login: { _ in (login.username, login.password) }, baseFolder: configuration.folder, output: { _ in })
        let connectors: Connectors
        do throws(ConnectorErrors) {
            connectors = try await Connectors(
                connections: configuration.connections.filter { $0.name == connection }.map { ($0.name, $0.kind, $0.settings) },
                sources: [], environment: environment)
        } catch {
            throw Trouble(.badConfiguration, error.message)
        }
        do throws(Failure) {
            let name = try await connectors.verifyLogin(connection: connection)
            await connectors.shutdown()
            return name
        } catch {
            await connectors.shutdown()
            throw Trouble(error)
        }
    }
}
