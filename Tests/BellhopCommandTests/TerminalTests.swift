import BellhopTesting
import Foundation
import Testing

/// The terminal is left as it was found, however a program ends.
@Suite(.timeLimit(.minutes(2))) struct TerminalTests {
    private func wait(_ what: String, _ isSo: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if isSo() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("it did not come to this: \(what)")
    }

    @Test(
        arguments: [
            (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "dumb"], false),
        ] as [([String: String], Bool)])
    func `colour is for terminals, and for those only that have it and want it`(
        _ environment: [String: String], _ hasColour: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let screen = try PseudoTerminal()
        let ended = try await Program(["eval", "1 +"], in: folder.path, environment: environment, screen: screen).end()
        #expect(ended.code == 78)
        let shown = screen.shown()
        #expect(shown.contains("[syntax]") && shown.contains("\u{1B}[") == hasColour, "\(shown)")
        let piped = try await Program(["eval", "1 +"], in: folder.path, environment: environment).end()
        #expect(piped.errors.contains("[syntax]") && !piped.errors.contains("\u{1B}["))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a password that is asked for is not shown, and a signal gives the echo back`(_ signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        let program = try Program(["secret", "set", "chat"], in: folder.path, terminal: terminal)
        try await wait("the echo is off") { !terminal.hasEcho }
        #expect(program.errorsSoFar.contains("Value of chat: "))
        program.send(signal)
        #expect(await program.end().code == 128 + signal)
        #expect(terminal.hasEcho)
    }

    @Test func `once a password is typed the echo is back`() async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        let program = try Program(["secret", "set", "chat"], in: folder.path, terminal: terminal)
        try await wait("the echo is off") { !terminal.hasEcho }
        terminal.type("hunter2\n")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(terminal.hasEcho)
        #expect(!ended.errors.contains("hunter2") && !ended.output.contains("hunter2"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal at the prompt of eval gives the terminal its mode back`(_ signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await wait("keys are read one by one") { !terminal.hasLines && !terminal.hasEcho }
        terminal.type("1 + 1")
        program.send(signal)
        #expect(await program.end().code == 128 + signal)
        #expect(terminal.hasLines && terminal.hasEcho)
    }

    @Test(arguments: ["exit", "quit", ":quit"])
    func `a word that ends other programs ends the prompt of eval`(_ word: String) async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await wait("keys are read one by one") { !terminal.hasLines }
        terminal.type(word + "\r")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(!ended.errors.contains("unknown-name"))
    }

    @Test func `the prompt of eval gives the terminal its mode back at its end`() async throws {
        let folder = try TemporaryFolder()
        let terminal = try PseudoTerminal()
        let program = try Program(["eval"], in: folder.path, terminal: terminal)
        try await wait("keys are read one by one") { !terminal.hasLines }
        terminal.type("\u{04}")
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(terminal.hasLines && terminal.hasEcho)
    }
}
