import BellhopAgent
import BellhopConnectors
import BellhopCore
import Glibc

/// What `bellhop login` does besides for a connection of kind `eto`: lists the account's enterprises and sites, lets one choose, and says
/// what to write in bellhop.yaml.
struct ETOLogIn {
    /// The connection's entry; its settings get what is chosen.
    var entry: Configuration.ConnectionEntry
    /// What is to be written under the connection.
    private(set) var lines: [String] = []

    /// Nil for a connection of another kind.
    init?(_ entry: Configuration.ConnectionEntry) {
        guard entry.kind == ETOConnection.manifest.kind else { return nil }
        self.entry = entry
    }

    /// Whether the login is the keychain's: so it is unless bellhop.yaml has one.
    var usesKeychain: Bool { entry.settings.record("auth")?.record("basic") == nil }

    /// Logs in with this login, or the one in bellhop.yaml, and chooses what bellhop.yaml does not say.
    mutating func choose(_ login: (username: String, password: String)?, folder: String) async throws(Trouble) {
        let environment = ConnectorEnvironment(
            clock: SystemClock(), events: Deaf(), notebook: Deaf(), login: { _ in login }, baseFolder: folder, output: { _ in })
        let connectors: Connectors
        do throws(ConnectorErrors) {
            connectors = try await Connectors(
                connections: [(entry.name, entry.kind, entry.settings)], sources: [], environment: environment)
        } catch {
            throw Trouble(.badConfiguration, error.message)
        }
        guard let connection = connectors.connection(entry.name, as: ETOConnection.self) else {
            preconditionFailure("a connection of kind eto is one")
        }
        do throws(Failure) {
            let enterprises = try await connection.enterprises()
            let enterprise = try pick("enterprise", from: enterprises)
            let sites = try await connection.sites(of: enterprise)
            _ = try pick("site", from: sites)
            await connectors.shutdown()
        } catch {
            await connectors.shutdown()
            throw Trouble(error)
        }
    }

    /// What to write, for whoever had to choose.
    func report() {
        guard !lines.isEmpty else { return }
        Console.note("Write this under `\(entry.name)` in bellhop.yaml:")
        for line in lines { Console.data(line) }
    }

    private mutating func pick(_ setting: String, from choices: [ETOChoice]) throws(Failure) -> ETOChoice {
        if let wanted = entry.settings.text(setting) { return try Self.configured(wanted, setting, from: choices) }
        guard !choices.isEmpty else { throw Failure(.forbidden, .giveUp, "This account has no \(setting) to choose.") }
        var choice = choices[0]
        if choices.count > 1 {
            let width = String(choices.count).count
            for (number, choice) in choices.enumerated() {
                let place = String(number + 1)
                let key = setting == "site" ? " (\(choice.key.singleLine))" : ""
                Console.note(String(repeating: " ", count: width - place.count) + "\(place)  \(choice.name.singleLine)\(key)")
            }
            guard isatty(STDIN_FILENO) == 1 else {
                throw Failure(.badArguments, .giveUp, "There are several: write one as `\(setting)` in bellhop.yaml.")
            }
            let answer = Console.ask("Which \(setting) (1 to \(choices.count))? ").flatMap { Int($0) }
            guard let answer, choices.indices.contains(answer - 1) else {
                throw Failure(.badArguments, .giveUp, "No \(setting) was chosen, so nothing was stored.")
            }
            choice = choices[answer - 1]
        }
        // A name that is there twice, or could be read as something else, needs the key.
        let isPlain = choices.count { $0.name == choice.name } == 1 && Int64(choice.name) == nil && !choice.name.isEmpty
        let value = setting == "site" || !isPlain ? choice.key : choice.name
        lines.append("    \(setting): \(JSON.string(value).text)" + (value == choice.name ? "" : "  # \(choice.name.singleLine)"))
        entry.settings.values[setting] = .string(value)
        return choice
    }

    private static func configured(
        _ wanted: String, _ setting: String, from choices: [ETOChoice]
    ) throws(Failure) -> ETOChoice {
        let wanted = wanted.lowercased()
        if let choice = choices.first(where: { $0.key.lowercased() == wanted || $0.name.lowercased() == wanted }) {
            return choice
        }
        throw Failure(
            .forbidden, .giveUp,
            "This account has no such `\(setting)` as bellhop.yaml says; there is \(choices.map(\.name.singleLine).joined(separator: ", "))."
        )
    }
}
