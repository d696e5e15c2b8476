import ArgumentParser
import BellhopAgent
import BellhopCore

struct PauseCommand: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause a connection, a rule, or all writes to tasks until `bellhop resume`.",
        discussion: """
            A paused connection gets no deliveries: they wait, and none is lost. Only a delivery that expires during the pause \
            (`expires`) is not sent. Sources still read from the connection.

            A paused rule sees no events, and will never see those of the pause. Its schedule and its other timers wait. Deliveries \
            that it made before are still sent.

            With --writes all deliveries that write to a task or create one wait, of every rule and connection; messages are still sent.

            A pause survives a restart, and `bellhop status` shows it. Bellhop itself pauses a connection whose address moved or no longer \
            exists, or whose token is not accepted any more. Repair it, then resume it.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var paused: PausedOptions

    @Option(help: "The reason that `bellhop status` shows.")
    var reason = PauseCommand.usualReason

    private static let usualReason = "paused by hand"

    func run() async throws {
        let link = try config.storeLink()
        let target = try await paused.target(link)
        let answer = try await link.answer(.pause(target, reason: reason))
        if output.json { return Console.json(answer) }
        let (changed, unchanged) =
            switch target {
            case .receiver(let name):
                ("\(name) is paused: its deliveries wait until `bellhop resume \(name)`.", "\(name) was already paused.")
            case .rule(let name):
                (
                    "Rule \(name) is paused: it sees no events until `bellhop resume \(name)`.",
                    "Rule \(name) was already paused."
                )
            case .writes:
                (
                    "Writes to tasks are paused: they wait until `bellhop resume --writes`.",
                    "Writes to tasks were already paused."
                )
            }
        if answer["changed"] == true { return Console.data(changed) }
        let kept = reason == Self.usualReason ? "" : " It keeps the reason that `bellhop status` shows."
        Console.data(unchanged + kept)
    }
}

struct Resume: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "End the pause of a connection, a rule, or all writes to tasks.",
        discussion: """
            Waiting deliveries are sent in their order; a rule sees the events that come from now on, and its waiting timers come \
            due. `bellhop status` lists what is paused, and why.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var paused: PausedOptions

    func run() async throws {
        let link = try config.storeLink()
        let target = try await paused.target(link, isLenient: true)
        let answer = try await link.answer(.resume(target))
        if output.json { return Console.json(answer) }
        let name =
            switch target {
            case .receiver(let receiver): receiver.visible
            case .rule(let rule): "Rule \(rule.visible)"
            case .writes: "Writing to tasks"
            }
        guard answer["changed"] == true else {
            throw CommandError(.problem, "\(name) is not paused: `bellhop status` lists all pauses.")
        }
        Console.data("\(name) is resumed.")
    }
}

struct PausedOptions: ParsableArguments {
    @Flag(help: "All writes to tasks, instead of a connection or a rule.")
    var writes = false

    @Flag(help: "NAME is a rule, if a connection has the same name.")
    var rule = false

    @Argument(help: "The name of a connection or a rule.")
    var name: String?

    func validate() throws {
        if writes, name != nil || rule { throw ValidationError("Give a name or --writes, not both.") }
        if !writes, name == nil { throw ValidationError("Give the name of a connection or a rule, or --writes.") }
    }

    /// - Parameter isLenient: whether the name may be of anything that is paused, which bellhop.yaml may have named before.
    func target(_ link: StoreLink, isLenient: Bool = false) async throws(CommandError) -> PauseTarget {
        guard let name, !writes else { return .writes }
        let status = try await link.answer(.status)
        func names(_ list: String, _ member: String) -> [String] {
            status[list].elements.compactMap { $0[member]?.asString }
        }
        let rules = Set(names("rules", "rule") + (isLenient ? names("paused", "rule") : []))
        if rule {
            guard rules.contains(name) else {
                throw CommandError(.usage, Suggestion.unknownRule(name, among: rules.sorted()))
            }
            return .rule(name)
        }
        // The connections of an agent on another machine are not known here.
        let isReceiver =
            link.connections[name] != nil || (link.console != nil && !rules.contains(name))
            || (isLenient && names("stopped", "receiver").contains(name))
        if isReceiver, rules.contains(name) {
            // If only the rule is paused, end its pause.
            if isLenient, names("paused", "rule").contains(name), !names("stopped", "receiver").contains(name) {
                return .rule(name)
            }
            if isLenient { return .receiver(name) }
            throw CommandError(
                .problem,
                "A connection and a rule are named `\(name.visible)`: `bellhop pause --rule \(name.visible)` for the rule.")
        }
        if isReceiver { return .receiver(name) }
        if rules.contains(name) { return .rule(name) }
        let known = (Array(link.connections.keys) + rules).sorted()
        throw CommandError(.usage, Suggestion.unknown("connection and no rule", name, among: known))
    }
}
