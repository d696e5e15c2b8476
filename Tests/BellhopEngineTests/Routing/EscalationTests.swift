import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

/// `escalate` and `until`, over a store and polls, in virtual time.
@Suite(.timeLimit(.minutes(5))) struct `Escalations` {
    static func rule(_ more: String = "", steps: String = steps) -> String {
        """
        rule: r
        on: [task_created, task_changed]
        when: task.priority == 1
        once: task.id
        \(more)
        do: [{log: "new ${{ task.id }}"}]
        escalate:
        \(steps)
        """
    }

    static let steps = """
          - {after: 15m, do: [{log: "remind ${{ task.id }} ${{ task.title }}"}]}
          - {after: 30m, repeat: {every: 10m, times: 2}, do: [{log: "call ${{ task.id }} ${{ event.type }} ${{ event.data.task.title }}"}]}
        """

    func verdicts(_ agent: TestAgent) async throws -> [String] {
        try await agent.bench.store.decisions(DecisionQuery(verdicts: [.answered, .ended], limit: 100)).map {
            "\($0.verdict.rawValue): \($0.detail["reason"]?.asString ?? "")"
        }
    }

    @Test func `the steps of a replay count from the replay, not from its old event`() async throws {
        let agent = try await TestAgent(
            "rule: r\non: task_created\ndo: [{log: new}]\nescalate: [{after: 15m, do: [{log: late}]}]")
        try await agent.put("a", thenWait: 60)
        let store = agent.bench.store
        let event = try #require(try await store.events(EventQuery(types: [.taskCreated], limit: 1)).first)
        try await store.replay([event], rule: nil, isForced: false, at: agent.bench.now)
        try await agent.wait(14)
        func late() async throws -> Int {
            try await agent.bench.deliveries().count { $0.delivery.id.occasion.run != $0.delivery.id.occasion }
        }
        #expect(try await late() == 1)
        try await agent.wait(2)
        #expect(try await late() == 2)
    }

    // MARK: Steps

    @Test func `each step runs after its time since the run, as often as its repeat says`() async throws {
        let agent = try await TestAgent(Self.rule())
        try await agent.put("a")
        #expect(try await agent.texts(after: 14) == ["new a"])
        #expect(try await agent.texts(after: 1) == ["new a", "remind a printer on fire"])
        #expect(try await agent.texts(after: 14).count == 2)
        #expect(
            try await agent.texts(after: 20).dropFirst(2) == [
                "call a task_created printer on fire", "call a task_created printer on fire",
            ])
        #expect(try await agent.texts(after: 60).count == 5)
        #expect(try await agent.bench.store.nextTimer() == nil)
        #expect(try await agent.bench.store.state(for: [.init(rule: "", kind: .escalation, key: "my-work/a")]).isEmpty)
    }

    @Test func `steps are ordered by time, then by their place in the list`() async throws {
        let steps = ["20m", "10m", "20m"].enumerated().map { "  - {after: \($1), do: [{log: \"\($0)\"}]}" }
        let agent = try await TestAgent(Self.rule(steps: steps.joined(separator: "\n")))
        try await agent.put("a")
        #expect(try await agent.texts(after: 30) == ["new a", "1", "0", "2"])
    }

    @Test func `the steps of a rule that are due at one moment come before those of the next rule`() async throws {
        func rule(_ name: String, _ steps: String...) -> String {
            let steps = steps.map { "{after: 10m, do: [{log: \($0)}]}" }.joined(separator: ", ")
            return "rule: \(name)\non: task_created\ndo: [{log: new}]\nescalate: [\(steps)]"
        }
        let agent = try await TestAgent(rule("a", "a1", "a2") + "\n---\n" + rule("b", "b1"))
        try await agent.put("x", thenWait: 10)
        #expect(try await agent.bench.deliveries().map(\.delivery.text) == ["new", "new", "a1", "a2", "b1"])
    }

    @Test func `a step has the current task and the event of the run`() async throws {
        let agent = try await TestAgent(Self.rule("until: task.state == 6"))
        try await agent.put("a", thenWait: 10)
        try await agent.put("a", "printer burnt down", thenWait: 21)
        #expect(agent.texts == ["new a", "remind a printer burnt down", "call a task_created printer on fire"])
    }

    @Test func `a run during an escalation begins no second one, but a run after the last step does`() async throws {
        let steps = "  - {after: 10m, do: [{log: \"step ${{ event.type }}\"}]}"
        let agent = try await TestAgent(Self.rule("until: task.state == 6", steps: steps).replacing("once: task.id", with: ""))
        try await agent.put("a", thenWait: 5)
        try await agent.put("a", "again")
        #expect(try await agent.texts(after: 15) == ["new a", "new a", "step task_created"])
        try await agent.put("a", "and again")
        #expect(try await agent.texts(after: 10) == ["new a", "new a", "step task_created", "new a", "step task_changed"])
    }

    @Test func `steps in days run after that many days`() async throws {
        let agent = try await TestAgent(Self.rule(steps: "  - {after: 3d, repeat: {every: 1d, times: 1}, do: [{log: late}]}"))
        try await agent.put("a")
        #expect(try await agent.bench.store.nextTimer() == agent.bench.now + .days(3))
        await agent.bench.clock.advance(by: .days(3))
        try await agent.runOnce()
        #expect(agent.texts == ["new a", "late"])
        #expect(try await agent.bench.store.nextTimer() == agent.bench.now + .days(1))
    }

    // MARK: Downtime

    @Test func `steps missed during downtime run once each, in order, with only one repetition`() async throws {
        let steps = Self.steps + "\n  - {after: 45m, do: [{log: last}]}"
        let agent = try await TestAgent(Self.rule(steps: steps))
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(3600 + 20))
        try await agent.runOnce()
        #expect(agent.texts == ["new a", "remind a printer on fire", "call a task_created printer on fire", "last"])
        #expect(try await agent.texts(after: 60).count == 4)
    }

    @Test func `repetitions after downtime keep their times`() async throws {
        let agent = try await TestAgent(
            Self.rule(steps: "  - {after: 10m, repeat: {every: 10m, times: 4}, do: [{log: \"${{ string(now) }}\"}]}"))
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(35 * 60))
        try await agent.runOnce()
        #expect(
            try await agent.texts(after: 60).dropFirst() == [
                "2026-01-05T09:35:00Z", "2026-01-05T09:40:00Z", "2026-01-05T09:50:00Z",
            ])
    }

    @Test func `an answer found by the first poll after downtime prevents the due steps`() async throws {
        let agent = try await TestAgent(Self.rule())
        for id in ["a", "b"] { try await agent.put(id) }
        await agent.bench.clock.advance(by: .days(2))
        agent.source.put(task("b", "taken", ["priority": 1, "state": 1]))
        try await agent.runOnce()
        #expect(agent.texts.filter { !$0.hasPrefix("new") }.allSatisfy { $0.contains(" a ") })
        #expect(agent.texts.count == 4)
    }

    @Test func `after a wait that ended during downtime, the steps count from its late run`() async throws {
        let agent = try await TestAgent(Self.rule("for: 5m"))
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(3600))
        try await agent.runOnce()
        #expect(try await agent.texts(after: 14) == ["new a"])
        #expect(try await agent.texts(after: 1) == ["new a", "remind a printer on fire"])
    }

    @Test func `steps that came due during downtime wait for a good poll, at most 15 minutes`() async throws {
        for isGood in [true, false] {
            let agent = try await TestAgent(Self.rule())
            let bench = agent.bench
            try await agent.put("a")
            await bench.clock.advance(by: .seconds(3600))
            let polls = InitialPolls([agent.source.scope.id], started: bench.now)
            let shelf = try await bench.shelf(Self.rule(), sources: [agent.source])
            let timers = TimerLoop(bench.context, shelf: shelf, after: polls)
            polls.markPolled(agent.source.scope.id, isGood: false, since: polls.started, in: bench.context)
            #expect(try await timers.fireDue() == 0)
            if isGood {
                polls.markPolled(agent.source.scope.id, isGood: true, since: polls.started, in: bench.context)
            } else {
                await bench.clock.advance(by: .seconds(15 * 60 - 1))
                #expect(try await timers.fireDue() == 0)
                await bench.clock.advance(by: .seconds(1))
            }
            #expect(try await timers.fireDue() == 2)
        }
    }

    @Test func `single passes delay overdue steps while the source fails, at most 15 minutes in all`() async throws {
        for isGood in [true, false] {
            let agent = try await TestAgent(Self.rule())
            let clock = agent.bench.clock
            let failure = Failure(.unreachable, .retry(after: nil), "nobody there")
            func fail() { agent.source.edit { $0.lists = [.failure(failure)] } }
            func notices() -> Int { agent.bench.recorder.count("source.notice") }
            try await agent.put("a")
            await clock.advance(by: .seconds(3600))
            fail()
            try await agent.runOnce()
            await clock.advance(by: .seconds(15 * 60 - 1))
            fail()
            try await agent.runOnce()
            #expect(agent.texts == ["new a"])
            #expect(notices() == 0)
            if !isGood {
                await clock.advance(by: .seconds(1))
                fail()
            }
            try await agent.runOnce()
            #expect(agent.texts.contains("remind a printer on fire"))
            #expect(notices() == (isGood ? 0 : 1))
        }
    }

    // MARK: Elements, groups, counts

    @Test func `each element of a list has its own escalation`() async throws {
        let rule = """
            rule: r
            on: {every: 5m}
            each: tasks.filter(t, t.priority == 1)
            once: task.id
            do: [{log: "new ${{ task.id }}"}]
            escalate: [{after: 10m, do: [{log: "step ${{ task.id }} ${{ event.type }}"}]}]
            """
        let agent = try await TestAgent(rule)
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.wait(5)
        try await agent.comment("a")
        try await agent.wait(10)
        // Lanes do not wait for each other.
        #expect(agent.texts.prefix(2).sorted() == ["new a", "new b"])
        #expect(agent.texts.dropFirst(2) == ["step b schedule_due"])
    }

    private static func groupRule(_ step: String) -> String {
        """
        rule: r
        on: task_created
        group: {by: task.priority, wait: 5m}
        do: [{log: "new"}]
        until: answered
        escalate: {after: 10m, do: [\(step)]}
        """
    }

    @Test func `a group escalates for its latest task, with all its events`() async throws {
        let step = #"{log: "${{ key }} ${{ task.id }} ${{ events.map(e, e.task.id).join(' ') }} ${{ string(since) }}"}"#
        let agent = try await TestAgent(Self.groupRule(step))
        for id in ["a", "b", "c"] { try await agent.put(id) }
        try await agent.wait(5)
        try await agent.comment("a")
        _ = try await agent.bench.store.prune(Retention(events: .zero), at: agent.bench.now)
        #expect(try await agent.texts(after: 10) == ["new", "1 c a b c 2026-01-05T09:00:00Z"])
        let key = StateKey(rule: "r", kind: .escalated, key: "my-work/c")
        #expect(try await agent.bench.store.state(for: [key]).isEmpty)
    }

    @Test func `the events of an unanswered escalation are kept only as long as an answer closes its alerts`()
        async throws
    {
        let agent = try await TestAgent(Self.groupRule(#"{notify: {to: pager, title: "late ${{ size(events) }}"}}"#))
        for id in ["a", "b"] { try await agent.put(id) }
        #expect(try await agent.texts(after: 15) == ["new", "pager: late 2"])
        let store = agent.bench.store
        let key = StateKey(rule: "r", kind: .escalated, key: "my-work/b")
        #expect(try await store.state(for: [key]).all.count == 1)
        _ = try await store.prune(Retention(), at: agent.bench.now + .days(8))
        #expect(try await store.state(for: [key]).isEmpty)
    }

    @Test func `the steps after a wait count from the end of the wait`() async throws {
        let agent = try await TestAgent(Self.rule("for: 5m"))
        try await agent.put("a")
        #expect(try await agent.texts(after: 19) == ["new a"])
        #expect(try await agent.texts(after: 1).last == "remind a printer on fire")
    }

    // MARK: Looking

    @Test func `the status has the escalations of each rule and their next step`() async throws {
        let agent = try await TestAgent(Self.rule())
        try await agent.put("a", thenWait: 1)
        try await agent.put("b")
        #expect(
            try await agent.bench.store.status().waits == [
                .init(rule: "r", part: .escalation, count: 2, next: agent.bench.now - .seconds(60) + .seconds(900))
            ])
    }

    @Test func `an event reads the state of escalations only if a rule escalates the tasks of its source`() async throws {
        for (from, calls) in [("", 1), ("from: my-work\n", 1), ("from: elsewhere\n", 0)] {
            let sources = [ScriptedSource("my-work", clock: TestClock()), ScriptedSource("elsewhere", clock: TestClock())]
            let book = try RuleBook.test(from + Self.rule(), sources: sources)
            var (bench, source, poller) = try await Bench.polled([task("a")])
            source.put(task("a", "changed"))
            _ = try await poller.pollOnce()
            let matches = book.match(try await bench.store.unrouted(limit: 10), since: [:])
            #expect(matches.needs.state.filter { $0.kind == .escalation }.count == calls)
        }
    }
}
