import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

/// The tests that `bellhop explain --as-test` generates.
@Suite struct `Tests generated from history` {
    /// Rules with a history in which they run and are stopped.
    enum Story: String, CaseIterable, CustomTestStringConvertible {
        case plain, once, throttled, waits, ends, counts, gathers, shadow, emits, escalates

        /// A title that means something in YAML.
        static let hostile = "a: [b]\n- ${{ task.id }} \"c\" # d"

        var testDescription: String { rawValue }

        var rules: String {
            let start = "rule: r\non: [task_created, task_changed]\n"
            let log = "do: [{log: \"${{ task.title }}\"}]"
            return switch self {
            case .plain:
                start + """
                    when: task.priority == 1
                    do:
                      - notify: {to: [chat, pager], title: "New: ${{ task.number }} ${{ task.title }}"}
                      - log: "${{ task.title }}"
                      - comment: Seen
                    ---
                    rule: other
                    on: task_removed
                    do: [{log: gone}]
                    """
            case .once: start + "once: task.id\n" + log
            case .throttled: start + "throttle: {every: 10m, by: task.priority}\n" + log
            case .waits, .ends: start + "when: task.priority == 1\nfor: 5m\n" + log
            case .counts: start + "count: {at_least: 3, within: 9m, by: task.priority}\ndo: [{log: \"${{ size(events) }}\"}]"
            case .gathers: start + "group: {by: task.priority, wait: 4m}\ndo: [{log: \"${{ size(events) }}\"}]"
            case .shadow: start + "mode: shadow\n" + log
            case .emits:
                start + "do: [{emit: {type: ping, data: {task: \"${{ task.id }}\"}}}]\n---\nrule: p\non: ping\ndo: [{log: ping}]"
            case .escalates: start + "when: task.priority == 1\n\(log)\nescalate: [{after: 2m, do: [{log: again}]}]"
            }
        }

        func play(to agent: TestAgent) async throws {
            try await agent.put("a", Self.hostile, thenWait: 1)
            try await agent.put("b", thenWait: 2)
            try await agent.put("a", "printer: [still] on fire", priority: self == .ends ? 2 : 1, thenWait: 1)
            try await agent.put("c", priority: self == .plain ? 3 : 1, thenWait: 7)
            try await agent.remove("a")
            try await agent.wait(3)
        }
    }

    @Test func `a generated test leaves out a text that would differ`() async throws {
        let rules = "rule: r\non: task_created\ndo: [{log: \"known ${{ task.id }}\"}, {log: \"of ${{ size(tasks) }}\"}]"
        // The task that was there before is in no event.
        let agent = try await TestAgent(rules, [task("z", "x")])
        try await agent.put("a")
        let generator = try TestGenerator(rules, for: agent)
        let test = try generator.test(of: nil, in: [try await generator.facts()])
        #expect(test.problems == [])
        #expect(test.text.contains("known a") && !test.text.contains("of 2") && test.text.contains("log: {}"), "\(test.text)")
    }

    @Test(arguments: Story.allCases)
    func `a test generated from each event and each task passes with the present rules`(
        _ story: Story
    ) async throws {
        let agent = try await TestAgent(story.rules)
        try await story.play(to: agent)
        let generator = try TestGenerator(story.rules, for: agent)
        let bus = try await generator.facts()
        var acted = 0
        func check(_ event: StoredEvent?, _ facts: [ExplanationFacts]) throws {
            // Without the name of a rule, no case is generated if the event fits no rule.
            let all = try? generator.test(of: event, in: facts)
            let test = try generator.test(of: event, in: facts, rule: "r")
            #expect(all?.problems ?? [] == [] && test.problems == [], "\(all?.text ?? "")\(test.text)")
            #expect(all != nil || event?.event.type == .taskRemoved)
            let nothing = try generator.test(of: event, in: facts, rule: "r", expectsNothing: true)
            let file = RuleFile(path: "rules/nothing.test.yaml", bytes: Array(nothing.text.utf8))
            let results = try RuleTests.run([file], rules: generator.rules, context: generator.context)
            #expect(results.count == 1 && results[0].problems.isEmpty == test.text.contains("expect: []"), "\(nothing.text)")
            if !test.text.contains("expect: []") { acted += 1 }
        }
        let events = bus.events.filter { $0.event.task != nil }
        #expect(events.count == 5)
        for event in events {
            let own = try await generator.facts(HistoryQuery(event: event.event.id.text))
            let task = try await generator.facts(HistoryQuery(task: event.event.subject))
            try check(event, [own, task, bus])
            try check(nil, [task, bus])
        }
        #expect(acted > 0)
    }

