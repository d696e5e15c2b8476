import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore

struct SecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Keep secrets for `${{ secret.NAME }}` in the keychain.",
        discussion: """
            Each project has its own: the keychain keeps them by the line `project:` of bellhop.yaml. A running agent uses a changed \
            secret of a connection or a source at once, and any other after a restart.
            """,
        subcommands: [SetSecret.self, Generate.self, Names.self, Remove.self])

    struct SetSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Store a secret.",
            discussion: """
                Asks for the secret without showing it. If standard input is not a terminal, the secret is all of it, except the \
                newline at its end.
                """)

        @OptionGroup var config: ConfigOptions
        @OptionGroup var keychain: KeychainOptions

        @Argument(help: "The secret's name.")
        var name: String

        func run() async throws {
            try SecretCommand.checkName(name)
            guard let value = try Console.askSecret("Value of \(name): "), !value.isEmpty else {
                throw CommandError(.usage, "Nothing was given, so nothing was stored.")
            }
            try SecretCommand.store(value, as: name, config, keychain)
        }
    }

    struct Generate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "generate", abstract: "Generate a secret for signing webhooks, and store it.",
            discussion: """
                It is `whsec_` and the Base64 of 32 random bytes, as Standard Webhooks specifies: for the `secret` of a connection of kind \
                webhook. It is printed only with --show, so that you can give it to the receiver.
                """)

        @OptionGroup var config: ConfigOptions
        @OptionGroup var keychain: KeychainOptions

        @Flag(help: "Print it on standard output.")
        var show = false

        @Flag(help: "Replace an existing secret.")
        var replace = false

        @Argument(help: "The secret's name.")
        var name: String

        func run() async throws {
            try SecretCommand.checkName(name)
            let own = try keychain.shared ? config.keychain : config.projectKeychain()
            let names = try rethrowing(as: CommandError.init) { () throws(SecretError) in try own.secretNames() }
            if (own.project == nil ? names.shared : names.own).contains(name), !replace {
                throw CommandError(
                    .problem, "The secret `\(name)` exists already, and receivers may use it: --replace replaces it.")
            }
            let secret = WebhookSigner.makeSecret()
            try SecretCommand.store(secret, as: name, config, keychain)
            if show { return Console.data(secret) }
            Console.sentence("It was not printed: --show prints a secret when it is generated, for the receiver.")
        }
    }

    struct Names: DataCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the names of the secrets that are stored; never their values.")

        @OptionGroup var config: ConfigOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let keychain = try config.projectKeychain()
            let names = try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.secretNames() }
            let all = (names.own.map { ($0, false) } + names.shared.map { ($0, true) }).sorted { $0.0 < $1.0 }
            if output.json {
                let list = all.map { name, isShared -> JSON in ["name": .string(name), "shared": .bool(isShared)] }
                return Console.json(["secrets": .array(list)])
            }
            if !Files.exist(config.config) {
                Console.note("There is no \(config.config.visible) here, so only the secrets that all projects share are listed.")
            }
            if all.isEmpty { return Console.note("No secrets are stored: `bellhop secret set NAME` stores one.") }
            for (name, isShared) in all { Console.data(isShared ? "\(name)  (shared)" : name) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a secret.")

        @OptionGroup var config: ConfigOptions
        @OptionGroup var options: KeychainOptions

        @Argument(help: "The secret's name.")
        var name: String

        func run() async throws {
            let keychain = try options.shared ? config.keychain : config.projectKeychain()
            let names = try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.secretNames() }
            let own = options.shared ? names.shared : names.own
            guard own.contains(name) else {
                if names.shared.contains(name) {
                    throw CommandError(.problem, "The secret `\(name)` is shared by your projects: use --shared to remove it.")
                }
                let help = Suggestion.didYouMean(name, among: own).map { ": \($0)" } ?? "."
                throw CommandError(.problem, "There is no secret `\(name.visible)`\(help)")
            }
            try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.setSecret(name, to: nil) }
            Console.sentence("Removed from \(keychain.path).")
            try config.informAgent(.secret(name), options)
        }
    }

    private static func checkName(_ name: String) throws(CommandError) {
        guard Keychain.isSecretName(name) else {
            throw CommandError(
                .usage,
                "`\(name.visible)` is not a valid name for a secret: use letters, digits, `_`, `-` and inner dots, as in `ops_url`."
            )
        }
    }

    /// Stores a secret, says where, and informs the running agent.
    private static func store(
        _ value: String, as name: String, _ config: ConfigOptions, _ options: KeychainOptions
    ) throws(CommandError) {
        let section = try config.keychain(toStore: options)
        let isThere = try rethrowing(as: CommandError.init) { () throws(SecretError) in
            let names = try section.secretNames()
            try section.setSecret(name, to: value)
            return (options.shared ? names.shared : names.own).contains(name)
        }
        Console.sentence("Stored in \(section.path)\(isThere ? ", replacing the previous value" : "").")
        try config.informAgent(.secret(name), options)
    }
}
