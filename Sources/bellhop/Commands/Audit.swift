import ArgumentParser
import BellhopAgent
import BellhopCore

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Show what was sent and what people did, from a record that reveals later changes.",
        discussion: """
            Each finished attempt of a delivery, each change of the rules in force and each act of a person is a row. Each row's hash \
            covers the row before, so that a changed, moved or removed row is detected.

            `bellhop audit verify` checks the chain. It detects the removal of the last rows only with a checkpoint: \
            `bellhop audit checkpoint` prints one. Keep it in another place, and give it to `verify --checkpoint`.
            """,
        subcommands: [AuditVerify.self, AuditExport.self, AuditCheckpointCommand.self])
}

struct AuditVerify: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that no row of the audit was changed.",
        discussion: "Exits with 1 if a row was changed, moved or removed.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The line that `bellhop audit checkpoint` printed earlier.")
    var checkpoint: String?

    func validate() throws {
        if let checkpoint, AuditCheckpoint(checkpoint) == nil {
            throw ValidationError("--checkpoint must be NUMBER:HASH, as `bellhop audit checkpoint` prints it.")
        }
    }

    func run() async throws {
        var verifier = AuditVerifier(against: checkpoint.flatMap { AuditCheckpoint($0) })
        var problem: AuditVerifier.Problem?
        _ = try await config.storeLink().answer(.audit(AuditQuery())) { row in
            guard problem == nil else { return }
            do throws(AuditVerifier.Problem) { try verifier.check(row) } catch { problem = error }
        }
        if problem == nil {
            do throws(AuditVerifier.Problem) { try verifier.end() } catch { problem = error }
        }
        if output.json {
            Console.json([
                "rows": .int(verifier.count), "first": .int(verifier.first),
                "last": verifier.last.map { .string(AuditCheckpoint($0).text) } ?? .null,
                "problem": .optional(problem?.message),
            ])
            if problem != nil { throw ExitCode(CommandError.Code.problem.rawValue) }
            return
        }
        if let problem { throw CommandError(.problem, problem.message) }
        if verifier.count == 0 { return Console.data("The audit has no rows yet.") }
        let rows =
            verifier.count == 1 ? "Row \(verifier.first) is" : "Rows \(verifier.first) to \(verifier.last?.number ?? 0) are"
        Console.data("\(rows) unchanged\(checkpoint == nil ? "" : ", and the checkpoint matches").")
        if checkpoint == nil { Console.note("Without --checkpoint, the removal of the last rows cannot be detected.") }
    }
}

struct AuditExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print the rows as JSON lines, oldest first.",
        discussion: """
            A line has the row's number, its entry and its hash: the SHA-256 of the hash of the row before, the number and the entry's \
            text, separated by line feeds.
            """)

    @OptionGroup var config: AgentOptions

    @Option(parsing: .unconditional, help: "Only rows newer than this: 90s, 15m, 7d.")
    var since: String?

    func validate() throws { try DurationText.validate(since, option: "--since") }

    func run() async throws {
        let start = try since.map { SystemClock().now - (try DurationText.parse($0)) }
        _ = try await config.storeLink().answer(.audit(AuditQuery(since: start))) { row in
            // Print the entry's exact text, because the hash covers it.
            let entry = row["entry"].textOrEmpty
            if entry.isEmpty { return }
            Console.data(#"{"number":\#(row["number"]?.asInt ?? 0),"entry":\#(entry),"hash":"\#(row["hash"].textOrEmpty)"}"#)
        }
    }
}

struct AuditCheckpointCommand: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint", abstract: "Print the last row's number and hash, to keep in another place.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        guard let row = try await config.storeLink().rows(.audit(AuditQuery(isLast: true))).first.flatMap({ AuditRow(json: $0) })
        else { throw CommandError(.problem, "The audit is empty: all its rows were removed.") }
        let checkpoint = AuditCheckpoint(row)
        if output.json {
            return Console.json([
                "number": .int(checkpoint.number), "hash": .string(checkpoint.hash), "checkpoint": .string(checkpoint.text),
            ])
        }
        Console.data(checkpoint.text)
    }
}

extension AuditVerifier {
    /// Checks a row in the form of ``AuditRow/json``.
    fileprivate mutating func check(_ row: JSON) throws(Problem) {
        guard let row = AuditRow(json: row) else { throw Problem("A row cannot be read.") }
        try check(row)
    }
}
