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

            A pause survives a restart, and `bellhop status` shows it. Bellhop itself pauses a connection whose address no longer exists, or \
            whose token is not accepted any more (401, 404, 410). Repair it in bellhop.yaml, then resume it.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var paused: PausedOptions

    @Option(help: "The reason that `bellhop status` shows.")
    var why = "paused by hand"

    func run() async throws {
        let link = try config.storeLink()
        switch try await paused.target(link) {
        case .receiver(let name):
            let answer = try await link.answer(.pause(receiver: name, why: why))
            show(answer, "\(name) is paused: its deliveries wait until `bellhop resume \(name)`.", "\(name) was already paused.")
        case .subject(.rule(let name)):
            let answer = try await link.answer(.pauseSubject(.rule(name), why: why))
            show(
                answer, "Rule \(name) is paused: it sees no events until `bellhop resume \(name)`.",
                "Rule \(name) was already paused.")
        case .subject(.writes):
            let answer = try await link.answer(.pauseSubject(.writes, why: why))
            show(
                answer, "Writes to tasks are paused: they wait until `bellhop resume --writes`.",
                "Writes to tasks were already paused.")
        }
    }

    private func show(_ answer: JSON, _ changed: String, _ unchanged: String) {
        if output.json { return Console.json(answer) }
        Console.data(answer["changed"] == true ? changed : unchanged)
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
        let (answer, name): (JSON, String)
        switch try await paused.target(link, isLenient: true) {
        case .receiver(let receiver): (answer, name) = (try await link.answer(.resume(receiver: receiver)), receiver.visible)
        case .subject(.rule(let rule)):
            (answer, name) = (try await link.answer(.resumeSubject(.rule(rule))), "Rule \(rule.visible)")
        case .subject(.writes): (answer, name) = (try await link.answer(.resumeSubject(.writes)), "Writing to tasks")
        }
        if output.json { return Console.json(answer) }
        guard answer["changed"] == true else {
            throw CommandError(.problem, "\(name) is not paused: `bellhop status` lists all pauses.")
        }
        Console.data("\(name) is resumed.")
    }
}

/// The options that select what is paused or resumed.
struct PausedOptions: ParsableArguments {
    enum Target {
        case receiver(String)
        case subject(Pause.Subject)
    }

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

    /// - Parameter isLenient: whether an unknown name is taken for a receiver, which bellhop.yaml may have named before.
    func target(_ link: StoreLink, isLenient: Bool = false) async throws(CommandError) -> Target {
        guard let name, !writes else { return .subject(.writes) }
        if rule { return .subject(.rule(name)) }
        let status = try await link.answer(.status)
        func names(_ list: String, _ member: String) -> [String] {
            status[list].elements.compactMap { $0[member]?.asString }
        }
        let rules = names("rules", "rule") + (isLenient ? names("paused", "rule") : [])
        // The connections of an agent on another machine are not known here.
        let isReceiver =
            link.connections[name] != nil || (link.console != nil && !rules.contains(name))
            || (isLenient && names("stopped", "receiver").contains(name))
        if isReceiver, rules.contains(name) {
            // If only the rule is paused, end its pause.
            if isLenient, names("paused", "rule").contains(name), !names("stopped", "receiver").contains(name) {
                return .subject(.rule(name))
            }
            if isLenient { return .receiver(name) }
            throw CommandError(
                .problem,
                "A connection and a rule are named `\(name.visible)`: `bellhop pause --rule \(name.visible)` for the rule.")
        }
        if isReceiver { return .receiver(name) }
        if rules.contains(name) { return .subject(.rule(name)) }
        if isLenient { return .receiver(name) }
        let known = (Array(link.connections.keys) + rules).sorted()
        throw CommandError(.problem, Suggestion.unknown("connection and no rule", name, among: known))
    }
}
