public import BellhopCore
import BellhopFiles
import Glibc

/// Runs a program on this machine, without a shell.
///
/// Exit status 0 is success. Other statuses are retried, except those of sysexits.h for permanent errors: EX_USAGE (64),
/// EX_DATAERR (65), EX_NOPERM (77), EX_CONFIG (78).
public struct ExecAction: Action {
    /// The name of the receiver of all its deliveries.
    public static let receiver = "exec"
    public static let limits = ReceiverLimits(concurrency: 4)

    public static let manifest = ActionManifest(
        kind: receiver, summary: "Runs a program on this machine, without a shell.", receiver: .local(nil),
        arguments: [
            Setting(
                "command", .list(.text), required: true,
                "The program and its arguments. The program is a path, or a name in \(folders.joined(separator: ", "))."),
            Setting("stdin", .text, "The program's standard input; by default it is empty."),
            Setting(
                "timeout", .duration, default: "1m", least: "1s", most: "3m", "The time after which it is stopped, at most 3m."),
            Setting(
                "env", .either([.list(.name), .map(.text)]),
                "The program's environment: names of variables of Bellhop's own, or names with values; by default it is empty."),
            Setting(
                "repeatable", .boolean, default: "false",
                "Whether running it twice is harmless. If not, a delivery whose run was cut off is held for a person."),
        ], permission: "allow_exec", program: "command")

    /// The search path for programs whose name has no slash.
    static let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]

    private static let permanentErrors: Set<Int32> = [64, 65, 77, 78]
    /// The limit of the output that a delivery keeps, in characters.
    private static let outputLength = 1500

    private let isAllowed: Bool
    private let folder: String
    private let notebook: any Notebook
    private let variable: @Sendable (String) -> String?

    /// - Parameters:
    ///   - isAllowed: whether bellhop.yaml says `allow_exec: true`.
    ///   - folder: the folder of bellhop.yaml: programs run there, and relative paths are relative to it.
    ///   - variable: a variable of the agent's own environment; by default this process's.
    public init(
        isAllowed: Bool, folder: String, notebook: any Notebook,
        variable: (@Sendable (String) -> String?)? = nil
    ) {
        self.isAllowed = isAllowed
        self.folder = folder.isEmpty ? "." : folder
        self.notebook = notebook
        self.variable = variable ?? { name in getenv(name).map { String(cString: $0) } }
    }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard isAllowed else {
            throw Failure(.refused, .giveUp, "Programs are not run without `allow_exec: true` in bellhop.yaml.")
        }
        let arguments = try delivery.values()
        let words = (arguments["command"]?.asArray ?? []).map(Self.text)
        let environment = try environment(arguments["env"])
        guard let name = words.first, !name.isEmpty else { throw Failure.badArguments("`command` names no program.") }
        guard !(words + environment.map { "\($0)=\($1)" }).contains(where: { $0.utf8.contains(0) }) else {
            throw Failure.badArguments("An argument or a variable contains a null character, which no program can get.")
        }
        let repetition = Repetition(isAllowed: arguments["repeatable"] == true)
        try await repetition.check(delivery, attempt, at: "this machine", notebook)
        let program = Program(
            path: try Self.path(of: name, in: folder), arguments: Array(words.dropFirst()), environment: environment,
            folder: folder, input: Array((arguments["stdin"].map(Self.text) ?? "").utf8),
            limit: .microseconds(arguments["timeout"]?.asInt ?? 60_000_000),
            secrets: environment.filter { Redaction.suggestsSecret($0.key) }.map(\.value))
        let label = DisplayText.line(name.split(separator: "/").last.map(String.init) ?? name)
        let result: Program.RunResult
        do {
            result = try await program.run()
        } catch is CancellationError {
            throw Failure(.interrupted, .unknownOutcome, "`\(label)` was stopped before it ended.")
        } catch {
            let reason = (error as? SystemError)?.text ?? DisplayText.line("\(error)")
            throw Failure(.fileSystem, .retry(after: nil), "`\(label)` could not be started: \(reason).")
        }
        let output = Self.shown(result.output)
        switch result.cause {
        case .exited(0): return Receipt(output.isEmpty ? "exit 0" : "exit 0: \(output)")
        case .exited(let code):
            let remedy = Self.permanentErrors.contains(code) ? Failure.Remedy.giveUp : .retry(after: nil)
            throw Failure(.refused, remedy, Self.sentence("`\(label)` ended with exit status \(code)", output))
        case .signaled(let signal):
            throw Self.cutOff(.cut, "`\(label)` was ended by signal \(signal).", output, repetition)
        case .stopped:
            let limit = DurationText.format(program.limit)
            throw Self.cutOff(
                .timeout, "`\(label)` was stopped, with all that it had started, because it took longer than \(limit).", output,
                repetition)
        }
    }

    /// The failure of a program that was ended from outside, and may have done its work before. It says nothing about other programs, so it
    /// does not count for the breaker of all.
    private static func cutOff(
        _ reason: Failure.Reason, _ what: String, _ output: String, _ repetition: Repetition
    ) -> Failure {
        // The failure's advice follows, as a sentence of its own.
        let stop = ".!?…".contains(output.last ?? ".") ? "" : "."
        let wrote = output.isEmpty ? "It wrote nothing." : "It wrote: \(output)\(stop)"
        var failure = repetition.uncertain(reason, "\(what) \(wrote)")
        failure.concernsReceiver = false
        return failure
    }

    private static func text(_ value: JSON) -> String { value.asString ?? value.text }

    private static func sentence(_ what: String, _ output: String) -> String {
        output.isEmpty ? "\(what) and wrote nothing." : "\(what). It wrote: \(output)"
    }

    /// The output on one line.
    private static func shown(_ output: String) -> String {
        let words = DisplayText.line(output).drop { $0 == " " }
        guard words.count > outputLength else { return String(words) }
        // The end matters most: errors come last.
        return "\(words.prefix(outputLength / 3))…\(words.suffix(outputLength * 2 / 3))"
    }

    /// The variables that `env` names.
    private func environment(_ json: JSON?) throws(Failure) -> [String: String] {
        var environment: [String: String] = [:]
        if let members = json?.asObject {
            for (name, value) in members { environment[name] = Self.text(value) }
        } else if let json {
            for name in (json.asArray ?? [json]).map(Self.text) { environment[name] = variable(name) }
        }
        if let wrong = environment.keys.first(where: { $0.isEmpty || $0.contains("=") }) {
            throw Failure.badArguments("`\(DisplayText.line(wrong))` cannot be the name of a variable.")
        }
        return environment
    }

    /// The absolute path of a program.
    private static func path(of name: String, in folder: String) throws(Failure) -> String {
        let candidates = name.contains("/") ? [ConnectorEnvironment.path(name, in: folder)] : folders.map { "\($0)/\(name)" }
        if let path = candidates.first(where: { isProgram($0) }) { return path }
        let shown = DisplayText.line(name)
        let isThere = candidates.contains { access($0, F_OK) == 0 }
        throw Failure(
            .fileSystem, .retry(after: nil),
            isThere
                ? "`\(shown)` is not a program: make it executable, `chmod +x`."
                : "There is no program `\(shown)`\(name.contains("/") ? "" : " in \(folders.joined(separator: ", "))").")
    }

    private static func isProgram(_ path: String) -> Bool {
        var facts = stat()
        return access(path, X_OK) == 0 && stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }
}
