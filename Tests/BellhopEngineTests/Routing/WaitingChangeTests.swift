import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Reloads, restarts and ties of rules that wait.
@Suite(.timeLimit(.minutes(5))) struct `Rules that wait and change` {
    private func rule(_ more: String, log: String = "x") -> String {
        "rule: r\non: [task_created, task_changed]\n\(more)\ndo: [{log: \"\(log) ${{ task.id }}\"}]"
    }

    @Test func `a changed for or a removed rule ends the waits of the rule`() async throws {
        let first = rule("when: task.priority == 1\nfor: 10m")
        let agent = try await TestAgent(first)
        try await agent.put("a")
        try await agent.wait(5, with: rule("when: task.priority   ==   1\nfor: \"10m\" # as before", log: "y"))
        #expect(try await agent.texts(after: 4, with: rule("when: task.priority == 1\nfor: {time: 600s}", log: "y")) == [])
        #expect(try await agent.texts(after: 20, with: rule("when: task.priority == 1\nfor: {time: 600s}", log: "y")) == [])
        try await agent.put("b")
        try await agent.runOnce(with: "rule: other\non: task_created\ndo: [{log: z}]")
        #expect(try await agent.bench.store.nextTimer() == nil)
        #expect(try await agent.texts(after: 20, with: first) == [])
    }

    @Test func `a reload warns which rules lost how many waits and escalations, and of no others`() async throws {
        let waiting = rule("when: task.priority == 1\nfor: 10m")
        let escalating =
            "---\nrule: e\non: task_created\ndo: [{log: first}]\nuntil: answered\nescalate: [{after: 10m, do: [{log: late}]}]"
        let agent = try await TestAgent(waiting + "\n" + escalating)
        try await agent.put("a")
        try await agent.put("b")
        func lost() -> [EndedWaits] {
            agent.bench.recorder.all.compactMap { if case .waitsEnded(let ended) = $0 { ended } else { nil } }
        }
        try await agent.runOnce(with: rule("when: task.priority == 1\nfor: 10m", log: "y") + "\n" + escalating)
        #expect(lost() == [])
        try await agent.runOnce(with: rule("when: task.priority == 1\nfor: 20m"))
        #expect(
            lost() == [EndedWaits(rule: "r", waits: 2, escalations: 0), EndedWaits(rule: "e", waits: 0, escalations: 2)])
        try await agent.runOnce(with: rule("when: task.priority == 1\nfor: 20m", log: "z"))
        #expect(lost().count == 2)
    }

    @Test func `the waits for tasks that existing took up are lost with a removed rule, too`() async throws {
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}")
        let agent = try await TestAgent(waiting, [task("a", fields: ["priority": 1]), task("b", fields: ["priority": 2])])
        try await agent.put("c")
        try await agent.runOnce(with: "rule: other\non: task_created\ndo: [{log: z}]")
        let lost: [EndedWaits] = agent.bench.recorder.all.compactMap {
            if case .waitsEnded(let ended) = $0 { ended } else { nil }
        }
        #expect(lost == [EndedWaits(rule: "r", waits: 2, escalations: 0)])
    }

    @Test func `a changed let restarts the waits only if the condition uses it`() async throws {
        func text(_ limit: Int, _ other: String) -> String {
            rule("let: {most: \(limit), limit: most + 1, other: \"'\(other)'\"}\nwhen: task.priority < limit\nfor: 10m")
        }
        let agent = try await TestAgent(text(1, "a"))
        try await agent.put("a")
        try await agent.wait(5, with: text(1, "b"))
        #expect(try await agent.texts(after: 5, with: text(1, "b")) == ["x a"])
        try await agent.put("b")
        try await agent.wait(5, with: text(1, "b"))
        #expect(try await agent.texts(after: 20, with: text(2, "b")) == ["x a"])
    }

    @Test func `a wait or escalation for a task of a source that was renamed ends with an error`() async throws {
        let absence = "rule: r\non: {none: task_commented, after: task_created, within: 10m}\ndo: [{log: quiet}]"
        let escalation = "until: answered\nescalate: [{after: 10m, do: [{log: late}]}]"
        let cases: [(String, [String], DecisionRecord.Verdict)] = [
            (rule("when: task.priority == 1\nfor: 10m"), [], .conditionFailed), (absence, [], .conditionFailed),
            (rule(escalation), ["x a"], .stepFailed),
            // Nobody knows whether the alert is still needed, so it stays open.
            (
                "rule: r\non: task_created\ndo: [{notify: {to: pager, title: \"${{ task.id }}\"}}]\n" + escalation, ["pager: a"],
                .stepFailed
            ),
        ]
        for (text, made, verdict) in cases {
            let agent = try await TestAgent(text)
            try await agent.put("a")
            let (bench, action) = (agent.bench, agent.action)
            let known = task("a", "printer on fire", ["priority": 1, "state": 1])
            let renamed = ScriptedSource("renamed", tasks: [known], clock: bench.clock)
            await bench.clock.advance(by: .seconds(600))
            let shelf = try await bench.shelf(text, sources: [renamed])
            _ = try await bench.engine(action, shelf: shelf, sources: [renamed]).runOnce()
            #expect(agent.texts == made)
            let errors = try await bench.store.decisions(DecisionQuery(verdicts: [verdict], limit: 9)).compactMap(\.error)
            #expect(errors.count == 1 && errors.first?.contains("no longer has the source my-work") == true)
            #expect(try await bench.store.nextTimer() == nil)
        }
    }

    @Test func `a source with another account that was never polled well ends no wait and no escalation`() async throws {
        let paging = """
            rule: r
            on: task_created
            do: [{notify: {to: pager, title: new}}]
            until: answered
            escalate: [{after: 10m, do: [{notify: {to: pager, title: late}}]}]
            """
        let cases = [(rule("when: task.priority == 1\nfor: 10m"), ["x a"]), (paging, ["pager: new", "pager: late"])]
        for (text, made) in cases {
            let agent = try await TestAgent(text)
            try await agent.put("a")
            let (bench, action) = (agent.bench, agent.action)
            let moved = ScriptedSource(instance: "https://other.example", clock: bench.clock)
            moved.edit { $0.lists = Array(repeating: .failure(Failure(.unauthenticated, .giveUp, "401")), count: 2) }
            for _ in 0..<2 {
                await bench.clock.advance(by: .seconds(900))
                let shelf = try await bench.shelf(text, sources: [moved])
                _ = try await bench.engine(action, shelf: shelf, sources: [moved]).runOnce()
            }
            #expect(agent.texts == made)
        }
    }

    @Test func `with existing, the waits of known tasks begin when the rule is loaded`() async throws {
        let agent = try await TestAgent(
            "rule: other\non: task_created\ndo: [{log: z}]",
            [task("a", "printer on fire", ["priority": 1]), task("b", "printer on fire", ["priority": 2])])
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}")
        try await agent.wait(1, with: waiting)
        #expect(try await agent.texts(after: 9, with: waiting) == [])
        #expect(try await agent.texts(after: 1, with: waiting) == ["x a"])
    }

    @Test func `with existing, the waits of a baseline's tasks begin at the baseline`() async throws {
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}", log: "${{ event == null }}")
        let agent = try await TestAgent(waiting, [task("a", "printer on fire", ["priority": 1])])
        #expect(try await agent.texts(after: 9) == [])
        #expect(try await agent.texts(after: 1) == ["true a"])
    }

    @Test func `with existing, the waits for the tasks of a source that was renamed begin again`() async throws {
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}")
        let known = [task("a", "printer on fire", ["priority": 1])]
        let agent = try await TestAgent(waiting, known)
        let (bench, action) = (agent.bench, agent.action)
        let renamed = ScriptedSource("renamed", tasks: known, clock: bench.clock)
        for minute in 1...11 {
            #expect(agent.texts == [], "\(minute)")
            await bench.clock.advance(by: .seconds(60))
            let shelf = try await bench.shelf(waiting, sources: [renamed])
            _ = try await bench.engine(action, shelf: shelf, sources: [renamed]).runOnce()
        }
        #expect(agent.texts == ["x a"])
    }

    @Test func `a wait that ends at the moment of an event runs before the event`() async throws {
        let agent = try await TestAgent(rule("when: task.priority == 1\nfor: 10m"))
        try await agent.put("a")
        // A running agent: events of the moment at which the wait is over are on the bus before the timer has fired.
        let bench = agent.bench
        let shelf = try await bench.shelf(rule("when: task.priority == 1\nfor: 10m"), sources: [agent.source])
        let timers = TimerLoop(bench.context, shelf: shelf)
        let router = Router(bench.context, shelf: shelf, timers: timers)
        await bench.clock.advance(by: .seconds(600))
        agent.source.put(task("a", "printer on fire", ["priority": 2]))
        _ = try await bench.polled(agent.source)
        try await router.routePending()
        #expect(try await bench.deliveries().count == 1)
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test func `a wait of 400 days ends after 400 days, across a leap day`() async throws {
        let agent = try await TestAgent(rule("when: task.priority == 1\nfor: 400d", log: "${{ string(now) }}"))
        try await agent.bench.clock.jump(to: #require(Timestamp(rfc3339: "2027-12-11T09:00:00Z")))
        try await agent.put("a")
        #expect(try await agent.bench.store.nextTimer() == Timestamp(rfc3339: "2029-01-14T09:00:00Z"))
    }

    @Test func `a rule that changes to shadow mode and back restarts its waits and groups`() async throws {
        for part in ["when: task.priority == 1\nfor: 10m", "group: {wait: 10m}"] {
            let agent = try await TestAgent(rule(part))
            try await agent.put("a")
            try await agent.wait(12, with: rule(part + "\nmode: shadow"))
            #expect(try await agent.texts(after: 12, with: rule(part)) == [])
            try await agent.put("b")
            #expect(try await agent.texts(after: 11, with: rule(part)) == ["x b"])
        }
    }

    @Test func `a group has the last known state of a task that left, and the time of its first event`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.title != "y"
            group: {wait: 5m}
            do: [{log: "${{ task.title }} ${{ string(since) }}"}]
            """
        let agent = try await TestAgent(rule, [task("other", "y")])
        try await agent.put("a", "x")
        try await agent.put("a", "y")
        try await agent.remove("a")
        #expect(try await agent.texts(after: 5) == ["y 2026-01-05T09:00:00Z"])
    }

    @Test func `a group after for gathers from the end of the wait`() async throws {
        let agent = try await TestAgent(rule("for: 5m\ngroup: {wait: 5m}", log: "${{ string(since) }}"))
        try await agent.put("a")
        #expect(try await agent.texts(after: 10) == ["2026-01-05T09:05:00Z a"])
    }

    @Test func `runs whose waits ended during downtime are one group`() async throws {
        let agent = try await TestAgent(rule("for: 5m\ngroup: {wait: 1m}", log: "${{ size(events) }} ${{ string(since) }}"))
        for id in ["a", "b"] { try await agent.put(id, thenWait: 2) }
        await agent.bench.clock.advance(by: .days(1))
        try await agent.runOnce()
        #expect(agent.texts == [])
        #expect(try await agent.texts(after: 1) == ["2 2026-01-05T09:05:00Z b"])
    }

    @Test func `a task that is twice in the list of each runs the rule once`() async throws {
        let agent = try await TestAgent(
            "rule: r\non: {every: 5m}\neach: tasks + tasks\ndo: [{log: \"${{ task.id }}\"}]", [task("a")])
        #expect(try await agent.texts(after: 5) == ["a"])
    }

    @Test func `the status counts the waits, counted events and groups of each rule`() async throws {
        let rules = ["for: 10m", "count: {at_least: 3, within: 1h}", "group: {by: task.priority, wait: 5m}"].enumerated().map {
            "rule: r\($0)\non: [task_created, task_changed]\n\($1)\ndo: [{log: x}]"
        }
        let agent = try await TestAgent(rules.joined(separator: "\n---\n"))
        try await agent.put("a", thenWait: 1)
        try await agent.put("b", priority: 2)
        let start = agent.bench.now - .seconds(60)
        #expect(
            try await agent.bench.store.status().waits == [
                .init(rule: "r0", part: .hold, count: 2, next: start + .seconds(600)), .init(rule: "r1", part: .count, count: 2),
                .init(rule: "r2", part: .group, count: 2, gathered: 2, next: start + .seconds(300)),
            ])
    }

    @Test func `an event that a rule waits with is not pruned`() async throws {
        let agent = try await TestAgent(rule("when: task.priority == 1\nfor: 60d", log: "${{ event.type }}"))
        try await agent.put("a")
        try await agent.put("b", priority: 2)
        await agent.bench.clock.advance(by: .days(60))
        _ = try await agent.bench.store.prune(Retention(), at: agent.bench.now)
        try await agent.runOnce()
        #expect(agent.texts == ["task_created a"])
    }
}
