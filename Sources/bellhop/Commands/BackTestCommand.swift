import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import Glibc

struct BackTestCommand: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "backtest", abstract: "Show what rules would have done with the stored events.",
        discussion: """
            Routes the events of the last days through the rules again, on a virtual clock, with the agent's own code. Nothing is sent \
            and nothing is stored. RULES are names of rules, or files or folders of rules that need not be in force; by default, all \
            rules of the files. The other rules of the files run too, but are not counted.

            --against compares with the rules of another file or folder, or with `in-force`, the rules that an agent loaded last: it \
            shows which deliveries would be added, removed or changed.

            The limits of the result are listed at the end. Works beside a running agent.

            With --console, the agent there runs the back-test with its events, for its rules in force or for files from here.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Option(parsing: .unconditional, help: "How far back: 90s, 15m, 7d.")
    var since = "7d"

    @Option(help: "Compare with the rules of this file or folder, or with those `in-force`.", completion: .file())
    var against: String?

    @Argument(help: "Names of rules, or files or folders of rules.", completion: .file())
    var rules: [String] = []

    /// The rules in force, as `--against` names them.
    private static let inForce = "in-force"

    func validate() throws {
        try DurationText.validate(since, option: "--since")
        if config.console != nil, against ?? Self.inForce != Self.inForce {
            throw ValidationError("With --console, --against takes only `in-force`: the agent there compares with its own rules.")
        }
    }

    func run() async throws {
        let link = try config.storeLink()
        if let console = link.console { return try await runRemotely(console, link) }
        let workspace = try await Workspace.open(config.files, mayLackConfiguration: false, focus: .shape)
        let (names, paths) = try await namesAndPaths { () async throws(CommandError) in
            (try? await workspace.book())?.rules.map(\.name) ?? []
        }
        let book = try await paths.isEmpty ? workspace.book() : workspace.book(of: paths)
        try Self.check(names, among: book.rules.map(\.name))
        if !paths.isEmpty, book.rules.isEmpty { throw CommandError(.problem, "There are no rules in \(paths.listed).") }
        // Single files are compared with their own rules in force, not with all rules.
        let counted = names.isEmpty && !paths.isEmpty && Self.areFiles(paths) ? book.rules.map(\.name) : names
        let store = try link.openForReading()
        let other = try await other(workspace, store)
        let now = SystemClock().now
        let start = now - (try DurationText.parse(since))
        let meter = ProgressMeter(title: "Reading events")
        let report: BackTestReport
        do throws(StoreError) {
            report = try await BackTestRun.report(
                store, book, against: other, counting: counted.isEmpty ? nil : Set(counted), from: start, to: now,
                areWhole: paths.isEmpty && (against ?? Self.inForce) == Self.inForce
            ) { meter.show($0) }
            try await store.close()
        } catch {
            meter.end()
            throw CommandError(error)
        }
        meter.end()
        if output.json { return Console.json(report.json) }
        BackTestPage(report, zone: link.zone, rules: names).print()
    }

    /// The arguments, divided into names of rules, and files and folders. A rule's name precedes a file or folder of the same name.
    /// - Parameter known: the names of the rules; called only if an argument may be either.
    func namesAndPaths(
        known: () async throws(CommandError) -> [String]
    ) async throws(CommandError) -> (names: [String], paths: [String]) {
        let unclear = rules.filter { !Self.isPath($0) && Files.exist($0) }
        let known = unclear.isEmpty ? [] : try await known()
        let paths = rules.filter { Self.isPath($0) || (unclear.contains($0) && !known.contains($0)) }
        return (rules.filter { !paths.contains($0) }, paths)
    }

    /// - Throws: if a name is not among those of the rules.
    static func check(_ names: [String], among known: [String]) throws(CommandError) {
        for name in names where !known.contains(name) {
            throw CommandError(.usage, Suggestion.unknown("rule", name, among: known.sorted()))
        }
    }

    static func areFiles(_ paths: [String]) -> Bool { paths.allSatisfy { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") } }

    /// The rules to compare with.
    private func other(_ workspace: Workspace, _ store: any Store) async throws(CommandError) -> RuleBook? {
        guard let against else { return nil }
        guard against == Self.inForce else {
            let book = try await workspace.book(of: [against])
            if book.rules.isEmpty { throw CommandError(.problem, "There are no rules to compare with in \(against.visible).") }
            return book
        }
        let inForce: RulesInForce?
        do throws(StoreError) { inForce = try await RulesInForce(in: store) } catch { throw CommandError(error) }
        guard let inForce else {
            throw CommandError(
                .problem, "The store does not say which rules are in force: no agent of this version has run here.")
        }
        if inForce.files.isEmpty {
            throw CommandError(.problem, "There are no rules to compare with: the agent that ran here last had none.")
        }
        return try rethrowing(as: CommandError.init) { () throws(Diagnostics) in
            try RuleBook.load(inForce.files, context: workspace.context)
        }
    }

    private static func isPath(_ name: String) -> Bool {
        name.contains("/") || name.hasSuffix(".yaml") || name.hasSuffix(".yml")
    }
}

/// A progress bar on a terminal; elsewhere it prints nothing.
struct ProgressMeter {
    let title: String
    let isShown = isatty(STDERR_FILENO) == 1
    private static let width = 24

    /// - Parameter done: the progress, from 0 to 1.
    func show(_ done: Double) {
        guard isShown else { return }
        let full = Int(done * Double(Self.width))
        let bar = String(repeating: "█", count: full) + String(repeating: "░", count: Self.width - full)
        Console.control("\r\(title) \(bar) \(Int(done * 100)) %")
    }

    func end() { if isShown { Console.control("\r\u{1B}[K") } }
}
