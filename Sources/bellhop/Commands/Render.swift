import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct Render: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "render", abstract: "Show what a rule sends for an event or a task, to each receiver.",
        discussion: """
            Renders the steps, also those of `escalate`, with the agent's own code, and sends nothing. It uses the present rule files. \
            A rule with a schedule needs no event and no task, unless it runs for `each` task of a list. If the rule would not run, \
            the command says why and still renders the steps; `once`, `throttle`, silences and the like are ignored. With --json, \
            each delivery has the exact body of its request, without secrets.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "A stored event: its id, or the start of one.")
    var event: String?

    @Option(help: "A task as last polled: its number or sys_id.")
    var task: String?

    @Option(help: "Only what goes to this connection.")
    var to: String?

    @Argument(help: "The rule's name.")
    var rule: String

    func validate() throws {
        if event != nil, task != nil { throw ValidationError("A rule is rendered for an event or a task: give one of them.") }
    }

    func run() async throws {
        let workspace = try await Workspace.open(config, mayLackConfiguration: false, focus: .shape)
        let book = try await workspace.book(toExplain: true)
        let names = book.rules.map(\.name)
        guard names.contains(rule) else { throw CommandError(.usage, Suggestion.unknown("rule", rule, among: names.sorted())) }
        let subjects = StoredSubjects(config: config, context: workspace.context)
        let subject: RuleBook.RenderingSubject
        var polled: PolledTask?
        if let event {
            subject = .event(try await subjects.event(event))
        } else if let task {
            let sources = book.rules.first { $0.name == rule }?.sources ?? []
            let found = try await subjects.task(task, preferred: sources)
            subject = .task(found.snapshot, source: found.source)
            polled = found
        } else if book.runsBySchedule(rule) {
            subject = .schedule
        } else {
            throw CommandError(
                .usage, "Rule \(rule.visible) is rendered for an event or a task: give --event ID or --task NUMBER.")
        }
        guard let run = book.render(rule, for: subject, tasks: try await subjects.tasks(), at: SystemClock().now) else { return }
        let link = try config.storeLink()
        var deliveries = run.deliveries
        if let to {
            deliveries.removeAll { $0.id.receiver != to }
            let receivers = run.deliveries.map(\.id.receiver)
            if deliveries.isEmpty { throw nothing(to: to, receivers, Array(link.connections.keys)) }
        }
        if let polled, !output.json { Console.sentence(polled.sentence) }
        show(run, deliveries.map { $0.rendered(to: link.connections[$0.id.receiver]) })
        if !run.errors.isEmpty { throw ExitCode(CommandError.Code.problem.rawValue) }
    }

    private func nothing(to name: String, _ receivers: [String], _ connections: [String]) -> CommandError {
        guard connections.contains(name) else {
            return CommandError(.usage, Suggestion.unknown("connection", name, among: connections.sorted()))
        }
        if receivers.isEmpty { return CommandError(.problem, "Rule \(rule.visible) sends nothing for this.") }
        let others = Set(receivers).sorted().joined(separator: ", ")
        return CommandError(.problem, "Rule \(rule.visible) does not send to \(name.visible), only to \(others).")
    }

    private func show(_ run: RenderedRun, _ deliveries: [JSON]) {
        if output.json {
            return Console.json([
                "rule": .string(rule), "runs": .bool(run.objections.isEmpty), "why": .array(run.objections.map(JSON.string)),
                "errors": .array(run.errors.map(JSON.string)), "without_value": .array(run.withoutValue.map(JSON.string)),
                "deliveries": .array(deliveries),
            ])
        }
        if !run.objections.isEmpty {
            Console.note("Rule \(rule.visible) would not run for this: \(run.objections.joined(separator: "; ")).")
        }
        for error in run.errors { Console.note(Paint.red("error:", if: Console.noteHasColour) + " " + error.visible) }
        for text in run.withoutValue { Console.note("`\(text.singleLine)` has no value here, and its place stays empty.") }
        if deliveries.isEmpty { return Console.note("No step of the rule does anything for this.") }
        for (place, delivery) in deliveries.enumerated() {
            if place > 0 { Console.data("") }
            func text(_ name: String) -> String { delivery[name].textOrEmpty.visible }
            Console.data(Paint.bold("\(text("action")) to \(text("receiver"))") + Paint.dim(" (step \(text("step")))"))
            let content = delivery["message"]?["text"]?.asString ?? (delivery["arguments"] ?? .null).text(.pretty)
            Console.data(content.visibleLines)
        }
    }
}
