import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopFiles
import BellhopRules

struct Check: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check the configuration and the rules, and report every mistake.",
        discussion: "With paths, only these rule files are checked, against bellhop.yaml where there is one.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "Rule files or folders; by default all that bellhop.yaml names.", completion: .file())
    var paths: [String] = []

    func run() async throws {
        if let file = FileIdentity(of: config.config), let path = paths.first(where: { FileIdentity(of: $0) == file }) {
            throw CommandError(.usage, "`\(path.visible)` holds no rules: `bellhop check` without a path checks it.")
        }
        let workspace = try await workspace()
        let found = RuleFinder.find(
            paths.isEmpty ? workspace.rulePaths : paths, isImplicit: paths.isEmpty && workspace.hasDefaultRules)
        let loaded = try await rethrowing(as: CommandError.init) { () async throws(Diagnostics) in
            try await RuleLoading.book(found, context: workspace.context)
        }
        report(
            loaded, in: workspace,
            Diagnostics(
                workspace.warnings.all + found.problems.all + loaded.book.warnings
                    + (paths.isEmpty ? RuleLoading.warnings(aboutSilencesOf: workspace.context, loaded.book) : [])))
    }

    /// The workspace for checking the rules. If the configuration has mistakes, the error also lists the mistakes of the rules.
    private func workspace() async throws(CommandError) -> Workspace {
        do throws(CommandError) {
            return try await Workspace.open(config, mayLackConfiguration: !paths.isEmpty)
        } catch {
            guard let problems = error.diagnostics else { throw error }
            throw CommandError(Diagnostics(problems.all + (await missingLogins()) + (await errorsOfRules())))
        }
    }

    /// The missing logins, if a bellhop.yaml with mistakes can be read so far.
    private func missingLogins() async -> [Diagnostic] {
        do throws(CommandError) {
            return try Workspace.missingForRunning(of: await config.load(focus: .shape)).all
        } catch {
            return []  // The reason was already reported.
        }
    }

    /// The mistakes in the rules that do not depend on sources and connections.
    private func errorsOfRules() async -> [Diagnostic] {
        let loader = config.loader
        let found = RuleFinder.find(paths.isEmpty ? loader.rulePlaces(config.config) : paths, isImplicit: true)
        let events = loader.events(declaredIn: config.config)
        do throws(Diagnostics) {
            _ = try await RuleLoading.book(found, context: RuleLoading.openContext(events: events ?? .builtIn))
            return []
        } catch {
            // If the declared events cannot be read, no event counts as unknown.
            return error.all.filter { $0.severity == .error && (events != nil || $0.code != "unknown-event") }
        }
    }

    private func report(_ loaded: RuleLoading.Loaded, in workspace: Workspace, _ warnings: Diagnostics) {
        let rules = loaded.book.rules
        if output.json {
            return Console.data(
                JSON.object([
                    "ok": true, "rules": .array(rules.map { .string($0.name) }), "problems": .array(warnings.all.map(\.json)),
                ]).text)
        }
        warnings.print()
        guard !rules.isEmpty else {
            let places = (paths.isEmpty ? workspace.rulePaths : paths).map(\.visible).quotedList
            let tests = loaded.found.tests.isEmpty ? "" : " `bellhop test` checks and runs the tests."
            return Console.data("No rules were found in \(places): nothing will be done.\(tests)")
        }
        let limit =
            workspace.context.isOpen
            ? ", but without a bellhop.yaml the names of sources, connections and fields are not checked" : ""
        Console.data("\(counted(rules.count, "rule")) in \(counted(loaded.found.rules.count, "file")): fine\(limit).")
    }
}
