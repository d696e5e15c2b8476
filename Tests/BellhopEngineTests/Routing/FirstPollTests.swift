import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite(.timeLimit(.minutes(5))) struct `Timers and the first good poll` {
    private static let urgent = """
        rule: urgent
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 10m
        do: [{log: "${{ task.id }} is urgent"}]
        """

    /// A new run of an agent, whose sources were not polled yet.
    private struct Restarted {
        let bench: Bench
        let shelf: RuleShelf
        let polls: InitialPolls
        let timers: TimerLoop

        init(_ agent: TestAgent, _ rules: String) async throws {
            bench = agent.bench
            shelf = try await bench.shelf(rules, sources: agent.sources)
            polls = InitialPolls(agent.sources.map(\.scope.id), started: bench.now)
            timers = TimerLoop(bench.context, shelf: shelf, after: polls)
        }

        func fail(_ source: ScriptedSource) { mark(source, isGood: false) }

        func poll(_ source: ScriptedSource) async throws {
            var poller = bench.poller(source)
            mark(source, isGood: try await poller.pollOnce().isGood)
        }

        private func mark(_ source: ScriptedSource, isGood: Bool) {
            polls.markPolled(source.scope.id, isGood: isGood, since: polls.started, in: bench.context)
        }
    }

    @Test func `a timer that waits is not read again before the poll comes, or the time to wait for it is over`() async throws {
        for comes in [true, false] {
            let agent = try await TestAgent(Self.urgent)
            try await agent.put("a")
            await agent.bench.clock.advance(by: .days(1))
            let run = try await Restarted(agent, Self.urgent)
            run.fail(agent.source)
            let loop = Task { await run.timers.run() }
            await run.bench.settle()
            let calls = run.bench.store.calls
            await run.bench.run(until: run.bench.now + .seconds(14 * 60))
            #expect(run.bench.store.calls == calls)
            if comes { try await run.poll(agent.source) }
            await run.bench.run(until: run.bench.now + .seconds(comes ? 0 : 60))
            await loop.stop()
            #expect(try await run.bench.deliveries().count == 1)
        }
    }

    @Test func `a wait that ends between a start and the first good poll is judged with the tasks of that poll`() async throws {
        let agent = try await TestAgent(Self.urgent)
        for id in ["a", "b"] { try await agent.put(id) }
        await agent.bench.clock.advance(by: .seconds(540))
        let run = try await Restarted(agent, Self.urgent)
        run.fail(agent.source)
        await run.bench.clock.advance(by: .seconds(120))
        #expect(try await run.timers.fireDue() == 0)
        agent.source.put(task("a", "printer on fire", ["priority": 2, "state": 1]))
        try await run.poll(agent.source)
        try await run.timers.fireDue()
        try await agent.runOnce()
        #expect(agent.texts == ["b is urgent"])
    }

    @Test(arguments: ["changes", "[my-work, changes]"])
    func `an absence waits for the source whose events end it, if another began it`(_ from: String) async throws {
        let rule = """
            rule: r
            on: {none: {type: task_created, from: \(from)}, after: {type: task_created, from: my-work}, within: 4m, by: task.id}
            do: [{log: "${{ task.id }}"}]
            """
        let agent = try await TestAgent(rule, [task("z")], others: ["changes"])
        for id in ["a", "b"] { try await agent.put(id) }
        await agent.bench.clock.advance(by: .seconds(3600))
        let run = try await Restarted(agent, rule)
        let changes = agent.sources[1]
        try await run.poll(agent.source)
        run.fail(changes)
        #expect(try await run.timers.fireDue() == 0)
        changes.put(task("a"))
        try await run.poll(changes)
        try await run.timers.fireDue()
        try await agent.runOnce()
        #expect(agent.texts == ["b"])
    }

    @Test func `the absence of a connection's login waits for a poll of a source that reads from it`() async throws {
        let rule = """
            rule: r
            on: {none: {type: login_event, when: event.data.ok}, after: {type: login_event, when: "!event.data.ok"}, within: 5m, by: source}
            do: [{log: "${{ source }} cannot log in"}]
            """
        let agent = try await TestAgent(rule, [task("z")])
        func logIn(_ failure: Failure?) async throws {
            let login = EventContent.login(connection: "snow", user: "ada", usesKeychain: false, failure: failure)
            let now = agent.bench.now
            try await agent.bench.store.append([
                Event(login, facts: now.rfc3339, source: "snow", subject: "connection/snow", at: now)
            ])
        }
        try await logIn(Failure(.unauthenticated, .giveUp, "wrong password"))
        try await agent.runOnce()
        await agent.bench.clock.advance(by: .seconds(3600))
        let run = try await Restarted(agent, rule)
        #expect(try await run.timers.fireDue() == 0)
        try await logIn(nil)
        try await run.poll(agent.source)
        #expect(try await run.timers.fireDue() == 0)
        #expect(try await run.bench.store.nextTimer() == nil)
    }
}
