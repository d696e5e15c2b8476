import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// `none`, with `after` and without.
extension `Rules for several events` {
    private static let unanswered = """
        rule: r
        on: {none: {type: task_changed, when: task.state == 2}, after: task_created, within: 4m, by: task.id}
        when: task.priority == 1
        do: [{log: "${{ event.type }} ${{ task.id }} ${{ task.title }} ${{ string(since) }} ${{ key }}"}]
        """

    @Test func `an absence runs its rule when no event came in time, with the task's state at that time`() async throws {
        let agent = try await TestAgent(Self.unanswered, [task("z", "x")])
        try await agent.put("a")
        try await agent.put("b", priority: 3, thenWait: 2)
        try await agent.put("a", "renamed")
        #expect(try await agent.texts(after: 1) == [])
        #expect(try await agent.texts(after: 1) == ["task_created a renamed 2026-01-05T09:00:00Z a"])
        #expect(try await agent.texts(after: 30).count == 1)
    }

    @Test func `an absence ends with its event, when its task leaves, or if its condition is false when due`() async throws {
        let agent = try await TestAgent(Self.unanswered, [task("z", "x")])
        for id in ["a", "b", "c"] { try await agent.put(id) }
        try await agent.put("a", state: 2)
        try await agent.remove("b")
        try await agent.put("c", priority: 2)
        #expect(try await agent.texts(after: 20) == [])
        #expect(try await agent.bench.store.nextTimer() == nil)
        let decisions = try await agent.bench.store.decisions(DecisionQuery(limit: 99)).map(\.verdict)
        #expect(decisions.filter { $0 == .cancelled }.count == 2)
        #expect(decisions.filter { $0 == .notTrueWhenDue }.count == 1)
    }

    @Test func `an absence without after begins anew when its rule is resumed`() async throws {
        let rule = "rule: r\non: {none: task_created, within: 10m}\ndo: [{log: silent}]"
        let agent = try await TestAgent(rule, [task("z", "x")])
        try await agent.bench.store.pause(Pause(.rule("r"), since: agent.bench.now, reason: ""))
        try await agent.put("a", thenWait: 15)
        _ = try await agent.bench.store.resume(.rule("r"), at: agent.bench.now)
        #expect(try await agent.texts(after: 9) == [])
        #expect(try await agent.texts(after: 2) == ["silent"])
    }

    @Test func `another event of after has no effect during the wait, and begins a new wait after the run`() async throws {
        let rule = """
            rule: r
            on: {none: task_removed, after: task_changed, within: 4m, by: task.state}
            do: [{log: "${{ task.id }} ${{ event.data.task.title }}"}]
            """
        let agent = try await TestAgent(rule, [task("a", "x"), task("b", "x")])
        try await agent.put("a", "one", thenWait: 3)
        try await agent.put("b", "two")
        #expect(try await agent.texts(after: 1) == ["a one"])
        try await agent.put("b", "three")
        #expect(try await agent.texts(after: 4) == ["a one", "b three"])
    }

    @Test func `a task that leaves ends the absence that it began, even if its key has changed`() async throws {
        let rule = """
            rule: r
            on: {none: {type: task_changed, when: task.priority == 9}, after: task_created, within: 4m, by: task.state}
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x", ["priority": 3, "state": 5])])
        try await agent.put("a", state: 1)
        try await agent.put("a", state: 2)
        try await agent.remove("a")
        #expect(try await agent.texts(after: 10) == [])
        // The key is free again.
        try await agent.put("b", state: 1)
        #expect(try await agent.texts(after: 4) == ["b"])
    }

    @Test func `without by, a task that leaves ends only the absence that it began`() async throws {
        let rule = """
            rule: r
            on: {none: task_commented, after: task_created, within: 4m}
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x")])
        try await agent.put("a")
        try await agent.put("b")
        try await agent.remove("b")
        try await agent.wait(1)
        try await agent.remove("a")
        #expect(try await agent.texts(after: 10) == [])
        try await agent.put("c")
        try await agent.remove("z")
        #expect(try await agent.texts(after: 4) == ["c"])
    }

