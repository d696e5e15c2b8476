import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import Glibc

struct Eval: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "eval", abstract: "Try an expression: its value, its type, and the value of each part.",
        discussion: """
            An expression can use the same names as in a rule: those of an event, or of a task as last polled. Without an event \
            or a task, it can use the tasks of all sources, the time and the functions.

            Without an expression, the command reads one from each line of its input; on a terminal, with history and \
            completion.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The event to evaluate it for: its id, or the start of one.")
    var event: String?

    @Option(help: "The task to evaluate it for, as last polled: its number or sys_id.")
    var task: String?

    @Argument(help: "The expression, such as 'task.priority <= 2'.")
    var expression: String?

    /// Moves an expression that begins with a minus behind `--`, so that it is not parsed as an option.
    static func withExpressionLast(_ arguments: [String]) -> [String] {
        guard arguments.first == "eval", !arguments.contains("--") else { return arguments }
        let place = arguments.indices.dropFirst().first { index in
            let text = arguments[index].utf8.dropFirst()
            guard arguments[index].hasPrefix("-"), let next = text.first else { return false }
            // `-c`, `-h` and `--json` are options, and so is anything of that form, even `--x`.
            let isName = next == UInt8(ascii: "-") || (next.isASCIILetter && text.count == 1)
            return !isName && !["-c", "--config", "--event", "--task"].contains(arguments[index - 1])
        }
        guard let place else { return arguments }
        var others = arguments
        let expression = others.remove(at: place)
        return others + ["--", expression]
    }

    func validate() throws {
        if event != nil, task != nil { throw ValidationError("An expression is about an event or a task: give one of them.") }
    }

    func run() async throws {
        let workspace = try await Workspace.open(config, mayLackConfiguration: true, focus: .shape)
        var session = EvalSession(config: config, context: workspace.context)
        if let event { try await session.look(atEvent: event) }
        if let task { try await session.look(atTask: task) }
        if let expression {
            if task != nil, !output.json { Console.sentence(session.about) }
            if let code = await answer(expression, session) { throw ExitCode(code.rawValue) }
            return
        }
        session.hint = "name it with `:event ID` or `:task NUMBER`"
        if isatty(STDIN_FILENO) == 1 {
            await runSession(&session)
        } else {
            var worst: CommandError.Code?
            while let line = Console.readLine() {
                let code = await handle(line, &session)
                worst = worst ?? code
            }
            if let worst { throw ExitCode(worst.rawValue) }
        }
    }

    // MARK: One expression

    /// Prints the expression's result; returns the exit code of an error.
    private func answer(_ text: String, _ session: EvalSession) async -> CommandError.Code? {
        do throws(CommandError) {
            let evaluation = try await session.evaluate(text)
            if output.json { Console.json(evaluation.json) } else { Self.show(evaluation) }
            if case .failure = evaluation.outcome { return .problem }
            return nil
        } catch {
            error.print(isForPrograms: output.json)
            return error.code
        }
    }

    private static func show(_ evaluation: Evaluation) {
        switch evaluation.outcome {
        case .value(let result): Console.data("\(Paint.bold(result.text.visible)) \(Paint.dim(": " + result.type.visible))")
        case .failure(let diagnostic): Diagnostics([diagnostic]).print()
        }
        let texts = evaluation.parts.map { part in
            (String(repeating: "  ", count: part.depth + 1) + part.text.singleLine).cut(to: 60)
        }
        let width = texts.map(\.shownWidth).max() ?? 0
        for (text, part) in zip(texts, evaluation.parts) { Console.data("\(text.padded(to: width))  \(words(part))") }
    }

    private static func words(_ part: Evaluation.Part) -> String {
        let often = part.times > 1 ? Paint.dim(" (the last of \(part.times))") : ""
        switch part.outcome {
        case .value(let result): return Paint.cyan(result.brief.visible) + often
        case .failure(_, let message): return Paint.red("error: " + message.singleLine) + often
        case .notEvaluated: return Paint.dim("not evaluated")
        }
    }

    // MARK: A session

    /// Handles a line of a session: an expression, or a command after a colon. Returns the exit code of an error.
    private func handle(_ line: String, _ session: inout EvalSession) async -> CommandError.Code? {
        let words = line.split(separator: " ").map(String.init)
        guard let first = words.first else { return nil }
        guard first.hasPrefix(":") else { return await answer(line, session) }
        do throws(CommandError) {
            switch (first, words.count) {
            case (":event", 2): try await session.look(atEvent: words[1])
            case (":task", 2): try await session.look(atTask: words[1])
            case (":help", 1): Console.note(Self.help)
            default: throw CommandError(.usage, "There is no command `\(line.singleLine)`; `:help` lists the commands.")
            }
            return nil
        } catch {
            error.print()
            return error.code
        }
    }

    private func runSession(_ session: inout EvalSession) async {
        var history = HistoryFile.standardPath("eval-history", environment: config.environment).map { HistoryFile(path: $0) }
        var prompt = LinePrompt(
            "eval> ", history: Self.remembering(&history) { file throws(HistoryFile.FileError) in try file.lines() } ?? [])
        Console.sentence(session.about + " Tab completes, `:help` shows more, Ctrl-D ends.")
        while let line = prompt.line(complete: { [session] in session.completion(before: $0) }) {
            let words = line.split(separator: " ").joined(separator: " ")
            if [":quit", ":exit", ":q", "quit", "exit"].contains(words) { return }
            if words == "help" {
                Console.note(Self.help)
                continue
            }
            Self.remembering(&history) { file throws(HistoryFile.FileError) in try file.add(line) }
            let wasAbout = session.about
            _ = await handle(line, &session)
            if session.about != wasAbout { Console.sentence(session.about) }
        }
    }

    /// Reads or writes the history. The first failure is reported and turns the history off.
    @discardableResult
    private static func remembering<Value>(
        _ history: inout HistoryFile?, _ work: (HistoryFile) throws(HistoryFile.FileError) -> Value
    ) -> Value? {
        guard let file = history else { return nil }
        do throws(HistoryFile.FileError) {
            return try work(file)
        } catch {
            history = nil
            Console.note("No history: \(error.message.visible)")
            return nil
        }
    }

    private static let help = """
        An expression, or:
          :event ID    look at an event: its id, or the start of one
          :task NUMBER look at a task as last polled: its number or sys_id
          :help        this
          :quit        end, as Ctrl-D does
        """
}
