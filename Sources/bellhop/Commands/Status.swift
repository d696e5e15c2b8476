import ArgumentParser
import BellhopAgent
import BellhopCore

struct Status: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of the sources, the rules and the deliveries.",
        discussion: """
            Asks the running agent; without one, reads its store. Failures come first. Lines that do not fit a screen of 24 \
            lines are only counted; --all shows them. For a health probe, --check exits with 1 if something needs a person: \
            no agent runs, a part of it hangs, bellhop.yaml changed since its start, a source is failing (three polls in a \
            row, or one that only a person can repair), a rule failed when it last ran, Bellhop paused a connection or a \
            rule, a connection cannot be used, a delivery has failed for fifteen minutes, changed rules or the store have \
            errors, or deliveries are dead or held. What a person paused is listed too, but is no reason to fail. Before the \
            first run, --check says that no agent has run, and exits with 1 too.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show everything.")
    var all = false

    @Flag(help: "Only failing sources and what needs a person, with full reasons.")
    var failing = false

    @Flag(help: "Say what needs a person, and exit with 1 if something does; list what people paused.")
    var check = false

    func validate() throws {
        if [all, failing, check].count(where: { $0 }) > 1 {
            throw ValidationError("Use only one of --all, --failing and --check.")
        }
    }

    func run() async throws {
        let link = try config.storeLink()
        let status: JSON
        do throws(CommandError) {
            status = try await link.answer(.status)
        } catch {
            // A health probe gets an answer even if no agent was ever started.
            guard check, !link.hasRun, let message = error.message else { throw error }
            status = ["agent": .null, "needs": [.string(message)]]
        }
        let page = StatusPage(status: status, zone: link.zone, width: Screen.dataWidth)
        if output.json {
            Console.json(status)
        } else {
            let lines = all ? page.whole : failing ? page.failing : check ? page.needs : page.short(lines: Self.screenLines)
            for line in lines { Console.data(line) }
        }
        if check, !page.needsNoAction { throw ExitCode(CommandError.Code.problem.rawValue) }
    }

    /// A screen of 24 lines, minus one for the next prompt.
    private static let screenLines = 23
}
