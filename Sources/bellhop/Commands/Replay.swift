import ArgumentParser
import BellhopAgent
import BellhopCore

struct ReplayCommand: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Route stored events through the rules again.",
        discussion: """
            Shows what the rules in force would do now, also for the events that they emit, and asks for confirmation. A replay makes new deliveries, even if those of the \
            event itself are done. `once` and `throttle` apply as they are now, unless --force; `mode: shadow` stays shadow. A comment \
            is not written again if this account has written the same text to the task since the event. A replay does not end waits \
            or escalations.

            Works beside a running agent; without one, the events are routed at its next start.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Only through this rule.")
    var rule: String?

    @Flag(help: "Only show what would be done.")
    var dryRun = false

    @Flag(help: "Ignore `once` and `throttle`.")
    var force = false

    @Flag(name: [.long, .customShort("y")], help: "Do not ask.")
    var yes = false

    @Argument(help: "Ids of events, or starts of ids that fit only one event.")
    var events: [String]

    func run() async throws {
        var link = try config.storeLink()
        if try await link.answer(.status)["agent"]?.isNull ?? true {
            link.book = try await Workspace.open(config.localFiles(), mayLackConfiguration: false, focus: .shape).book()
        }
        if let rule { try await link.checkRules([rule]) }
        var request = ReplayRequest(events: events, rule: rule, isForced: force, isTrial: true)
        let trial = try await link.answer(.replay(request))
        let shown = trial["events"].elements
        if output.json {
            if dryRun { return Console.json(trial) }
        } else {
            for event in shown { show(event, in: link) }
        }
        if dryRun { return }
        if !yes { try Console.confirm("Replay \(counted(shown.count, "event"))") }
        // Replay exactly the events that were shown.
        request.events = shown.compactMap { $0["id"]?.asString }
        request.isTrial = false
        let answer = try await link.answer(.replay(request))
        if output.json { return Console.json(answer) }
        let count = answer["replayed"]?.asInt ?? 0
        let when = answer["agent"] == true ? "now" : "at the agent's next start"
        Console.data("\(counted(count, "event is", "events are")) routed again \(when).")
    }

    private func show(_ event: JSON, in link: StoreLink) {
        func text(_ json: JSON, _ name: String) -> String { json[name].textOrEmpty.singleLine.visible }
        let time = text(event, "time").withLocalTimes(in: link.zone)
        // With --dry-run this is the command's data; otherwise it precedes a question.
        let print: (String) -> Void = dryRun ? { Console.data($0) } : { Console.note($0) }
        print(
            "\(text(event, "id").prefix(12))  \(time)  \(text(event, "type")) of \(text(event, "source")), \(text(event, "subject")):"
        )
        var lines = event["deliveries"].elements.map { delivery in
            let state = text(delivery, "state")
            let arguments = delivery["arguments"]
            let content = delivery["message"]?["title"]?.asString ?? arguments?["text"]?.asString ?? arguments?.text ?? ""
            return
                "rule \(text(delivery, "rule")): \(text(delivery, "action")) to \(text(delivery, "receiver")) “\(content.singleLine.visible.cut(to: 60))”"
                + (state == "available" ? "" : " (\(state))")
        }
        lines += event["stops"].elements.map { stop in
            let reason = text(stop, "reason").withLocalTimes(in: link.zone, ofAnyOffset: true)
            return "rule \(text(stop, "rule"))\(stop["prevents"] == true ? " does not run" : ""): \(reason)"
        }
        // A wait of `none` that starts again has no record.
        let recorded = Set(event["stops"].elements.map { text($0, "rule") })
        lines += event["waits"].elements.filter { !recorded.contains(text($0, "rule")) }.map { wait in
            "rule \(text(wait, "rule")) waits until \(text(wait, "due").withLocalTimes(in: link.zone))"
        }
        if lines.isEmpty { lines = [rule.map { "rule \($0.visible) does not run for it" } ?? "no rule runs for it"] }
        for line in lines { print("  " + line) }
    }
}
