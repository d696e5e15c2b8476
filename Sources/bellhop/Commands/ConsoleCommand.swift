import ArgumentParser
import BellhopAgent
import BellhopCore

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console", abstract: "Manage the tokens of the console's users.",
        discussion: """
            The console listens where `console` in bellhop.yaml says. Users log in with a token: one that bellhop.yaml names, or one \
            that this command makes.
            """,
        subcommands: [TokenCommand.self])
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Add, list and remove tokens of the console.",
        subcommands: [TokenAdd.self, TokenList.self, TokenRemove.self], defaultSubcommand: TokenList.self)
}

struct TokenAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Make a token, and print it.",
        discussion: """
            The token is printed once: the store keeps only its hash. It works at once, also in a running agent. A token of the same \
            name is replaced.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "What the user may do: look (viewer), act (operator), or also change rules (admin).")
    var role = Role.viewer

    enum Role: String, ExpressibleByArgument, CaseIterable { case viewer, `operator`, admin }

    @Argument(help: "The name of the user, for the audit.")
    var name: String

    func validate() throws {
        if let refusal = ConsoleToken.refusal(of: name) { throw ValidationError(refusal) }
    }

    func run() async throws {
        let link = try config.storeLink()
        if let refusal = ConsoleToken.refusal(of: name, users: link.users) { throw CommandError(.usage, refusal) }
        let token = ConsoleToken.random()
        _ = try await link.answer(
            .addToken(
                ConsoleToken(
                    name: name, role: ConsoleRole(rawValue: role.rawValue) ?? .viewer, hash: ConsoleToken.hash(of: token),
                    created: SystemClock().now)))
        Console.data(token)
    }
}

struct TokenList: DataCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the tokens, without their values.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let link = try config.storeLink()
        let tokens = try await link.answer(.tokens)["tokens"].elements
        if output.json { return Console.json(["tokens": .array(tokens)]) }
        if tokens.isEmpty { return Console.note("There are no tokens: `bellhop console token add NAME` makes one.") }
        var table = Table([.init("NAME"), .init("ROLE"), .init("CREATED", rank: 1)])
        for token in tokens {
            table.add([token["name"].textOrEmpty, token["role"].textOrEmpty, token["created"].words(in: link.zone)])
        }
        table.print()
    }
}

struct TokenRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a token: its user is logged out.")

    @OptionGroup var config: ConfigOptions

    @Argument(help: "The token's name.")
    var name: String

    func run() async throws {
        let answer = try await config.storeLink().answer(.removeToken(of: name))
        guard answer["changed"] == true else {
            throw CommandError(.problem, "There is no token `\(name.visible)`: `bellhop console token list` shows them.")
        }
        Console.sentence("The token `\(name.visible)` is removed: nobody can log in with it any more.")
    }
}
