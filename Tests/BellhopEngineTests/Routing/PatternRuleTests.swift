import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Rules with `on: {all}`, `{sequence}` or `{none}`, over a store and polls, in virtual time.
@Suite(.timeLimit(.minutes(5))) struct `Rules for several events` {
    // MARK: all

    private static func all(_ more: String = "", within: String = "10m") -> String {
        """
        rule: r
        on: {all: [task_created, {type: task_changed, when: task.priority == 1}], within: \(within), by: task.state}
        \(more)
        do: [{log: "${{ key }}: ${{ events.map(e, e.task.id).join(' ') }}, ${{ event.type }} ${{ task.id }} ${{ string(since) }}"}]
        """
    }

    @Test func `a rule with all runs when each of its events came, in any order, and lists them in the rule's order`()
        async throws
    {
        let agent = try await TestAgent(Self.all(), [task("old", "x", ["priority": 3, "state": 1])])
        try await agent.put("old", "changed")
        #expect(agent.texts == [])
        try await agent.wait(2)
        try await agent.put("new")
        #expect(agent.texts == ["1: new old, task_created new 2026-01-05T09:00:00Z"])
    }

    @Test func `a rule with all uses each event once, the oldest first, and the others keep waiting`() async throws {
        let agent = try await TestAgent(Self.all(), [task("x", "x", ["priority": 3, "state": 1])])
        try await agent.put("a1")
        try await agent.put("a2")
        try await agent.put("x", "b1")
        try await agent.put("x", "b2")
        try await agent.put("x", "b3")
        #expect(agent.texts.map { $0.prefix(8) } == ["1: a1 x,", "1: a2 x,"])
    }

    @Test func `events with different keys, or too far apart in time, do not complete a rule with all`() async throws {
        let agent = try await TestAgent(Self.all(), [task("x", "x", ["priority": 3, "state": 1])])
        try await agent.put("a")
        try await agent.put("b", state: 2, thenWait: 10)
        try await agent.put("x", "late")
        #expect(agent.texts == [])
        try await agent.put("x", "moved", state: 2)
        try await agent.put("c")
        #expect(agent.texts.map { $0.prefix(7) } == ["1: c x,"])
    }

    @Test func `an event that fits two entries goes to the entry with the fewest waiting events, then to the first`() async throws
    {
        let rule = """
            rule: r
            on: {all: [task_created, {type: task_created, when: task.priority == 1}, task_removed], within: 1h}
            do: [{log: "${{ events.map(e, e.task.id).join(' ') }} ${{ key == null }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x"), task("y", "y")])
        try await agent.put("a")
        try await agent.put("b")
        try await agent.put("c")
        try await agent.remove("z")
        #expect(agent.texts == ["a b z true"])
    }

    @Test func `the condition is evaluated once for complete events, which are used up even if it is false`() async throws {
        let agent = try await TestAgent(
            Self.all("when: events[0].task.title != \"no\""), [task("x", "x", ["priority": 3, "state": 1])])
        try await agent.put("a", "no")
        try await agent.put("x", "first")
        try await agent.put("b", "yes")
        #expect(agent.texts == [])
        try await agent.put("x", "second")
        #expect(agent.texts.map { $0.prefix(7) } == ["1: b x,"])
        #expect(try await agent.bench.store.decisions(DecisionQuery(verdicts: [.conditionFalse], limit: 9)).count == 1)
    }

    // MARK: sequence

    private static let sequence = """
        rule: r
        on: {sequence: [task_created, {task_changed: {priority: {to: 2}}}, task_removed], within: 10m, by: task.id}
        do: [{log: "${{ events.map(e, e.type).join(' ') }} ${{ event.type }} ${{ string(since) }}"}]
        """

    @Test func `a sequence runs when its events came in order, even with others between them`() async throws {
        let agent = try await TestAgent(Self.sequence, [task("z", "x")])
        try await agent.put("a", priority: 2, thenWait: 1)
        try await agent.put("a", "renamed", priority: 3)
        try await agent.put("a", "renamed", priority: 2)
        #expect(try await agent.texts(after: 8) == [])
        try await agent.remove("a")
        #expect(agent.texts == ["task_created task_changed task_removed task_removed 2026-01-05T09:00:00Z"])
    }

    @Test func `the time of a sequence counts from its first event, and another order does not complete it`() async throws {
        let agent = try await TestAgent(Self.sequence, [task("z", "x"), task("b", "x", ["priority": 3, "state": 1])])
        try await agent.put("a")
        try await agent.put("a", priority: 2)
        try await agent.put("b", priority: 2, thenWait: 10)
        try await agent.remove("a")
        try await agent.remove("b")
        #expect(agent.texts == [])
    }

    @Test func `an event goes to the oldest sequence that waits for it, and later sequences of its key continue`() async throws {
        let rule = """
            rule: r
            on: {sequence: [task_created, task_changed, task_changed], within: 1h}
            do: [{log: "${{ events.map(e, e.task.id).join(' ') }}"}]
            """
        let agent = try await TestAgent(rule)
        try await agent.put("a")
        try await agent.put("b")
        for step in 1...4 { try await agent.put("a", "step \(step)") }
        #expect(agent.texts == ["a a a", "b a a"])
    }

    // MARK: Together

    @Test func `all, for, count and group work together, with the events of all runs`() async throws {
        let rule = """
            rule: r
            on: {all: [task_created, task_changed], within: 10m, by: task.id}
            when: task.priority == 1
            for: 2m
            count: {at_least: 2, within: 10m}
            group: {wait: 1m}
            do: [{log: "${{ events.map(e, e.task.id).join(' ') }}"}]
            """
        let agent = try await TestAgent(rule)
        for id in ["a", "b", "c"] { try await agent.put(id) }
        for id in ["a", "b", "c"] { try await agent.put(id, "changed") }
        try await agent.put("c", "changed", priority: 2)
        #expect(try await agent.texts(after: 2) == [])
        #expect(try await agent.texts(after: 1) == ["a b a b"])
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    @Test func `the condition of a rule with for is evaluated with the events that began the wait`() async throws {
        let rule = """
            rule: r
            on: {all: [task_created, task_changed], within: 10m, by: task.id}
            when: events[1].task.title == "changed" && task.priority == 1
            for: 5m
            do: [{log: "${{ events.map(e, e.type).join(' ') }} ${{ event.type }} ${{ task.title }}"}]
            """
        let agent = try await TestAgent(rule)
        for id in ["a", "b"] { try await agent.put(id) }
        for id in ["a", "b"] { try await agent.put(id, "changed") }
        try await agent.wait(2)
        try await agent.put("a", "again")
        try await agent.put("b", "again", priority: 2)
        #expect(try await agent.texts(after: 3) == ["task_created task_changed task_changed again"])
    }

    // MARK: for

    @Test func `a task that leaves ends the wait that it began, even if its key has changed`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.priority == 1
            for: {time: 5m, by: task.state}
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x", ["priority": 3, "state": 5])])
        try await agent.put("a", state: 1)
        try await agent.put("a", state: 2)
        try await agent.remove("a")
        try await agent.wait(10)
        try await agent.put("b", state: 1)
        #expect(try await agent.texts(after: 5) == ["b"])
    }

    // MARK: Changes

    @Test func `a changed do keeps the waits of a rule, a changed entry of on ends them`() async throws {
        let rule = Self.sequence.replacing(", task_removed]", with: "]")
        let agent = try await TestAgent(rule, [task("z", "x")])
        try await agent.put("a")
        try await agent.runOnce(with: rule.replacing("do: [{log: \"", with: "do: [{log: \"new "))
        agent.source.put(task("a", "printer on fire", ["priority": 2, "state": 1]))
        try await agent.runOnce(with: rule.replacing("do: [{log: \"", with: "do: [{log: \"new "))
        #expect(agent.texts.map { $0.prefix(16) } == ["new task_created"])
        try await agent.put("b")
        let changed = rule.replacing("{to: 2}", with: "{to: 3}")
        try await agent.runOnce(with: changed)
        agent.source.put(task("b", "printer on fire", ["priority": 3, "state": 1]))
        try await agent.runOnce(with: changed)
        #expect(agent.texts.count == 1)
    }

    @Test func `a changed calendar recomputes the due times from the beginning of each wait`() async throws {
        // It is nine o'clock; the office closes first at five past nine, then at three minutes past.
        let rule = """
            rule: r
            on: {none: task_removed, after: task_created, within: {time: 4m, calendar: office}, by: task.id}
            do: [{log: "${{ task.id }} ${{ string(since) }}"}]
            ---
            rule: h
            on: task_created
            for: {time: 4m, calendar: office}
            do: [{log: "h ${{ task.id }} ${{ string(since) }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x")])
        try await agent.put("a")
        try await agent.runOnce(with: rule, hours: "08:00-09:03")
        #expect(try await agent.texts(after: 10, with: rule, hours: "08:00-09:03") == [])
        // Open again: four minutes have passed long ago.
        try await agent.runOnce(with: rule, hours: "08:00-17:00")
        #expect(agent.texts.sorted() == ["a 2026-01-05T09:00:00Z", "h a 2026-01-05T09:00:00Z"])
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    // MARK: Bounds

    @Test func `a rule with too many keys drops the oldest, with a signal`() async throws {
        let rule = """
            rule: r
            on: {none: task_removed, after: task_created, within: 5m, by: task.id}
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule, [task("z", "x")])
        for id in ["a", "b", "c"] {
            agent.source.put(task(id))
            try await agent.runOnce(with: rule, maxKeys: 2)
            await agent.bench.clock.advance(by: .seconds(1))
        }
        #expect(agent.bench.recorder.losses == [KeyLoss(rule: "r", dropped: 1, most: 2, isStopped: false)])
        try await agent.wait(6)
        // Both are delivered in one look, side by side.
        #expect(agent.texts.sorted() == ["b", "c"])
    }

    @Test func `a throttle that stops a run counts as a use of its key`() async throws {
        let rule = """
            rule: r
            on: task_changed
            throttle: {every: 1h, by: task.id}
            do: [{log: "${{ task.id }} ${{ task.state }}"}]
            """
        let ids = ["a", "b", "c"]
        let agent = try await TestAgent(rule, ids.map { task($0, "x", ["priority": 1, "state": 0]) })
        for (state, id) in ["a", "b", "a", "c", "a", "b"].enumerated() {
            agent.source.put(task(id, "x", ["priority": 1, "state": .int(Int64(state + 1))]))
            try await agent.runOnce(with: rule, maxKeys: 2)
            await agent.bench.clock.advance(by: .seconds(1))
        }
        // The third key drops the one of `b`, which was not used for the longest time.
        #expect(agent.texts == ["a 1", "b 2", "c 4", "b 6"])
    }

    @Test func `a rule with too many keys of once is paused, with a signal, until a person resumes it`() async throws {
        let rule = """
            rule: r
            on: task_created
            once: task.id
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule)
        for id in ["a", "b", "c", "d"] {
            agent.source.put(task(id))
            try await agent.runOnce(with: rule, maxKeys: 2)
        }
        #expect(agent.texts == ["a", "b", "c"])
        #expect(agent.bench.recorder.losses == [KeyLoss(rule: "r", dropped: 0, most: 2, isStopped: true)])
        #expect(try await agent.bench.store.resume(.rule("r"), at: agent.bench.now))
        agent.source.put(task("e"))
        try await agent.runOnce(with: rule, maxKeys: 9)
        #expect(agent.texts == ["a", "b", "c", "e"])
    }

    @Test func `events that a rule waits with are not pruned`() async throws {
        let agent = try await TestAgent(Self.all(within: "100d"), [task("x", "x", ["priority": 3, "state": 1])])
        try await agent.put("a", "kept")
        await agent.bench.clock.advance(by: .days(60))
        _ = try await agent.bench.store.prune(Retention(), at: agent.bench.now)
        try await agent.put("x", "b")
        #expect(agent.texts.map { $0.prefix(7) } == ["1: a x,"])
    }
}
