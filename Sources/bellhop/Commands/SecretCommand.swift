import ArgumentParser
import BellhopAgent
import BellhopCore
import Glibc

struct SecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Keep secrets for `${{ secret.NAME }}` in the keychain.",
        subcommands: [SetSecret.self, Names.self, Remove.self])

    struct SetSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Store a secret.",
            discussion: "Asks for it without showing it; where standard input is no terminal, its first line is the secret.")

        @OptionGroup var config: ConfigOptions

        @Argument(help: "The secret's name.")
        var name: String

        func run() async throws {
            guard Keychain.isSecretName(name) else {
                throw Trouble(
                    .usage,
                    "`\(name.visible)` cannot be the name of a secret: letters, digits, `_`, `-` and inner dots can, as in `ops_url`."
                )
            }
            guard let value = Console.askSecretLine("Value of \(name): "), !value.isEmpty else {
                throw Trouble(.usage, "Nothing was given, so nothing was stored.")
            }
            let isThere = try SecretCommand.change { () throws(SecretError) in
                let isThere = try config.keychain.secret(name) != nil
                try config.keychain.setSecret(name, to: value)
                return isThere
            }
            Console.note("Stored in \(config.keychain.path)\(isThere ? ", in the place of what was there" : "").")
        }
    }

    struct Names: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the names of the secrets that are stored; never their values.")

        @OptionGroup var config: ConfigOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let names = try SecretCommand.change { () throws(SecretError) in try config.keychain.secretNames() }
            if output.json { return Console.json(.array(names.map(JSON.string))) }
            for name in names { Console.data(name) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Forget a secret.")

        @OptionGroup var config: ConfigOptions

        @Argument(help: "The secret's name.")
        var name: String

        func run() async throws {
            let names = try SecretCommand.change { () throws(SecretError) in try config.keychain.secretNames() }
            guard names.contains(name) else {
                let help = Suggestion.didYouMean(name, among: names).map { ": \($0)" } ?? "."
                throw Trouble(.problem, "There is no secret `\(name)`\(help)")
            }
            try SecretCommand.change { () throws(SecretError) in try config.keychain.setSecret(name, to: nil) }
        }
    }

    static func change<Value>(_ work: () throws(SecretError) -> Value) throws(Trouble) -> Value {
        do throws(SecretError) { return try work() } catch { throw Trouble(error) }
    }
}
