import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Timers that are due at a moment come before the events of that moment, even if a poll stored these first.
@Suite(.timeLimit(.minutes(5))) struct `Timers and events of the same moment` {
    private static func each(_ more: String = "") -> String {
        """
        rule: r
        on: {every: 5m}
        each: tasks.filter(t, t.priority == 1)
        \(more)
        do: [{log: "${{ task.id }} ${{ (now - timestamp('2026-01-05T09:00:00Z')).getMinutes() }}"}]
        """
    }

    /// An agent with two urgent tasks and another, one minute before its next pass.
    private func agent(_ rules: String, minutes: Int) async throws -> TestAgent {
        let agent = try await TestAgent(
            rules, [task("a", fields: ["priority": 1]), task("b", fields: ["priority": 2]), task("c", fields: ["priority": 1])])
        try await agent.wait(minutes)
        await agent.bench.clock.advance(by: .seconds(60))
        return agent
    }

    @Test func `a schedule reads its list as it was before the events of the same moment`() async throws {
        let agent = try await agent(Self.each(), minutes: 4)
        agent.source.put(task("a", "printer on fire", ["priority": 2]))
        agent.source.put(task("b", "printer on fire", ["priority": 1]))
        agent.source.put(task("d", "printer on fire", ["priority": 1]))
        agent.source.remove("c")
        try await agent.runOnce()
        #expect(agent.texts.sorted() == ["a 5", "c 5"])
        #expect(try await agent.texts(after: 5).dropFirst(2).sorted() == ["b 10", "d 10"])
    }

    @Test func `the wait of a list's element ends with the list as it was before the events of the same moment`() async throws {
        let agent = try await agent(Self.each("for: 2m"), minutes: 6)
        agent.source.put(task("a", "printer on fire", ["priority": 2]))
        agent.source.remove("c")
        try await agent.runOnce()
        #expect(agent.texts.sorted() == ["a 7", "c 7"])
    }

    @Test func `a schedule runs before the events of the same moment`() async throws {
        let rule = """
            rule: r
            on: [{every: 5m}, task_changed]
            throttle: {every: 1h}
            do: [{log: "${{ event.type }}"}]
            """
        let agent = try await agent(rule, minutes: 4)
        agent.source.put(task("a", "printer burnt down", ["priority": 1]))
        try await agent.runOnce()
        #expect(agent.texts == ["schedule_due"])
    }

    @Test func `a schedule that came due during downtime comes after the first poll's events of the same moment`() async throws {
        let rules = """
            rule: digest
            on: {schedule: "30 9 * * *"}
            do: [{log: "${{ size(tasks) }} open"}]
            ---
            rule: gone
            on: task_removed
            do: [{log: gone}]
            """
        let agent = try await TestAgent(rules, tasks(0..<3))
        let bench = agent.bench
        await bench.clock.advance(by: .days(3))
        agent.source.remove("t0")
        let shelf = try await bench.shelf(rules, sources: agent.sources)
        let timers = TimerLoop(bench.context, shelf: shelf)
        _ = try await bench.polled(agent.source)
        // The router is slow: the schedule fires before it has seen the events of the poll.
        try await timers.fireDue()
        #expect(try await bench.store.unrouted(limit: 10).map(\.event.type) == [.taskRemoved, .scheduleDue])
        try await Router(bench.context, shelf: shelf, timers: timers).routePending()
        try await agent.runOnce()
        #expect(agent.texts.sorted() == ["2 open", "gone"])
    }

    /// An agent that runs while one poll shows a change of more tasks than are read from the bus at once.
    private struct MassChange {
        let bench: Bench
        let source: ScriptedSource
        let timers: TimerLoop
        let router: Router
        private var poller: Poller

        init(_ rules: String, _ tasks: [Snapshot]) async throws {
            bench = try Bench()
            source = bench.source(tasks)
            let shelf = try await bench.shelf(rules, sources: [source])
            timers = TimerLoop(bench.context, shelf: shelf)
            router = Router(bench.context, shelf: shelf, timers: timers)
            poller = bench.poller(source, PollPlan(cadence: .every(.seconds(60)), storms: StormGuard(mayHold: false)))
            _ = try await poller.pollOnce()
        }

        static func tasks(priority: Int64) -> [Snapshot] {
            (0..<1500).map { task("t\($0)", fields: ["priority": .int(priority)]) }
        }

        /// A poll that shows all of them with this title and priority. The title is what changes in the list.
        mutating func show(_ title: String, priority: Int64) async throws {
            source.set((0..<1500).map { task("t\($0)", title, ["priority": .int(priority)]) })
            _ = try await poller.pollOnce()
        }
    }

    @Test func `waits that end at the moment of a mass change see every task as it was before`() async throws {
        let rule = """
            rule: r
            on: task_created
            when: task.priority == 1
            for: 10m
            do: [{log: "${{ task.id }}"}]
            """
        var change = try await MassChange(rule, [task("old")])
        let bench = change.bench
        await bench.clock.advance(by: .seconds(60))
        try await change.show("new", priority: 1)
        try await change.router.routePending()
        await bench.clock.advance(by: .seconds(600))
        try await change.show("changed", priority: 2)
        try await change.router.routePending()
        #expect(try await bench.deliveries().count == 1500)
    }

    @Test(arguments: [true, false])
    func `a schedule that is due at the moment of a mass change reads every task as it was before`(
        _ isFirstOnBus: Bool
    ) async throws {
        let rule = """
            rule: r
            on: {every: 5m}
            do: [{log: "${{ size(tasks.filter(t, t.priority == 1)) }} urgent"}]
            """
        var change = try await MassChange(rule, MassChange.tasks(priority: 1))
        let bench = change.bench
        await bench.clock.advance(by: .seconds(300))
        if isFirstOnBus { try await change.timers.fireDue() }
        try await change.show("changed", priority: 2)
        try await change.router.routePending()
        #expect(try await bench.deliveries().map(\.delivery.text) == ["1500 urgent"])
    }

    /// A running agent with a source of these tasks, after its first poll.
    private func running(
        _ rules: String, _ tasks: [Snapshot], timersAtOnce: Int = 1000
    ) async throws -> (bench: Bench, source: ScriptedSource, timers: TimerLoop, router: Router) {
        let bench = try Bench(timersAtOnce: timersAtOnce)
        let source = bench.source(tasks)
        let shelf = try await bench.shelf(rules, sources: [source])
        let timers = TimerLoop(bench.context, shelf: shelf)
        _ = try await bench.polled(source)
        return (bench, source, timers, Router(bench.context, shelf: shelf, timers: timers))
    }

    @Test func `a schedule that fires after the router has read the events of its moment is routed before them`() async throws {
        let rule = """
            rule: r
            on: [{every: 5m}, task_changed]
            throttle: {every: 1h}
            do: [{log: "${{ event.type }}"}]
            """
        let (bench, source, timers, router) = try await running(rule, [task("a")])
        await bench.clock.advance(by: .seconds(300))
        source.put(task("a", "printer burnt down"))
        _ = try await bench.polled(source)
        bench.store.interrupt(.nextTimer) { _ = try? await timers.fireDue() }
        try await router.routePending()
        #expect(try await bench.deliveries().map(\.delivery.text) == ["schedule_due"])
    }

    @Test func `a schedule reads every task as it was before a poll that ends while the schedule is routed`() async throws {
        let rule = """
            rule: r
            on: {every: 5m}
            do: [{log: "${{ size(tasks.filter(t, t.priority == 1)) }} urgent"}]
            """
        let (bench, source, timers, router) = try await running(rule, [task("a", fields: ["priority": 1])])
        await bench.clock.advance(by: .seconds(300))
        try await timers.fireDue()
        source.put(task("a", "printer burnt down", ["priority": 2]))
        bench.store.interrupt(.tasks) {
            var poller = bench.poller(source)
            _ = try? await poller.pollOnce()
        }
        try await router.routePending()
        #expect(try await bench.store.events(EventQuery()).map(\.event.type) == [.scheduleDue, .taskChanged])
        #expect(try await bench.deliveries().map(\.delivery.text) == ["1 urgent"])
    }

    @Test func `waits of the next batch see every task as it was before events behind many large ones`() async throws {
        let rule = "rule: r\non: task_created\nwhen: task.priority == 1\nfor: 10m\ndo: [{log: \"${{ task.id }}\"}]"
        let (bench, source, timers, router) = try await running(rule, [task("old")], timersAtOnce: 1)
        func poll(_ title: String, priority: Int64) async throws {
            source.set([task("old")] + ["a", "b"].map { task($0, title, ["priority": .int(priority)]) })
            _ = try await bench.polled(source)
        }
        await bench.clock.advance(by: .seconds(60))
        try await poll("new", priority: 1)
        try await router.routePending()
        await bench.clock.advance(by: .seconds(600))
        let large = JSON.string(String(repeating: "large ", count: 40_000))
        // More than are read from the bus at once.
        try await bench.store.append(
            (1...40).map { number in
                Event(
                    id: Event.ID(type: EventType("ping"), facts: "\(number)"), type: EventType("ping"), source: "plain",
                    subject: "plain", time: bench.now, data: ["text": large])
            })
        try await poll("changed", priority: 2)
        #expect(try await bench.store.unrouted(limit: 1000).count < 40)
        try await timers.fireDue()
        #expect(try await bench.deliveries().map(\.delivery.text).sorted() == ["a", "b"])
    }

    @Test func `an event that concerns no waiting rule is routed before all due timers have fired`() async throws {
        let bench = try Bench()
        let rules = """
            rule: waits
            on: task_created
            for: 10m
            do: [{log: "${{ task.id }}"}]
            ---
            rule: plain
            on: ping
            do: [{log: ping}]
            """
        let source = bench.source([task("old")])
        let shelf = try await bench.shelf(rules, sources: [source])
        let timers = TimerLoop(bench.context, shelf: shelf)
        let router = Router(bench.context, shelf: shelf, timers: timers)
        var poller = try await bench.polled(source)
        source.set([task("old")] + (0..<6000).map { task("t\($0)") })
        // So many new tasks are held until the next poll confirms them.
        for _ in 0..<2 {
            await bench.clock.advance(by: .seconds(60))
            _ = try await poller.pollOnce()
        }
        try await router.routePending()
        await bench.clock.advance(by: .seconds(600))
        #expect(try await bench.store.dueTimers(at: bench.now, limit: 6001).count == 6000)
        let ping = Event(
            id: Event.ID(type: EventType("ping"), facts: "1"), type: EventType("ping"), source: "plain", subject: "plain",
            time: bench.now, data: [:])
        let firing = Task { try await timers.fireDue() }
        // After the first batch.
        try await waitUntil { try await bench.store.dueTimers(at: bench.now, limit: 6000).count < 6000 }
        try await bench.store.append([ping])
        try await router.routePending()
        #expect(try await !bench.store.dueTimers(at: bench.now, limit: 1).isEmpty)
        #expect(try await bench.store.unrouted(limit: 1).isEmpty)
        #expect(try await firing.value > 0)
        #expect(try await bench.store.nextTimer() == nil)
        #expect(try await bench.deliveries().count == 6001)
    }

    /// A rule whose wait ends at the moment at which `existing` takes up the known tasks.
    private static let ending = "\n---\nrule: other\non: task_changed\nwhen: task.title == \"x\"\nfor: 3m\ndo: [{log: over}]"

    @Test(arguments: [false, true])
    func `with existing, a rule takes the tasks as they were when it was loaded, and later events as events`(
        _ isBesideAWait: Bool
    ) async throws {
        let other = isBesideAWait ? Self.ending : "\n---\nrule: other\non: login_event\ndo: [{log: over}]"
        let rules = """
            rule: r
            on: [task_created, task_changed]
            when: task.priority == 1
            for: {time: 10m, existing: true}
            do: [{log: "${{ task.id }} ${{ event == null ? 'known' : event.type }}"}]
            """
        let agent = try await TestAgent(
            other.replacing("\n---\n", with: ""),
            [task("a", fields: ["priority": 1]), task("b", fields: ["priority": 2]), task("c", fields: ["priority": 1])])
        let bench = agent.bench
        agent.source.put(task("b", "x", ["priority": 2]))
        try await agent.runOnce()
        for _ in 0..<2 {
            await bench.clock.advance(by: .seconds(60))
            try await agent.runOnce()
        }
        await bench.clock.advance(by: .seconds(60))
        // A running agent: the rule is loaded, and a poll of the same moment stores events before a timer fires.
        let shelf = try await bench.shelf(rules + other, sources: [agent.source])
        let timers = TimerLoop(bench.context, shelf: shelf)
        let router = Router(bench.context, shelf: shelf, timers: timers)
        agent.source.put(task("a", "printer on fire", ["priority": 2]))
        agent.source.put(task("b", "x", ["priority": 1]))
        agent.source.put(task("d", "printer on fire", ["priority": 1]))
        _ = try await bench.polled(agent.source)
        try await router.routePending()
        try await agent.wait(10, with: rules + other)
        #expect(agent.texts.filter { $0 != "over" }.sorted() == ["b task_changed", "c known", "d task_created"])
        #expect(agent.texts.contains("over") == isBesideAWait)
    }
}
