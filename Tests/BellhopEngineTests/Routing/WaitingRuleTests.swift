import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Rules that wait, count or gather, over a store and polls, in virtual time.
@Suite(.timeLimit(.minutes(5))) struct `Rules that wait` {
    // MARK: for

    private static let urgent = """
        rule: r
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 10m
        do: [{log: "${{ event.type }} ${{ task.id }} ${{ task.title }} ${{ string(since) }} ${{ key }}"}]
        """

    @Test func `a rule with for runs after its condition was true for that time, with the task's current state`() async throws {
        let agent = try await TestAgent(Self.urgent)
        try await agent.put("a", thenWait: 5)
        try await agent.put("a", "printer burnt down")
        #expect(try await agent.texts(after: 4) == [])
        #expect(try await agent.texts(after: 30) == ["task_created a printer burnt down 2026-01-05T09:00:00Z a"])
    }

    @Test func `a key that begins with an accent is the key of its run`() async throws {
        let agent = try await TestAgent("rule: r\non: task_created\nfor: {time: 1m, by: task.title}\ndo: [{log: \"${{ key }}\"}]")
        try await agent.put("a", "\u{301}tude")
        #expect(try await agent.texts(after: 1) == ["\u{301}tude"])
    }

    @Test func `a false condition ends the wait, which begins again when the condition is true again`() async throws {
        let agent = try await TestAgent(Self.urgent)
        try await agent.put("a", thenWait: 5)
        try await agent.put("a", priority: 2)
        #expect(try await agent.texts(after: 10) == [])
        try await agent.put("a")
        #expect(try await agent.texts(after: 9) == [])
        #expect(try await agent.texts(after: 1).count == 1)
        // It ran; it runs again only after the condition was once not true.
        try await agent.put("a", "again")
        #expect(try await agent.texts(after: 20).count == 1)
        try await agent.put("a", priority: 3)
        try await agent.put("a")
        #expect(try await agent.texts(after: 10).count == 2)
    }

    @Test func `a change that a poll stores while a wait ends comes after the run`() async throws {
        let agent = try await TestAgent(Self.urgent)
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(600))
        let (bench, source) = (agent.bench, agent.source)
        let shelf = try await bench.shelf(Self.urgent, sources: agent.sources)
        bench.store.interrupt(.remembered) {
            source.put(task("a", "changed", ["priority": 2]))
            var poller = Poller(source, plan: .minutely, in: bench.context)
            _ = try? await poller.pollOnce()
        }
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 1)
        #expect(try await bench.store.events(EventQuery(limit: 10)).last?.event.type == .taskChanged)
        let made = try await bench.deliveries().map(\.delivery.arguments)
        #expect(made.count == 1 && !"\(made)".contains("changed 2026"))
    }

    @Test func `state that changes after it was read ahead is read again`() async throws {
        let agent = try await TestAgent(Self.urgent, timersAtOnce: 1)
        for id in ["a", "b"] { agent.source.put(task(id, "printer on fire", ["priority": 1, "state": 1])) }
        try await agent.runOnce()
        let (bench, clock) = (agent.bench, agent.bench.clock)
        await clock.advance(by: .seconds(600))
        let store = bench.store
        let last = try #require(try await store.dueTimers(at: clock.now, limit: 2).last)
        let key = StateKey(rule: last.id.rule, kind: .hold, key: last.id.key)
        var wait = try #require(try await store.state(for: [key])[key]?.asObject)
        wait["subject"] = "https://elsewhere.example"
        let changed = StateWrite(key, .set(.object(wait), expires: nil))
        // The facts of the second timer were read before the first was stored.
        store.interrupt(.route) { store.interrupt(.route) { _ = try? await store.route(Routing(state: [changed])) } }
        let shelf = try await bench.shelf(Self.urgent, sources: agent.sources)
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 2)
        #expect(try await bench.deliveries().count == 2)
    }

    @Test func `a task that leaves ends the wait`() async throws {
        let agent = try await TestAgent(Self.urgent, [task("other", "x", ["priority": 3])])
        try await agent.put("a", thenWait: 3)
        try await agent.remove("a")
        #expect(try await agent.texts(after: 20) == [])
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    @Test func `a dead delivery about a task ends no wait of a rule that does not name delivery_dead`() async throws {
        let agent = try await TestAgent(
            Self.urgent + """

                ---
                rule: cannot-be-rendered
                on: task_created
                do: [{log: "${{ [1][task.priority] }}"}]
                ---
                rule: dead-for-long
                on: delivery_dead
                for: {time: 5m, by: event.data.delivery.rule}
                do: [{log: "dead ${{ key }}"}]
                """)
        try await agent.put("a")
        #expect(try await agent.bench.eventLines().contains { $0.hasPrefix("delivery_dead") })
        #expect(try await agent.texts(after: 10).map { $0.prefix(4) } == ["dead", "task"])
    }

    @Test func `timers that came due during downtime use the tasks of the first poll`() async throws {
        let agent = try await TestAgent(Self.urgent)
        try await agent.put("a")
        try await agent.put("b")
        await agent.bench.clock.advance(by: .days(2))
        agent.source.put(task("b", "printer on fire", ["priority": 4, "state": 1]))
        try await agent.runOnce()
        #expect(agent.texts.map { $0.prefix(14) } == ["task_created a"])
    }

    @Test func `a condition that other tasks made false is evaluated again when the wait ends`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.priority == 1 && !tasks.exists(t, t.title == "maintenance")
            for: 10m
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule)
        try await agent.put("a", thenWait: 5)
        try await agent.put("m", "maintenance", priority: 3)
        #expect(try await agent.texts(after: 20) == [])
        #expect(try await agent.bench.store.decisions(DecisionQuery(verdicts: [.notTrueWhenDue], limit: 10)).count == 1)
        // False when due counts as not true: it may begin again.
        try await agent.remove("m")
        try await agent.put("a", "again")
        #expect(try await agent.texts(after: 10) == ["a"])
    }

    // MARK: count

    private static let burst = """
        rule: r
        on: task_created
        count: {at_least: 3, within: 10m, by: task.state}
        do: [{log: "${{ key }}: ${{ events.map(e, e.task.id).join(' ') }}"}]
        """

    @Test func `a rule with count runs when enough events came within the time, and uses them up`() async throws {
        let agent = try await TestAgent(Self.burst)
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.put("x", state: 2)
        #expect(agent.texts == [])
        try await agent.wait(1)
        for id in ["c", "d", "e"] { try await agent.put(id) }
        #expect(agent.texts == ["1: a b c"])
        try await agent.put("f")
        #expect(agent.texts == ["1: a b c", "1: d e f"])
    }

    @Test func `a span of ten minutes ends before the tenth minute`() async throws {
        let agent = try await TestAgent(Self.burst)
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.wait(10)
        try await agent.put("c")
        #expect(agent.texts == [])
        try await agent.put("d", thenWait: 9)
        try await agent.put("e")
        #expect(agent.texts == ["1: c d e"])
    }

    @Test func `a distinct value counts once, by its latest event`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            count: {at_least: 2, within: 10m, distinct: task.id}
            do: [{log: "${{ events.map(e, e.task.title).join(' ') }} ${{ key == null }}"}]
            """
        let agent = try await TestAgent(rule)
        try await agent.put("a", "one", thenWait: 6)
        try await agent.put("a", "two")
        #expect(try await agent.texts(after: 6) == [])
        try await agent.put("b", "three")
        #expect(agent.texts == ["two three true"])
    }

    // MARK: group

    private static func group(_ text: String) -> String {
        """
        rule: r
        on: task_created
        group: {\(text)}
        do: [{log: "${{ key == null ? '' : key + ': ' }}${{ events.map(e, e.task.id).join(' ') }}, last ${{ task.id }} ${{ task.title }}"}]
        """
    }

    @Test func `a group flushes when its first event has waited long enough, with the task's latest state`() async throws {
        let agent = try await TestAgent(Self.group("by: task.state, wait: 3m"))
        try await agent.put("a")
        try await agent.put("x", state: 2, thenWait: 2)
        try await agent.put("b")
        try await agent.put("b", "renamed")
        #expect(agent.texts == [])
        try await agent.wait(1)
        // Their deliveries may be done in any order.
        #expect(agent.texts.sorted() == ["1: a b, last b renamed", "2: x, last x printer on fire"])
        #expect(try await agent.texts(after: 30).count == 2)
    }

    @Test func `two flushes of a group are at least its interval apart`() async throws {
        let agent = try await TestAgent(Self.group("every: 5m"))
        try await agent.put("a")
        try await agent.runOnce()
        #expect(agent.texts == ["a, last a printer on fire"])
        try await agent.put("b", thenWait: 2)
        try await agent.put("c")
        #expect(try await agent.texts(after: 2).count == 1)
        #expect(try await agent.texts(after: 1).dropFirst() == ["b c, last c printer on fire"])
        // With nothing waiting and the time over, the next event flushes at once again.
        try await agent.wait(6)
        try await agent.put("d")
        try await agent.runOnce()
        #expect(agent.texts.count == 3)
    }

    @Test func `the interval of a group counts from a flush that came late`() async throws {
        let agent = try await TestAgent(Self.group("wait: 2m, every: 5m"))
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(600))
        try await agent.put("b")
        #expect(agent.texts == ["a, last a printer on fire"])
        #expect(try await agent.texts(after: 4).count == 1)
        #expect(try await agent.texts(after: 1).dropFirst() == ["b, last b printer on fire"])
    }

    @Test func `after the clock was set back, a group does not wait for the end of an interval that lies ahead`() async throws {
        let agent = try await TestAgent(Self.group("every: 5m"))
        try await agent.put("a")
        try await agent.runOnce()
        await agent.bench.clock.jump(to: agent.bench.now - .seconds(3600))
        try await agent.put("b")
        try await agent.runOnce()
        #expect(agent.texts == ["a, last a printer on fire", "b, last b printer on fire"])
    }

    @Test func `a full group flushes at once`() async throws {
        let agent = try await TestAgent(Self.group("wait: 1h, max: 3"))
        for id in ["a", "b", "c", "d"] { try await agent.put(id) }
        #expect(agent.texts == ["a b c, last c printer on fire"])
        #expect(try await agent.texts(after: 59).count == 1)
        #expect(try await agent.texts(after: 1).dropFirst() == ["d, last d printer on fire"])
    }

    // MARK: each

    private static func each(_ more: String) -> String {
        """
        rule: r
        on: {every: 5m}
        each: tasks.filter(t, t.priority == 1)
        \(more)
        do: [{log: "${{ task.id }} ${{ string(event.time) }}"}]
        """
    }

    @Test func `a due schedule runs the rule for each element that when and once let pass`() async throws {
        let agent = try await TestAgent(Self.each("when: task.state == 1\nonce: task.id"))
        try await agent.put("a")
        try await agent.put("b", priority: 2)
        try await agent.put("c", state: 2)
        #expect(try await agent.texts(after: 5) == ["a 2026-01-05T09:05:00Z"])
        try await agent.put("c")
        #expect(try await agent.texts(after: 5).dropFirst() == ["c 2026-01-05T09:10:00Z"])
    }

    @Test func `a rule with each and for waits for each element that stays in the list`() async throws {
        let agent = try await TestAgent(Self.each("for: 12m"))
        try await agent.put("a")
        try await agent.put("b", thenWait: 6)
        try await agent.put("b", priority: 2)
        #expect(try await agent.texts(after: 10) == [])
        #expect(try await agent.texts(after: 1) == ["a 2026-01-05T09:05:00Z"])
        #expect(try await agent.texts(after: 60).count == 1)
    }

    // MARK: Together

    @Test func `for, count, group, throttle and once work together in their order`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.priority == 1
            for: 2m
            count: {at_least: 2, within: 10m, by: task.state}
            group: {wait: 3m}
            throttle: {every: 1h}
            once: events[0].task.id
            do: [{log: "${{ events.map(e, e.task.id).join(' ') }}"}]
            """
        let agent = try await TestAgent(rule)
        for id in ["a", "b", "c", "d"] { try await agent.put(id) }
        #expect(try await agent.texts(after: 4) == [])
        #expect(try await agent.texts(after: 1) == ["a b c d"])
        for id in ["e", "f"] { try await agent.put(id) }
        #expect(try await agent.texts(after: 20).count == 1)
        #expect(try await agent.bench.store.decisions(DecisionQuery(verdicts: [.throttled], limit: 10)).count == 1)
    }
}
