import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

/// Timers that come due while the machine sleeps. Polls and loops stop then as in downtime, but the agent is not started again.
@Suite(.timeLimit(.minutes(5))) struct `Timers and a sleeping machine` {
    private static let urgent = """
        rule: urgent
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 10m
        do: [{log: "${{ task.id }} is urgent"}]
        """
    private static let digest = "rule: digest\non: {schedule: \"30 9 * * *\"}\ndo: [{log: \"${{ size(tasks) }} open\"}]"

    /// A running agent, on a machine that a test lets sleep.
    private struct Machine {
        let bench: Bench
        let source: ScriptedSource
        let action = ScriptedAction()
        private let wall: WallClock

        init(_ tasks: [Snapshot]) throws {
            wall = WallClock()
            bench = try Bench(clock: wall.steady, wall: wall)
            source = bench.source(tasks)
        }

        /// Runs the agent while the body is done.
        func run(_ rules: String, _ plan: PollPlan = .minutely, _ body: () async throws -> Void) async throws {
            let shelf = try await bench.shelf(rules, sources: [source])
            let service = runAsService(
                Engine(bench.context, shelf: shelf, sources: [(source, plan)], actions: { [action] _ in action }))
            try await waitUntil { bench.recorder.count("source.baseline") != 0 }
            try await body()
            try await service.stop()
        }

        /// Lets the agent run for some minutes.
        func work(minutes: Int) async { await bench.run(until: bench.now + .seconds(60 * minutes)) }

        /// Stops the time of the loops, but not that of the world.
        func sleep(_ duration: Duration) { wall.set(by: duration) }
    }

    @Test func `a wait that ended while the machine slept is judged with the tasks of the next poll`() async throws {
        let machine = try Machine(tasks(0..<1))
        try await machine.run(Self.urgent) {
            for id in ["a", "b"] { machine.source.put(task(id, "printer on fire", ["priority": 1])) }
            await machine.work(minutes: 2)
            machine.source.put(task("a", "printer on fire", ["priority": 2]))
            machine.sleep(.seconds(9 * 3600))
            await machine.work(minutes: 3)
        }
        #expect(machine.action.texts == ["b is urgent"])
    }

    @Test func `a digest that came due while the machine slept lists the tasks of the next poll, each time`() async throws {
        let machine = try Machine(tasks(0..<3))
        try await machine.run(Self.digest) {
            for id in ["t0", "t1"] {
                await machine.work(minutes: 2)
                machine.source.remove(TaskKey(id))
                machine.sleep(.days(1))
                await machine.work(minutes: 3)
            }
        }
        #expect(machine.action.texts == ["2 open", "1 open"])
    }

    @Test func `after a sleep, a source that is polled once a day is polled at once`() async throws {
        let machine = try Machine(tasks(0..<3))
        try await machine.run(Self.digest, PollPlan(cadence: .every(.days(1)))) {
            await machine.work(minutes: 2)
            machine.source.remove(TaskKey("t0"))
            machine.sleep(.seconds(3600))
            await machine.work(minutes: 3)
        }
        #expect(machine.action.texts == ["2 open"])
    }

    @Test func `a poll during which the machine slept does not count as one after it`() throws {
        let bench = try Bench()
        let scope = Scope.ID(text: "scope")
        let polls = InitialPolls([scope], started: bench.now)
        let start = polls.started
        polls.beginAnew(at: bench.now + .seconds(3600), after: bench.now)
        polls.markPolled(scope, isGood: true, since: start, in: bench.context)
        #expect(polls.isMissing([scope]) && !polls.areGood)
        polls.markPolled(scope, isGood: true, since: polls.started, in: bench.context)
        #expect(!polls.isMissing([scope]) && polls.areGood)
    }

    @Test func `after a sleep, a wait that is over waits until its failing source works again`() async throws {
        let machine = try Machine(tasks(0..<1))
        try await machine.run(Self.urgent) {
            machine.source.put(task("a", "printer on fire", ["priority": 1]))
            await machine.work(minutes: 2)
            let failure = Failure(.unreachable, .retry(after: nil), "nobody there")
            machine.source.edit { $0.lists = [.failure(failure), .failure(failure)] }
            machine.sleep(.seconds(9 * 3600))
            await machine.work(minutes: 1)
            #expect(machine.action.texts == [])
            await machine.work(minutes: 9)
            #expect(machine.action.texts == ["a is urgent"])
        }
    }
}