    @Test func `a rule that runs only on its schedule cannot be tested with a task's events, and the answer says so`()
        async throws
    {
        let rules = "rule: hourly\non: {every: 1h}\ndo: [{log: \"${{ size(tasks) }}\"}]"
        let agent = try await TestAgent(rules)
        try await agent.put("a")
        let generator = try TestGenerator(rules, for: agent)
        let facts = try await generator.facts()
        let problems = #expect(throws: Diagnostics.self) { try generator.test(of: nil, in: [facts], rule: "hourly") }
        #expect(problems?.all.map(\.message) == ["rule `hourly` runs on its schedule, and not on these events"])
    }

    private func caseOfLastTask(in agent: TestAgent, by rules: String, rule: String? = nil) async throws -> ExplainedTest {
        let generator = try TestGenerator(rules, for: agent)
        let facts = try await generator.facts()
        let event = try #require(facts.events.last { $0.event.type == .taskCreated })
        return try generator.test(of: event, in: [facts], rule: rule)
    }

    @Test func `a generated case names its rules if other rules would do more in the test`() async throws {
        let deadMan = "rule: silence\non: {none: task_created, within: 2m, by: source}\ndo: [{log: silent}]"
        let hourly = "rule: hourly\non: {every: 1m}\ndo: [{log: tick}]"
        let rules = [Story.waits.rules, deadMan, hourly].joined(separator: "\n---\n")
        let agent = try await TestAgent(rules)
        try await agent.wait(90)
        try await agent.put("a", thenWait: 20)
        let test = try await caseOfLastTask(in: agent, by: rules)
        #expect(test.problems == [] && test.text.contains("only:") && test.text.contains("rule: r"), "\(test.text)")
        #expect(!test.text.contains("hourly"), "\(test.text)")
    }

    @Test func `a generated case for one rule names it, also if its file has no other rule`() async throws {
        let agent = try await TestAgent(Story.shadow.rules)
        try await agent.put("a")
        try await agent.wait(1)
        let one = try await caseOfLastTask(in: agent, by: Story.shadow.rules, rule: "r")
        let all = try await caseOfLastTask(in: agent, by: Story.shadow.rules)
        #expect(one.problems == [] && one.text.contains("only:"), "\(one.text)")
        #expect(all.problems == [] && !all.text.contains("only:"), "\(all.text)")
    }

