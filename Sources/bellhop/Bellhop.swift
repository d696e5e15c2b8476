import ArgumentParser
import BellhopAgent
import BellhopCore
import FoundationEssentials
import Glibc

@main
struct Bellhop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bellhop", abstract: "Watches your task tracker and acts on what changes.",
        discussion: """
            Start with `bellhop demo`, or with `bellhop init` in an empty folder.

            Exit codes:
            \(exitCodes.map { "  \($0.code.description.padded(to: 2)) \($0.summary)" }.joined(separator: "\n"))
            """,
        version: BellhopVersion.text,
        subcommands: [
            Initialise.self, LogIn.self, LogOut.self, Check.self, Test.self, Run.self, Demo.self, Status.self, Top.self,
            Events.self, Deliveries.self, PauseCommand.self, Resume.self, SilenceCommand.self, Forget.self, ReplayCommand.self,
            Explain.self, BackTestCommand.self, PlanCommand.self, Render.self, Audit.self, Notify.self, Eval.self, Query.self,
            Doctor.self, ConsoleCommand.self, SecretCommand.self, SchemaCommand.self, CompletionsCommand.self, Simulate.self,
        ])

    private static var exitCodes: [(code: Int32, summary: String)] {
        let others: [(code: Int32, summary: String)] = [(0, "success"), (2, "`bellhop plan` shows a change")]
        let own = CommandError.Code.allCases.map { (code: $0.rawValue, summary: $0.names.summary) }
        return (others + own).sorted { $0.code < $1.code }
    }

    static var commandNames: [String] { configuration.subcommands.map { $0._commandName } }

    /// The error for a first word, or a word after `help`, that is not a command; nil if there is none.
    private static func unknownCommand(_ words: some Collection<String>) -> CommandError? {
        let asksForHelp = words.first == "help"
        var names = commandNames + ["help"]
        var command: any ParsableCommand.Type = Bellhop.self
        for name in asksForHelp ? Array(words.dropFirst()) : Array(words.prefix(1)) where !name.hasPrefix("-") {
            guard names.contains(name) else {
                let hint = "`bellhop --help` lists the commands."
                return CommandError(.usage, Suggestion.unknown("command", name, among: names, otherwise: hint))
            }
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == name }) else { return nil }
            command = next
            names = next.configuration.subcommands.map { $0._commandName }
        }
        return nil
    }

    static func main() async {
        ProcessLimits.occupyStandardDescriptors()
        ProcessLimits.forbidCoreDumps()
        do {
            if let problem = unknownCommand(CommandLine.arguments.dropFirst()) { throw problem }
            let person = Person(command: commandPath, environment: ProcessInfo.processInfo.environment)
            try await Person.$current.withValue(person) { try await perform() }
        } catch let error as CommandError {
            error.print(isForPrograms: asksForJSON)
            exit(withError: ExitCode(error.code.rawValue))
        } catch {
            leave(with: error)
        }
    }

    /// Whether the output is for programs, even if the arguments are wrong.
    private static var asksForJSON: Bool { CommandLine.arguments.contains("--json") }

    /// The names of the command that was called, without its arguments.
    private static var commandPath: String {
        var names: [String] = []
        var command: any ParsableCommand.Type = Bellhop.self
        for word in CommandLine.arguments.dropFirst() {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else { break }
            names.append(word)
            command = next
        }
        return names.joined(separator: " ")
    }

    private static func perform() async throws {
        var command = try parseAsRoot(Eval.withExpressionLast(Array(CommandLine.arguments.dropFirst())))
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as CommandError {
            let isForPrograms = (command as? any DataCommand)?.output.json ?? false
            error.print(isForPrograms: isForPrograms && !Console.hasPrintedData)
            throw ExitCode(error.code.rawValue)
        }
    }

    /// Prints help, version or argument errors through ``Console``, because they may repeat what was typed.
    private static func leave(with error: any Error) -> Never {
        // With the width that it finds itself, the parser traps on a very narrow terminal, even when asked only for the exit code.
        setenv("COLUMNS", String(Screen.dataWidth ?? 80), 1)
        let (code, text) = (exitCode(for: error), fullMessage(for: error))
        if !text.isEmpty {
            if asksForJSON, code == .validationFailure { CommandError(.usage, message(for: error)).printData() }
            if code == .success { Console.data(text) } else { Console.note(text) }
        }
        exit(withError: code)
    }
}
