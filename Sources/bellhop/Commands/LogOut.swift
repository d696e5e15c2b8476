import ArgumentParser
import BellhopAgent
import BellhopCore

struct LogOut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Remove a connection's login from the keychain.",
        discussion: """
            A running agent stops using it at once: it reads and sends nothing on the connection until there is another login. \
            The remote system is not informed: if it has issued tokens, revoke them there.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var options: KeychainOptions

    @Argument(help: "The connection's name in bellhop.yaml.")
    var connection: String

    func run() async throws {
        let keychain = try options.shared ? config.keychain : config.projectKeychain()
        let isThere = try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.logOut(of: connection) }
        guard isThere else {
            let isShared = try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.isShared(connection) }
            throw CommandError(
                .problem,
                isShared && !options.shared
                    ? "The login of `\(connection.visible)` is shared by your projects: use --shared to remove it."
                    : "No login of a connection `\(connection.visible)` is stored.")
        }
        Console.sentence("Removed the login of `\(connection.visible)` from \(keychain.path).")
        try config.informAgent(.login(connection), options)
    }
}