    @Test func `a generated case expects the run of a silence, and not a message that a quiet time dropped`()
        async throws
    {
        let rules = """
            rule: silence
            on: {none: task_created, within: 2m, by: source}
            do: [{log: silent}]
            ---
            rule: dropped
            on: task_created
            quiet: {hours: "08:00-20:00", then: drop}
            do: [{notify: {to: chat, title: New}}, {log: made}]
            """
        let agent = try await TestAgent(rules)
        try await agent.put("a", thenWait: 20)
        let silence = try await caseOfLastTask(in: agent, by: rules, rule: "silence")
        let dropped = try await caseOfLastTask(in: agent, by: rules, rule: "dropped")
        #expect(silence.problems == [] && silence.text.contains("text: silent"), "\(silence.text)")
        #expect(
            dropped.problems == [] && dropped.text.contains("made") && !dropped.text.contains("title: New"), "\(dropped.text)")
    }

    @Test func `a generated case has the events of other tasks only if they are needed`() async throws {
        for (story, others) in [(Story.throttled, true), (.counts, true), (.plain, false), (.waits, false)] {
            let agent = try await TestAgent(story.rules)
            try await story.play(to: agent)
            let generator = try TestGenerator(story.rules, for: agent)
            let bus = try await generator.facts()
            let event = try #require(
                bus.events.last { $0.event.task?.key.text == (story == .counts ? "a" : "b") && $0.event.type != .taskRemoved })
            let own = try await generator.facts(HistoryQuery(event: event.event.id.text))
            let test = try generator.test(of: event, in: [own, bus], rule: "r")
            #expect(test.problems == [] && (test.text.contains("INC-a") && test.text.contains("INC-b")) == others, "\(test.text)")
        }
    }

    @Test func `a generated case of a silenced delivery has the silence, and a later case does not`() async throws {
        let rules = "rule: r\non: task_created\ndo: [{notify: {to: chat, title: \"${{ task.title }}\"}}]\n"
        let agent = try await TestAgent(rules)
        let silence = Silence(
            when: "task.priority == 1", starts: agent.bench.now, ends: agent.bench.now + .days(1), reason: "x", by: "ann"
        ).identified
        _ = try await agent.bench.store.add(silence, at: agent.bench.now)
        try await agent.put("a", thenWait: 2)
        _ = try await agent.bench.store.endSilence(silence.id, at: agent.bench.now)
        try await agent.wait(1)
        try await agent.put("b")
        let generator = try TestGenerator(rules, for: agent)
        var facts = try await generator.facts()
        let events = facts.events.filter { $0.event.task != nil }
        #expect(events.count == 2)
        #expect(try !generator.test(of: events[0], in: [facts], rule: "r").problems.isEmpty)
        facts.silences = try await agent.bench.store.silences()
        let silenced = try generator.test(of: events[0], in: [facts], rule: "r")
        let later = try generator.test(of: events[1], in: [facts], rule: "r")
        #expect(
            silenced.problems == [] && silenced.text.contains("silences") && silenced.text.contains("expect: []"),
            "\(silenced.text)")
        #expect(later.problems == [] && !later.text.contains("silences"), "\(later.text)")
    }

    @Test func `a generated case of a wait that ended early has its ending event and lasts until the wait's end`() async throws {
        let agent = try await TestAgent(Story.ends.rules)
        try await Story.ends.play(to: agent)
        let generator = try TestGenerator(Story.ends.rules, for: agent)
        let facts = try await generator.facts(HistoryQuery(task: "a"))
        let event = try #require(facts.events.first)
        let own = try await generator.facts(HistoryQuery(event: event.event.id.text))
        let test = try generator.test(of: event, in: [own, facts])
        #expect(test.problems == [] && test.text.contains("expect: []"))
        #expect(
            test.text.contains("task_changed") && test.text.contains((event.event.time + .seconds(300)).rfc3339), "\(test.text)")
    }

    @Test func `a case of an event that tests cannot give is refused`() async throws {
        let rules = "rule: r\non: {every: 5m}\ndo: [{log: x}]"
        let agent = try await TestAgent(rules)
        try await agent.wait(6)
        let generator = try TestGenerator(rules, for: agent)
        let facts = try await generator.facts()
        let event = try #require(facts.events.last { $0.event.type == .scheduleDue })
        #expect {
            try generator.test(of: event, in: [facts])
        } throws: { error in
            (error as? Diagnostics)?.all.map(\.code) == ["no-test"]
        }
    }
}

private struct TestGenerator {
    let rules: [RuleFile]
    let context: RuleContext
    private let book: RuleBook
    private let store: FaultyStore

    init(_ text: String, for agent: TestAgent) throws {
        rules = [RuleFile.test(text)]
        context = try RuleContext.test(sources: [agent.source])
        book = try RuleBook.loadToExplain(rules, context: context)
        store = agent.bench.store
    }

    /// The facts of a query; by default, of the whole history.
    func facts(_ query: HistoryQuery = HistoryQuery(through: .max / 2, limit: .max / 2)) async throws -> ExplanationFacts {
        ExplanationFacts(try await store.history(query))
    }

    func test(
        of event: StoredEvent?, in facts: [ExplanationFacts], rule: String? = nil, expectsNothing: Bool = false
    ) throws -> ExplainedTest {
        try ExplainedTest(
            of: event, in: facts, rule: rule, expectsNothing: expectsNothing, by: book, files: rules, context: context)
    }
}
