import BellhopTesting
import Foundation
import Testing

/// Terminal modes, prompts and colours.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a typed password is not shown, and a signal restores the terminal's echo`(_ signal: Int32) async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["secret", "set", "chat", "--shared"], in: folder.path, terminal: terminal)
        try await eventually("the echo is off") { !terminal.hasEcho }
        try await eventually("the question is there") { program.errorsSoFar.contains("Value of chat: ") }
        program.send(signal)
        #expect(await program.end().code == 128 + signal)
        #expect(terminal.hasEcho)
    }

    @Test func `the echo is restored after a password is typed`() async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["secret", "set", "chat", "--shared"], in: folder.path, terminal: terminal)
        try await eventually("the echo is off") { !terminal.hasEcho }
        terminal.type("hunter2\n")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(terminal.hasEcho)
        #expect(!ended.errors.contains("hunter2") && !ended.output.contains("hunter2"))
    }

    @Test func `a secret that is too long for a line of a terminal is not stored in part`() async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["secret", "set", "chat", "--shared"], in: folder.path, terminal: terminal)
        try await eventually("the echo is off") { !terminal.hasEcho }
        terminal.type(String(repeating: "x", count: 5000))
        terminal.type("\n")
        let ended = await program.end()
        #expect(ended.code == 64 && ended.errors.contains("cuts lines after 4095 bytes"), "\(ended.errors)")
    }

    @Test func `what follows a question that Ctrl-D answers begins a line`() async throws {
        try folder.write(
            "bellhop.yaml",
            "version: 1\nconnections:\n  snow: {kind: servicenow, instance: acme, auth: {keychain: true}}\n")
        let terminal = try PseudoTerminal()
        let program = try Program(["login", "snow"], in: folder.path, terminal: terminal)
        try await eventually("the question is there") { program.errorsSoFar.contains("User name: ") }
        terminal.type("\u{4}")
        let ended = await program.end()
        #expect(ended.code == 64 && ended.errors.contains("User name: \nerror: No user name"), "\(ended.errors)")
    }

    /// The output on a terminal of a check that finds a mistake.
    private func shown(_ environment: [String: String], on screen: PseudoTerminal?) async throws -> String {
        try folder.write("bellhop.yaml", "version: 1\n")
        try folder.write("rules/a.yaml", "rule: a\non: task_crated\ndo: [{log: x}]\n")
        let program = try Program(["check"], in: folder.path, environment: environment, screen: screen)
        let ended = await program.end()
        #expect(ended.code == 78)
        return screen?.shown ?? ended.output + ended.errors
    }

    @Test func `colours are printed to a terminal only`() async throws {
        let coloured = try await shown(["TERM": "xterm"], on: try PseudoTerminal())
        #expect(coloured.contains("\u{1B}["))
        #expect(coloured.contains("there is no event `task_crated`"))
        let piped = try await shown(["TERM": "xterm"], on: nil)
        #expect(!piped.contains("\u{1B}"))
        #expect(piped.contains("there is no event `task_crated`"))
    }

    @Test(arguments: ["1", "20"]) func `help on a very narrow terminal is complete`(_ columns: String) async throws {
        let usual = try await Program.run(["audit"], in: folder.path)
        let narrow = try await Program.run(["audit"], in: folder.path, environment: ["COLUMNS": columns])
        #expect(narrow.code == 0 && narrow.output == usual.output, "\(narrow.output)\(narrow.errors)")
    }

    @Test(arguments: [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "xterm", "NO_COLOR": ""], ["TERM": "dumb"]])
    func `NO_COLOR turns colours off`(_ environment: [String: String]) async throws {
        let plain = try await shown(environment, on: try PseudoTerminal())
        // no-color.org: an empty value has no effect.
        #expect(plain.contains("\u{1B}") == (environment["NO_COLOR"] == ""))
        #expect(plain.contains("there is no event `task_crated`"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal at the prompt of eval restores the terminal's mode`(_ signal: Int32) async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await eventually("keys are read one by one") { !terminal.hasLines && !terminal.hasEcho }
        terminal.type("1 + 1")
        program.send(signal)
        #expect(await program.end().code == 128 + signal)
        #expect(terminal.hasLines && terminal.hasEcho)
    }

    @Test func `a line typed at the prompt of eval is never drawn wider than the terminal`() async throws {
        let (terminal, screen) = (try PseudoTerminal(), try PseudoTerminal(columns: 20))
        let program = try Program(["eval"], in: folder.path, terminal: terminal, screen: screen)
        try await eventually("keys are read one by one") { !terminal.hasLines }
        terminal.type("1" + String(repeating: " + 1", count: 9) + "\r")
        try await eventually("the whole line is evaluated") { screen.shown.contains("10 : int") }
        #expect(screen.shown.contains("eval> 1 + 1 + 1 + 1") && !screen.shown.contains("eval> 1 + 1 + 1 + 1 +"))
        // Until then, the terminal itself takes Control-D for the end of the input.
        try await eventually("keys are read again") { !terminal.hasLines }
        terminal.type("\u{04}")
        #expect(await program.end().code == 0)
    }

    @Test(arguments: ["exit", "quit", ":quit"])
    func `words such as exit and quit end the prompt of eval`(_ word: String) async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await eventually("keys are read one by one") { !terminal.hasLines }
        terminal.type(word + "\r")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(!ended.errors.contains("unknown-name"))
    }

    @Test func `the prompt of eval restores the terminal's mode when it ends`() async throws {
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await eventually("keys are read one by one") { !terminal.hasLines }
        terminal.type("\u{04}")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(terminal.hasLines && terminal.hasEcho)
    }
}