    @Test func `a replay ends no absence and does not restart a silence`() async throws {
        func changed(_ state: Int) -> String { "{type: task_changed, when: task.state == \(state)}" }
        let rule = """
            rule: u
            on: {none: \(changed(2)), after: \(changed(1)), within: 4m, by: task.id}
            do: [{log: "unchanged ${{ task.id }}"}]
            """
        let agent = try await TestAgent(Self.silent + "\n---\n" + rule, [task("z", "x")])
        for state in [3, 2, 1] { try await agent.put("a", state: state) }
        let events = try await agent.bench.store.events(EventQuery(after: 0)).events
        let end = try #require(events.first { $0.event.type == .taskChanged })
        try await agent.wait(1)
        try await agent.bench.store.replay([end], rule: nil, isForced: false, at: agent.bench.now)
        #expect(try await agent.texts(after: 3) == ["unchanged a"])
        #expect(try await agent.texts(after: 1).last == "silent my-work true 2026-01-05T09:00:00Z my-work")
        #expect(agent.texts.count == 2)
    }

    // MARK: none without after

    private static let silent = """
        rule: r
        on: {none: [task_created, task_changed], within: 5m, by: source}
        do: [{log: "silent ${{ source }} ${{ event == null }} ${{ string(since) }} ${{ key }}"}]
        """

    @Test func `without after, an absence begins with the rule and with each event, and runs once per silence`() async throws {
        let agent = try await TestAgent(Self.silent, [task("z", "x")])
        try await agent.wait(4)
        try await agent.put("a")
        #expect(try await agent.texts(after: 4) == [])
        #expect(try await agent.texts(after: 1) == ["silent my-work true 2026-01-05T09:04:00Z my-work"])
        #expect(try await agent.texts(after: 20).count == 1)
        try await agent.put("b")
        #expect(try await agent.texts(after: 5).count == 2)
    }

    @Test func `the silence of a source that was renamed is noticed, though it has no new baseline`() async throws {
        let bench = try Bench()
        let action = ScriptedAction()
        let sources = ["my-work", "renamed"].map { ScriptedSource($0, tasks: [task("z", "x")], clock: bench.clock) }
        func runOnce(_ source: ScriptedSource) async throws {
            let shelf = try await bench.shelf(Self.silent, sources: [source])
            _ = try await bench.engine(action, shelf: shelf, sources: [source]).runOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        try await runOnce(sources[0])
        for _ in 0..<6 { try await runOnce(sources[1]) }
        #expect(action.texts == ["silent renamed true 2026-01-05T09:01:00Z renamed"])
    }

    @Test func `a source that is added begins its own silence, and the silences of the others go on`() async throws {
        let bench = try Bench()
        let action = ScriptedAction()
        let sources = ["my-work", "other"].map {
            ScriptedSource($0, tasks: [task("z", "x")], instance: "https://\($0).example", clock: bench.clock)
        }
        for minute in 0...8 {
            let present = minute < 3 ? Array(sources.prefix(1)) : sources
            let shelf = try await bench.shelf(Self.silent, sources: present)
            let engine = bench.engine(action, shelf: shelf, sources: present)
            _ = try await engine.runOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(
            action.texts == [
                "silent my-work true 2026-01-05T09:00:00Z my-work", "silent other true 2026-01-05T09:03:00Z other",
            ])
    }

    @Test func `two silences for the same time both run after the clock was set back`() async throws {
        let agent = try await TestAgent(Self.silent, [task("z", "x")])
        for id in ["a", "b"] {
            try await agent.put(id, thenWait: 5)
            await agent.bench.clock.jump(to: agent.bench.now - .seconds(300))
        }
        let text = "silent my-work true 2026-01-05T09:00:00Z my-work"
        #expect(agent.texts == [text, text])
    }

    @Test func `the silence before the first event counts from when the rule was loaded, not from a restart`() async throws {
        let agent = try await TestAgent(Self.silent, [task("z", "x")])
        try await agent.wait(3)
        #expect(try await agent.texts(after: 2) == ["silent my-work true 2026-01-05T09:00:00Z my-work"])
        // A changed rule begins anew, a changed `do` does not.
        #expect(try await agent.texts(after: 7, with: Self.silent.replacing("within: 5m", with: "within: 6m")).count == 2)
    }

    @Test func `the first events after downtime restart a silence that would have ended during it`() async throws {
        let agent = try await TestAgent(Self.silent, [task("z", "x")])
        await agent.bench.clock.advance(by: .seconds(3600))
        agent.source.put(task("a"))
        try await agent.runOnce()
        #expect(agent.texts == [])
        #expect(try await agent.texts(after: 5).count == 1)
    }
}
