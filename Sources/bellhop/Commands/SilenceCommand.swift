import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules
import Glibc

struct SilenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "silence", abstract: "Keep messages back for a time: add, list and end silences.",
        discussion: """
            While a silence lasts, the messages that it covers are made and recorded as `silenced`, but never sent, also not \
            afterwards. A message is covered if it fits all of --when, --rule and --receiver. Writes to tasks are still made, unless the \
            silence says --writes.

            A silence is in force at once, also in a running agent, and survives a restart. `bellhop status` shows active \
            silences. Silences that recur belong under `silences` in bellhop.yaml.
            """,
        subcommands: [SilenceAdd.self, SilenceList.self, SilenceEnd.self], defaultSubcommand: SilenceList.self)
}

struct SilenceAdd: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Begin a silence, and print its id.",
        discussion:
            "Example: `bellhop silence add --for 4h --when 'task.assignment_group == \"Network\"' --reason 'switch update'`")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Only messages for which this condition holds: an expression as in a rule's `when`.")
    var when: String?

    @Option(help: "Only messages of this rule. May be given several times.")
    var rule: [String] = []

    @Option(help: "Only messages to this connection. May be given several times.")
    var receiver: [String] = []

    @Flag(help: "Every message, instead of --when, --rule and --receiver.")
    var all = false

    @Option(help: "When it begins, such as '2026-12-24 18:00' in the time zone of bellhop.yaml; by default now.")
    var from: String?

    @Option(name: .customLong("for"), parsing: .unconditional, help: "How long it lasts: 90s, 15m, 4h, 7d.")
    var span: String?

    @Option(help: "The moment when it ends, instead of --for.")
    var until: String?

    @Option(help: "The reason that `bellhop status` shows.")
    var reason = ""

    @Flag(help: "Also keep back what writes to a task or creates one.")
    var writes = false

    func validate() throws {
        guard (span == nil) != (until == nil) else { throw ValidationError("Give either --for or --until.") }
        try DurationText.validate(span, option: "--for")
        if let span, let time = try? DurationText.parse(span), time <= .zero {
            throw ValidationError("--for: a silence must last longer than 0.")
        }
        for (name, text) in [("--from", from), ("--until", until)] {
            if let text, Timestamp(text, in: .utc) == nil {
                throw ValidationError(
                    "\(name): `\(text.visible)` is not a time such as '2026-12-24 18:00' or 2026-12-24T18:00:00Z.")
            }
        }
        let isNarrow = when != nil || !rule.isEmpty || !receiver.isEmpty
        if all, isNarrow { throw ValidationError("--all cannot be combined with --when, --rule or --receiver.") }
        if !all, !isNarrow {
            throw ValidationError("Say which messages to keep back: --when, --rule or --receiver; or --all for every message.")
        }
    }

    func run() async throws {
        let link = try config.storeLink()
        let now = SystemClock().now
        let starts = from.flatMap { Timestamp($0, in: link.zone) } ?? now
        let ends =
            until.flatMap { Timestamp($0, in: link.zone) } ?? span.flatMap { try? DurationText.parse($0) }.map { starts + $0 }
            ?? now
        guard starts < ends, ends > now else {
            throw CommandError(
                .problem, starts < ends ? "The end of the silence is in the past." : "The silence ends before it begins.")
        }
        // Times are stored in RFC 3339.
        guard Timestamp(rfc3339: ends.rfc3339) != nil else {
            throw CommandError(.problem, "The silence ends after the year 9999: give an earlier --from or a shorter --for.")
        }
        for name in receiver where link.console == nil && link.connections[name] == nil {
            throw CommandError(.usage, Suggestion.unknown("connection", name, among: link.connections.keys.sorted()))
        }
        try await link.checkRules(rule)
        // A console checks the condition against its agent's own rules.
        if let when, link.console == nil {
            let workspace = try await Workspace.open(config.files, mayLackConfiguration: false, focus: .shape)
            let problems = SilenceBook.problems(of: when, context: workspace.context)
            if problems.hasErrors { throw CommandError(problems) }
        }
        let silence = Silence(
            when: when, rules: rule, receivers: receiver, starts: starts, ends: ends, reason: reason,
            by: Person.current?.user ?? "", writes: writes)
        let answer = try await link.answer(.addSilence(silence))
        if output.json { return Console.json(answer) }
        let begins = starts > now ? "from \(link.zone.dateAndClock(starts)) " : ""
        Console.sentence(
            "It keeps back \(SilenceList.covered(.object(silence.json))), \(begins)until \(link.zone.dateAndClock(ends)).")
        Console.data(answer["id"].textOrEmpty)
    }
}

