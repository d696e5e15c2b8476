import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct Explain: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show what rules did for a task or an event, and why.",
        discussion: """
            For each event, the rules that might have run: whether they ran, or what stopped them, with the value of each part \
            of the condition; their deliveries with each attempt and answer; and the events that they caused. What happened is read \
            from the store. Why a rule did not run is found by evaluating the rules of the files again; the output says which of \
            them have changed since.

            --rule R explains only this rule, even for events of other types or sources. The name of a rule with a schedule, instead \
            of a task, explains its last planned times, and says when it is due next.

            With --console, the agent there explains, with the rules that are in force.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Only this rule.")
    var rule: String?

    @Flag(help: "Causes and effects as a tree: events, deliveries, and the events that these runs emitted.")
    var tree = false

    @Flag(help: "Print a test case: it expects that the same events lead to the same actions.")
    var asTest = false

    @Option(help: "With --as-test: `nothing`, to expect that the rules do nothing.")
    var expect: String?

    @Option(help: "How many of the task's newest events.")
    var limit = 50

    @Argument(
        help: "A task's number or sys_id; an event's id, or a start that fits only one; or the name of a rule with a schedule.")
    var subject: String

    func validate() throws {
        if !(1...HistoryQuery.maxEvents).contains(limit) {
            throw ValidationError("--limit must be from 1 to \(HistoryQuery.maxEvents).")
        }
        if tree, output.json || rule != nil { throw ValidationError("--tree cannot be combined with --json or --rule.") }
        if asTest, tree || output.json { throw ValidationError("--as-test cannot be combined with --json or --tree.") }
        if let expect, expect != "nothing" { throw ValidationError("--expect takes only `nothing`.") }
        if expect != nil, !asTest { throw ValidationError("--expect nothing needs --as-test.") }
        if config.console != nil, !tree, limit > Self.maxThroughConsole {
            throw ValidationError("With --console, --limit must be from 1 to \(Self.maxThroughConsole).")
        }
        if subject.isEmpty { throw ValidationError("Name a task or an event.") }
    }

    func run() async throws {
        if asTest { _ = try config.localFiles() }
        let link = try config.storeLink()
        let found = try await facts(link)
        if let console = link.console { return try await explain(console, link, found) }
        let workspace = try await Workspace.open(config.files, mayLackConfiguration: false, focus: .shape)
        let book: RuleBook?
        do throws(CommandError) {
            book = try await workspace.book(toExplain: true)
        } catch {
            book = nil
            Console.note(Self.withoutRules)
        }
        if let book { try checkRule(among: book.rules.map(\.name), found?.facts) }
        guard let (facts, _) = found else {
            let reach = book?.rules.first { $0.name == rule }.map {
                RuleReach(name: $0.name, types: $0.types.map(\.name), sources: $0.sources)
            }
            return try await explainAbsence(link, reach, hasRules: book != nil)
        }
        if tree { return printTree(facts, link) }
        if asTest { return try await printTest(facts, book, workspace, link) }
        let subjects = StoredSubjects(config: config.files, context: workspace.context)
        let tasks = try await subjects.tasks(in: book?.scopesRead(toJudge: facts.events, by: rule) ?? [])
        show(
            Explanation(facts, by: book, rule: rule, tasks: tasks, at: SystemClock().now),
            hasRules: book != nil, in: link.zone)
        try await showNextTime(after: facts, link)
    }

    /// The types of events and the sources that a rule is for.
    struct RuleReach {
        var name: String
        var types: [String]
        /// Empty for all.
        var sources: [String]
    }

    /// - Throws: if `--rule` names a rule that neither the files nor the stored records have.
    func checkRule(among known: [String], _ facts: ExplanationFacts?) throws(CommandError) {
        guard let rule, !known.contains(rule) else { return }
        let recorded = (facts?.deliveries.map(\.rule) ?? []) + (facts?.decisions.map(\.rule) ?? [])
        if recorded.contains(rule) { return }
        throw CommandError(.usage, Suggestion.unknownRule(rule, among: known))
    }

    func printTree(_ facts: ExplanationFacts, _ link: StoreLink) {
        for line in CauseTree(facts, ExplanationPage(zone: link.zone, isWhole: false)).lines { Self.print(line) }
    }

    /// Prints an explanation as lines for people or as JSON.
    func show(_ explanation: Explanation, hasRules: Bool, in zone: TimeZoneTable) {
        if output.json { return Console.json(explanation.json(isWhole: rule != nil, hasRules: hasRules)) }
        let page = ExplanationPage(zone: zone, isWhole: rule != nil, lacksRules: !hasRules)
        for line in page.lines(explanation) { Self.print(line) }
    }

    private static func print(_ line: String) {
        Console.data(line.wrapped(to: Screen.dataWidth, indent: line.prefix { $0 == " " }.count + 4))
    }

    static let withoutRules = "The rules do not load, so only what was recorded is shown: see `bellhop check`."

    /// The stored history of the subject, which is a task or otherwise an event; nil if nothing is stored.
    private func facts(_ link: StoreLink) async throws(CommandError) -> (facts: ExplanationFacts, areOfTask: Bool)? {
        let ofTask = try await link.history(HistoryQuery(task: subject, withCauses: tree, limit: limit))
        if !ofTask.events.isEmpty { return (ofTask, true) }
        var facts = try await link.history(HistoryQuery(event: subject, limit: 2))
        guard let first = facts.events.first else { return nil }
        if facts.events.count > 1, !facts.events.contains(where: { $0.event.id.text == subject }) {
            throw CommandError(
                .problem, "Several events begin with \(subject.visible), such as \(first.event.id.text). Give more of the id.")
        }
        if tree { facts = try await link.history(HistoryQuery(event: first.event.id.text, withCauses: true, limit: 1)) }
        return (facts, false)
    }

    /// Prints a test case: for all stored events of the task, or for one event.
    private func printTest(
        _ facts: ExplanationFacts, _ book: RuleBook?, _ workspace: Workspace, _ link: StoreLink
    ) async throws(CommandError) {
        guard let book else { throw CommandError(.problem, "Without rules there is nothing to test: see `bellhop check`.") }
        guard let last = facts.events.last else { return }
        let event = last.event.id.text.hasPrefix(subject) ? last : nil
        var known = [facts]
        if event != nil { known.append(try await link.history(HistoryQuery(task: last.event.subject, limit: limit))) }
        let place = known.flatMap(\.events).map(\.sequence).max() ?? last.sequence
        known.append(try await link.history(HistoryQuery(through: place, limit: Self.maxNeighbours)))
        known[0].takeSilences(try await link.answer(.silences(ended: true)))
        let found = RuleFinder.find(workspace.rulePaths, isImplicit: workspace.hasDefaultRules)
        let test = try rethrowing(as: CommandError.init) { () throws(Diagnostics) in
            try ExplainedTest(
                of: event, in: known, rule: rule, expectsNothing: expect != nil, by: book, files: found.rules,
                context: workspace.context)
        }
        for line in test.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() { Console.data(String(line)) }
        if test.problems.isEmpty || expect != nil { return }
        Console.note("This test does not pass yet: a relevant fact is missing from it, or the rules have changed since:")
        for problem in test.problems { Console.note(problem.rendered()) }
    }

    /// The most events of other tasks to include, for rules that count or group over tasks.
    private static let maxNeighbours = 500

    /// Says which sources could have shown the task, and when they were polled last.
    func explainAbsence(_ link: StoreLink, _ reach: RuleReach?, hasRules: Bool) async throws(CommandError) {
        if try await explainRuleWithoutTimes(link, hasRules: hasRules) { return }
        let status = try await link.answer(.status)["sources"].elements
        let wanted = reach?.sources ?? []
        var lines = status.compactMap { source -> String? in
            guard let name = source["source"]?.asString, wanted.isEmpty || wanted.contains(name) else { return nil }
            let poll = source["last_poll"]?.asMoment
            let looked = poll.map { "last poll at \(link.zone.dateAndClock($0))" } ?? "not polled yet"
            let error = source["error"]?.asString.map { "; it fails: \($0.singleLine.visible)" } ?? ""
            return "  \(name.visible): \(looked)\(error)"
        }
        for name in wanted where !status.contains(where: { $0["source"]?.asString == name }) {
            lines.append("  \(name.visible): no agent has polled it yet")
        }
        for row in try await link.rows(.tasks(subject)) {
            let source = row["task"]?["source"]?.asString ?? ""
            lines.append("  \(source.visible) shows the task now, and no event about it is kept")
        }
        let who = reach.map { "Rule \($0.name.visible) is for \($0.types.map(\.visible).joined(separator: ", ")). " } ?? ""
        if output.json {
            let sources = status.filter { source in wanted.isEmpty || wanted.contains { source["source"]?.asString == $0 } }
            let shown = sources.map { source -> JSON in
                [
                    "source": source["source"] ?? .null, "last_poll": source["last_poll"] ?? .null,
                    "error": source["error"] ?? .null,
                ]
            }
            printNothing(["sources": .array(shown)], hasRules: hasRules)
        } else if !lines.isEmpty {
            Console.data("\(who)An event about it would come from:")
            for line in lines { Console.data(line) }
        }
        throw CommandError(
            .problem,
            "There is no event `\(subject.visible)`, and no event about a task of this name. \(try await kept(link)) A task that existed "
                + "at the first poll of its source has no event. `bellhop events` lists the stored events.")
    }

    /// Prints an explanation of no event as JSON, with further members.
    func printNothing(_ members: JSON.Object, hasRules: Bool) {
        let nothing = Explanation(ExplanationFacts(events: []), by: nil, at: SystemClock().now)
        var json = nothing.json(isWhole: true, hasRules: hasRules)
        for (name, value) in members { json[name] = value }
        Console.json(json)
    }

    /// A sentence about the oldest stored event.
    func kept(_ link: StoreLink) async throws(CommandError) -> String {
        let oldest = try await link.rows(.events(EventQuery(after: 0, limit: 1))).first
        guard let time = oldest?["time"]?.asMoment else { return "No event is stored." }
        let moment = link.zone.dateAndClock(time)
        return "The oldest stored event is from \(moment). Events are deleted after `retention`, unless a rule still needs them."
    }
}

extension Explain {
    static let maxThroughConsole = 1000

    /// Lets an agent on another machine explain, with its rules in force.
    /// - Parameter found: the stored history of the subject; nil if nothing is stored.
    func explain(
        _ console: ConsoleClient, _ link: StoreLink, _ found: (facts: ExplanationFacts, areOfTask: Bool)?
    ) async throws(CommandError) {
        let reaches = rule == nil ? [] : try await Self.reaches(console)
        try checkRule(among: reaches.map(\.name), found?.facts)
        guard let (facts, areOfTask) = found,
            let event = facts.events.first(where: { $0.event.id.text == subject }) ?? facts.events.first
        else { return try await explainAbsence(link, reaches.first { $0.name == rule }, hasRules: true) }
        if tree { return printTree(facts, link) }
        let about = areOfTask ? ("task", subject) : ("event", event.event.id.text)
        let json = try await console.get("explanations", [about, ("limit", "\(limit)")] + (rule.map { [("rule", $0)] } ?? []))
        guard let explanation = Explanation(json: json), let hasRules = json["rules_loaded"]?.asBool else {
            throw ConsoleClient.notUnderstood
        }
        if !hasRules { Console.note(Self.withoutRules) }
        if output.json { return Console.json(json) }
        show(explanation, hasRules: hasRules, in: link.zone)
        try await showNextTime(after: facts, link)
    }

    /// The types and sources of the agent's rules in force.
    private static func reaches(_ console: ConsoleClient) async throws(CommandError) -> [RuleReach] {
        try await console.rules().map { rule in
            RuleReach(name: rule["rule"].textOrEmpty, types: rule["types"].texts, sources: rule["sources"].texts)
        }
    }
}

extension StoreLink {
    func history(_ query: HistoryQuery) async throws(CommandError) -> ExplanationFacts {
        var rows: [JSON] = []
        let end = try await answer(.history(query)) { rows.append($0) }
        return ExplanationFacts(rows: rows, end: end)
    }
}

/// Causes and effects as a tree: from the first causes of some events to the last events that they caused.
private struct CauseTree {
    let page: ExplanationPage
    private let deliveries: [Event.ID: [ExplainedDelivery]]
    private let caused: [Event.ID: [StoredEvent]]
    private let roots: [StoredEvent]

    /// - Parameter facts: the history, with the events in the chain of causes.
    init(_ facts: ExplanationFacts, _ page: ExplanationPage) {
        self.page = page
        deliveries = facts.deliveriesByEvent
        let known = Set(facts.events.map(\.event.id))
        roots = facts.events.filter { event in !(event.event.cause.map(known.contains) ?? false) }
        caused = Dictionary(grouping: facts.events.filter { $0.event.cause != nil }) { $0.event.cause ?? $0.event.id }
    }

    var lines: [String] {
        var lines: [String] = []
        for event in roots { add(event, depth: 0, &lines) }
        return lines
    }

    /// The recursion ends, because an event is stored after its cause.
    private func add(_ event: StoredEvent, depth: Int, _ lines: inout [String]) {
        let indent = String(repeating: "    ", count: depth)
        lines.append(indent + page.head(event.event))
        for delivery in deliveries[event.event.id] ?? [] {
            lines += page.lines(delivery, rule: delivery.rule).map { indent + $0.dropFirst(2) }
        }
        for caused in caused[event.event.id] ?? [] { add(caused, depth: depth + 1, &lines) }
    }
}
