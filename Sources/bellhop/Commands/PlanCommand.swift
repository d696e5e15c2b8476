import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import BellhopStore

struct PlanCommand: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Show what a start or reload with the present files would change.",
        discussion: """
            Compares the files with those that an agent loaded last: rules, sources, receivers, names of secrets, and the deliveries of \
            the last day that would be different. Changes nothing, and works beside a running agent.

            Exits with 0 if nothing changes, and with 2 if something does.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Print Markdown, for a pull request.")
    var markdown = false

    func validate() throws {
        if markdown, output.json { throw ValidationError("Use only one of --markdown and --json.") }
    }

    func run() async throws {
        let workspace = try await Workspace.open(config, mayLackConfiguration: false, focus: .shape)
        let configuration = try await config.load(focus: .shape)
        let book = try await workspace.book()
        let link = try config.storeLink()
        let now = SystemClock().now
        let files = RulesInForce(configuration, RuleFinder.find(workspace.rulePaths).rules, at: now)
        var plan: Plan
        do throws(StoreError) {
            let store = link.hasRun ? try Stores.openForReading(link.store) : try Stores.inMemory()
            let inForce =
                try await RulesInForce(in: store) ?? RulesInForce(at: now, files: [], connections: [], sources: [], secrets: [])
            let before = try? RuleBook.load(inForce.files, context: workspace.context)
            let status = try await store.status(at: now)
            let known = status.sources.filter(\.hasBaseline).map(\.scope.id)
            let polled = workspace.context.sources.filter { $0.shows != .events }
            plan = Plan(
                inForce, files, before: before, after: book,
                scopes: Dictionary(polled.map { ($0.name, $0.scope) }, uniquingKeysWith: { first, _ in first }),
                known: Set(known), waits: status.waits, at: now)
            if let before {
                plan.report = try await BackTestRun.report(
                    store, book, against: before, from: now - .days(1), to: now, areWhole: true)
            } else {
                plan.obstacle =
                    "The rules in force no longer fit bellhop.yaml, so their deliveries of the last day cannot be compared."
            }
            try await store.close()
        } catch {
            throw CommandError(error)
        }
        if output.json {
            Console.json(plan.json)
        } else {
            PlanPage(plan: plan, zone: link.zone, isMarkdown: markdown, missingStore: link.hasRun ? nil : link.store).print()
        }
        if !plan.isEmpty { throw ExitCode(2) }
    }
}