struct SilenceList: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the active and the future silences.",
        discussion: "KEPT is how many deliveries a silence has kept back: `bellhop deliveries --state silenced` lists them.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "List also those that ended recently.")
    var all = false

    /// What follows `bellhop silence` without `add`, such as a rule's name.
    @Argument(parsing: .allUnrecognized, help: .hidden)
    var others: [String] = []

    func validate() throws {
        guard let other = others.first else { return }
        let covers = other.hasPrefix("-") ? " --rule RULE" : " --rule \(other.visible)"
        let receiver = other.hasPrefix("-") ? "" : ", or with `--receiver \(other.visible)`"
        throw ValidationError(
            "`bellhop silence list` does not take `\(other.visible)`. To begin a silence: `bellhop silence add\(covers) --for 4h`\(receiver)."
        )
    }

    func run() async throws {
        let link = try config.storeLink()
        let answer = try await link.answer(.silences(ended: all))
        if output.json { return Console.json(answer) }
        let silences = answer["silences"].elements
        if silences.isEmpty { return Console.note("There are no silences.") }
        let now = SystemClock().now
        var table = Table([
            .init("ID"), .init("STATE", rank: 3), .init("STARTS", rank: 4), .init("ENDS", rank: 1), .init("KEPT", rank: 2),
            .init("BY", rank: 5), .init("COVERS", rank: 6), .init("REASON", rank: 7),
        ])
        for silence in silences { table.add(Self.row(silence, in: link.zone, at: now)) }
        table.print()
    }

    /// One silence as a row. One that a person ended shows when that was.
    static func row(_ silence: JSON, in zone: TimeZoneTable, at now: Timestamp) -> [String] {
        // An agent that was away ends a silence late.
        let end = SilenceRecord(json: silence)?.lasted.ends
        let isOver = silence["ended"] != nil || end.map { $0 <= now } ?? false
        let state = silence["problem"] != nil ? "mistaken" : silence["active"] == true ? "active" : "ahead"
        return [
            silence["id"].textOrEmpty, isOver ? "ended" : state,
            silence["starts"].words(in: zone), end.map(zone.dateAndClock) ?? "-", "\(silence["kept"]?.asInt ?? 0)",
            silence["by"].textOrEmpty.singleLine, covered(silence), silence["reason"].textOrEmpty.singleLine,
        ]
    }

    /// `messages of rule urgent to ops when …`.
    static func covered(_ silence: JSON) -> String {
        let (rules, receivers) = (silence["rules"].texts, silence["receivers"].texts)
        var parts: [String] = []
        if !rules.isEmpty { parts.append("of rule \(rules.joined(separator: ", "))") }
        if !receivers.isEmpty { parts.append("to \(receivers.joined(separator: ", "))") }
        if let when = silence["when"]?.asString { parts.append("when \(when.singleLine)") }
        let coversWrites = silence["writes"] == true
        if parts.isEmpty { return coversWrites ? "every message and write" : "every message" }
        return (coversWrites ? "messages and writes " : "messages ") + parts.joined(separator: " ")
    }
}

struct SilenceEnd: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "End a silence before its time.",
        discussion: "What it kept back is not sent. A silence of bellhop.yaml that recurs begins again at its next time.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The silence's id, as `bellhop silence list` shows it, or the start of it.")
    var id: String

    func run() async throws {
        let answer = try await config.storeLink().answer(.endSilence(id))
        if output.json { return Console.json(answer) }
        if let record = SilenceRecord(json: answer), record.lasted.ends < record.silence.starts {
            return Console.data("Silence \(record.silence.id.visible) is cancelled: it had not begun.")
        }
        let kept = answer["kept"]?.asInt ?? 0
        Console.data(
            "Silence \(answer["id"].textOrEmpty) has ended. It kept back \(kept == 0 ? "nothing" : counted(kept, "delivery", "deliveries"))."
        )
    }
}
