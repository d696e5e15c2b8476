import BellhopCore
import BellhopTesting
import Foundation
import Testing

/// The manual pages that .packaging/manual makes from the description of the arguments, and the scripts of `bellhop completions`.
@Suite(.timeLimit(.minutes(5))) struct ManualTests {
    private struct Described: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        struct Argument: Decodable {
            var names: [Name]?
            var shouldDisplay: Bool
        }
        struct Command: Decodable {
            var commandName: String
            var arguments: [Argument]?
            var subcommands: [Command]?

            /// Each command with the names on the way to it.
            func all(below path: [String] = []) -> [(path: [String], command: Command)] {
                let path = path + [commandName]
                return [(path, self)] + (subcommands ?? []).flatMap { $0.all(below: path) }
            }
        }
        var command: Command
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func `every command has a manual page with each of its options`() async throws {
        let folder = try TemporaryFolder()
        let help = try await Program(["--experimental-dump-help"], in: folder.path).end()
        try folder.write("help.json", help.output)
        let made = try await Program(
            [
                Repository.root.appending(path: ".packaging/manual").path, folder.path + "/help.json", folder.path + "/man",
                "0.1.0", "0",
            ],
            program: "/usr/bin/python3", in: folder.path
        ).end()
        #expect(made.code == 0, "\(made.errors)")
        let described = try JSONDecoder().decode(Described.self, from: Data(help.output.utf8))
        let commands = described.command.all().filter { $0.command.commandName != "help" }
        #expect(commands.count > 30)
        for (path, command) in commands {
            let file = "\(folder.path)/man/\(path.joined(separator: "-")).1"
            let page = try String(contentsOfFile: file, encoding: .utf8).replacing("\\-", with: "-")
            for argument in command.arguments ?? [] where argument.shouldDisplay {
                for name in argument.names ?? [] {
                    let option = (name.kind == "long" ? "--" : "-") + name.name
                    #expect(page.contains("\\fB\(option)\\fR"), "\(file) lacks \(option)")
                }
            }
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func `completions contain commands and options`(_ shell: String) async throws {
        let folder = try TemporaryFolder()
        let script = try await Program(["completions", shell], in: folder.path).end()
        #expect(script.code == 0)
        for name in ["init", "deliveries", "completions", "--log-format"] {
            #expect(script.output.contains(name == "--log-format" && shell == "fish" ? "log-format" : name))
        }
    }

    @Test func `bash completes files, folders and the values that an option may have`() async throws {
        let folder = try TemporaryFolder()
        let script = try await Program(["completions", "bash"], in: folder.path).end()
        let values = ["silenced", "unreachable", "task_created", "pagerduty", "critical"]
        for word in ["add_completions -f", "add_completions -d"] + values {
            #expect(script.output.contains(word), "\(word)")
        }
    }
}
