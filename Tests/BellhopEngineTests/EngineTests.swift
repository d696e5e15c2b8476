import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import ServiceLifecycle
import Synchronization
import Testing

/// All loops together, run as a service.
@Suite(.timeLimit(.minutes(5))) struct `The engine` {
    let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `one change in a source leads to exactly one delivery`() async throws {
        let action = ScriptedAction()
        let source = bench.source(tasks(0..<3))
        let shelf = try await bench.shelf(logRule(on: "[task_created, task_changed, task_removed]"))
        let service = runAsService(bench.engine(action, shelf: shelf, sources: [source]))
        try await waitUntil { bench.recorder.count("source.baseline") != 0 }
        source.put(task("new"))
        source.put(task("t1", "another title"))
        source.remove("t0")
        await bench.run(until: bench.now + .seconds(300))
        try await waitUntil { action.count >= 3 }
        try await service.stop()
        #expect(action.texts.sorted() == ["tell: task_changed t1", "tell: task_created new", "tell: task_removed t0"])
        #expect(try await bench.store.status().unrouted == 0)
    }

    @Test func `a digest that came due during downtime lists the current tasks`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        let rules = "rule: digest\non: {schedule: \"30 9 * * *\"}\ndo: [{log: \"${{ size(tasks) }} open\"}]"
        let action = ScriptedAction()
        func engine(_ shelf: RuleShelf) -> Engine {
            bench.engine(action, shelf: shelf, sources: [source])
        }
        _ = try await engine(try await bench.shelf(rules, sources: [source])).runOnce()
        await bench.clock.advance(by: .days(3))
        source.remove("t0")
        let service = runAsService(engine(try await bench.shelf(rules, sources: [source])))
        try await waitUntil { action.count > 0 }
        try await service.stop()
        #expect(action.texts == ["2 open"])
    }

    @Test func `a source that hangs delays due timers by a minute at most`() async throws {
        let source = ScriptedSource(clock: bench.clock, delay: .days(1))
        let rules = "rule: digest\non: {schedule: \"30 9 * * *\"}\ndo: [{log: \"${{ size(tasks) }} due\"}]"
        _ = try await bench.shelf(rules, sources: [source])
        _ = try await bench.polled(bench.source(tasks(0..<1)))
        await bench.clock.advance(by: .days(3))
        let shelf = try await bench.shelf(rules, sources: [source])
        let action = ScriptedAction()
        let service = runAsService(bench.engine(action, shelf: shelf, sources: [source]))
        await bench.run(until: bench.now + .seconds(59))
        #expect(action.count == 0)
        await bench.run(until: bench.now + .seconds(2))
        try await waitUntil { action.count == 1 }
        try await service.stop()
    }

    @Test func `a start keeps the tasks of a source that has not changed for years, although it answers late`() async throws {
        let (folder, clock, recorder) = (try TemporaryFolder(), TestClock(), Recorder())
        let source = ScriptedSource(tasks: tasks(0..<2), clock: clock, preparation: .seconds(60))
        func context() throws -> EngineContext {
            EngineContext(store: try Stores.open(folder.path + "/bellhop.db"), clock: clock, signals: recorder.signals)
        }
        let before = try context()
        var poller = Poller(source, plan: .minutely, in: before)
        _ = try await poller.pollOnce()
        try await before.store.close()
        await clock.advance(by: .days(800))
        source.put(task("new"))
        let later = try context()
        let engine = Engine(later, shelf: RuleShelf(), sources: [(source, .minutely)], actions: { _ in nil })
        let running = Task { try await engine.run() }
        // The source prepares, and the maintenance waits after it has deleted old rows.
        try await clock.run(until: clock.now + .seconds(60), awaiting: 2)
        try await waitUntil {
            let events = try await later.store.events(EventQuery()).count
            return events + recorder.count("source.baseline") == 2
        }
        #expect(recorder.count("source.baseline") == 1)
        running.cancel()
        _ = await running.result
        try await later.store.close()
    }

    @Test func `setting the clock back after the start does not prolong the wait for a source that hangs`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let source = ScriptedSource(clock: wall.steady, delay: .days(1))
        let rules = "rule: digest\non: {every: 5m}\ndo: [{log: \"${{ size(tasks) }} due\"}]"
        let shelf = try await bench.shelf(rules, sources: [source])
        let action = ScriptedAction()
        let service = runAsService(bench.engine(action, shelf: shelf, sources: [source]))
        await bench.run(until: bench.now + .seconds(10))
        wall.set(by: .seconds(-7200))
        await bench.run(until: bench.now + .seconds(600))
        // The digest is made, and says that no tasks are known.
        try await waitUntil { bench.recorder.count("rule.failed") == 1 }
        try await service.stop()
    }

    @Test func `a source that hangs while preparing delays only the rules that read its tasks`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        let hanging = ScriptedSource("slow", instance: "https://slow.example", clock: bench.clock, preparation: .days(1))
        let rules = """
            rule: mine
            on: {every: 30s}
            from: my-work
            do: [{log: "mine ${{ size(tasks) }}"}]
            ---
            rule: tick
            on: {every: 1m}
            from: slow
            do: [{log: tick}]
            ---
            rule: theirs
            on: {every: 30s}
            from: slow
            do: [{log: "theirs ${{ size(tasks) }}"}]
            """
        let shelf = try await bench.shelf(rules, sources: [source, hanging])
        let action = ScriptedAction()
        let service = runAsService(bench.engine(action, shelf: shelf, sources: [hanging, source]))
        try await waitUntil { bench.recorder.count("source.baseline") != 0 }
        await bench.run(until: bench.now + .seconds(35))
        try await waitUntil { action.texts == ["mine 2"] }
        await bench.run(until: bench.now + .seconds(30))
        try await waitUntil { Set(action.texts).isSuperset(of: ["mine 2", "tick"]) }
        #expect(hanging.requests.lists.isEmpty)
        try await service.stop()
    }

    @Test func `rules are checked again after a source has discovered its fields, before it is polled`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<1))
        source.edit { $0.discoveredSchema = TaskSchema([.init("priority", .int), .init("severity", .int)]) }
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let seen = Mutex<[(fields: Int, polls: Int)]>([])
        let engine = Engine(
            bench.context, shelf: shelf, sources: [(source, .minutely)],
            onSchemaChange: { changed in seen.withLock { $0.append((changed.schema.fields.count, source.requests.lists.count)) }
            },
            actions: { _ in ScriptedAction() })
        _ = try await engine.runOnce()
        _ = try await engine.runOnce()
        #expect(seen.withLock { $0.map(\.fields) } == [2])
        #expect(seen.withLock { $0.map(\.polls) } == [0])
    }

    @Test func `rules are checked again when a later poll has told the user of a source that did not answer`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<1))
        source.edit { state in
            state.owner = nil
            state.lists = [.failure(Failure(.unreachable, .retry(after: nil), "nobody there"))]
        }
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let seen = Mutex<[String?]>([])
        let engine = Engine(
            bench.context, shelf: shelf, sources: [(source, .minutely)],
            onSchemaChange: { changed in seen.withLock { $0.append(changed.user) } }, actions: { _ in ScriptedAction() })
        let service = runAsService(engine)
        try await waitUntil { bench.recorder.count("source.poll_failed") == 1 }
        #expect(seen.withLock { $0.isEmpty })
        source.edit { $0.owner = "john.doe" }
        await bench.run(until: bench.now + .seconds(600))
        try await service.stop()
        #expect(seen.withLock { $0 } == ["john.doe"])
    }

    @Test func `the number of tasks of a source that was never polled is unknown`() async throws {
        let (bench, source) = try Bench.with()
        source.edit { $0.lists = [.failure(Failure(.unreachable, .retry(after: nil), "nobody there"))] }
        let rules = "rule: digest\non: {every: 1h}\ndo: [{log: \"${{ size(tasks) }} open\"}]"
        let shelf = try await bench.shelf(rules, sources: [source])
        let engine = bench.engine(shelf: shelf, sources: [source])
        await bench.clock.advance(by: .seconds(3600))
        _ = try await engine.runOnce()
        guard case .dead(let failure)? = try await bench.deliveries().first?.delivery.initial else {
            Issue.record("the digest is not dead")
            return
        }
        #expect(failure.message.contains("the tasks of `my-work` are not known: no poll has succeeded yet"))
        _ = try await engine.runOnce()
        await bench.clock.advance(by: .seconds(3600))
        _ = try await engine.runOnce()
        #expect(try await bench.deliveries(.done).map(\.delivery.text) == ["0 open"])
    }

    @Test func `a stop ends the engine at once while all loops sleep`() async throws {
        let sources = (0..<5).map { ScriptedSource("s\($0)", instance: "https://s\($0).example", clock: bench.clock) }
        let shelf = try await bench.shelf("rule: daily\non: {every: 1d}\ndo: [{log: hello}]")
        let service = runAsService(bench.engine(shelf: shelf, sources: sources))
        try await bench.clock.waitForSleepers(7)
        try await service.stop()
        #expect(bench.clock.now == TestClock().now)
        #expect(bench.clock.sleeperCount == 0)
    }

    @Test func `a stop lets attempts in flight finish and starts no others`() async throws {
        let gate = Gate()
        let action = ScriptedAction(waitingAt: gate)
        try await bench.enqueue([TestDelivery("a"), TestDelivery("b", lane: "l"), TestDelivery("c", lane: "l")])
        let service = runAsService(bench.engine(action))
        try await waitUntil { action.count >= 2 }
        await service.group.triggerGracefulShutdown()
        try await waitUntil { bench.recorder.count("agent.stopping") != 0 }
        await bench.clock.advance(by: .seconds(19))
        gate.open()
        try await service.running.value
        #expect(action.texts.sorted() == ["a", "b"])
        let states = Dictionary(uniqueKeysWithValues: try await bench.deliveries().map { ($0.delivery.text, $0.state) })
        #expect(states == ["a": .done, "b": .done, "c": .available])
    }

    @Test func `a stop ends a hanging attempt after the grace period, and it counts as possibly received`() async throws {
        let gate = Gate()
        let action = ScriptedAction(waitingAt: gate)
        try await bench.enqueue([TestDelivery("a")])
        let engine = bench.engine(action)
        let service = runAsService(engine)
        try await waitUntil { action.count >= 1 }
        await service.group.triggerGracefulShutdown()
        try await waitUntil { bench.recorder.count("agent.stopping") != 0 }
        try await waitUntil { bench.clock.nextDeadline == bench.now + .seconds(20) }
        await bench.clock.advance(by: .seconds(20))
        try await service.running.value
        #expect(engine.inFlight == 0)
        let record = try #require(try await bench.deliveries().first)
        #expect(record.state == .available)
        #expect(record.failure?.reason == .interrupted)
        let claim = try await bench.store.claim(limit: 1, excluding: [], until: bench.now + .seconds(9), at: bench.now)
        #expect(claim.first?.attempt.lastUncertain == TestClock().now)
    }

    @Test func `a stop fails if outcomes could not be stored, and says that their deliveries may be made again`() async throws {
        bench.store.fail { $0 == .finish ? .before : nil }
        let action = ScriptedAction()
        try await bench.enqueue([TestDelivery("a"), TestDelivery("b")])
        let service = runAsService(bench.engine(action, limits: .init(lease: .days(1))))
        try await waitUntil { action.count == 2 }
        await service.group.triggerGracefulShutdown()
        let isOver = StopFlag()
        Task {
            _ = await service.running.result
            isOver.raise()
        }
        while !isOver.isRaised {
            await bench.settle()
            await bench.clock.advance(by: .seconds(1))
        }
        let error = await #expect(throws: StoreError.self) { try await service.running.value }
        #expect(error?.kind == .full)
        #expect(
            error?.message
                == "What became of 2 deliveries could not be stored, so the next run may make them again: A test lets finish fail."
        )
    }

    @Test func `a single pass that is stopped fails if outcomes could not be stored`() async throws {
        bench.store.fail { $0 == .finish ? .before : nil }
        let action = ScriptedAction()
        try await bench.enqueue([TestDelivery("a")])
        let engine = bench.engine(action, limits: .init(lease: .days(1)))
        let pass = Task { try await engine.runOnce() }
        try await waitUntil { action.count == 1 }
        await bench.settle()
        pass.cancel()
        let error = await #expect(throws: StoreError.self) { try await pass.value }
        #expect(error?.kind == .full)
        #expect(error?.message.contains("could not be stored") == true, "\(error?.message ?? "")")
    }

    @Test func `a single pass that nobody stops fails when the leases end before the outcomes could be stored`() async throws {
        bench.store.fail { $0 == .finish ? .before : nil }
        let action = ScriptedAction()
        try await bench.enqueue([TestDelivery("a")])
        let engine = bench.engine(action, limits: .init(attempt: .seconds(20), lease: .seconds(30)))
        let pass = Task { try await engine.runOnce() }
        try await waitUntil { action.count == 1 }
        await bench.run(until: bench.now + .seconds(60))
        let error = await #expect(throws: StoreError.self) { try await pass.value }
        #expect(
            error?.message
                == "What became of 1 delivery could not be stored, so the next run may make it again: A test lets finish fail.")
    }

    @Test func `a hanging source stops no other source and does not keep the engine from ending`() async throws {
        let action = ScriptedAction()
        let hanging = ScriptedSource("hanging", instance: "https://hanging.example", clock: bench.clock, delay: .days(9))
        let source = bench.source(tasks(0..<3))
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let service = runAsService(bench.engine(action, shelf: shelf, sources: [hanging, source]))
        try await waitUntil { bench.recorder.count("source.baseline") != 0 }
        source.put(task("new"))
        await bench.run(until: bench.now + .seconds(70))
        try await waitUntil { action.count >= 1 }
        try await service.stop()
        #expect(try await bench.store.status().sources.first { $0.source == "hanging" }?.health.failures == 0)
    }

    @Test func `one pass polls, fires timers, routes, and performs the deliveries that are due`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        let rules =
            logRule(on: "task_created") + "\n---\n"
            + "rule: mourn\non: delivery_dead\ndo: [{log: \"mourn ${{ event.data.delivery.rule }}\"}]"
        let shelf = try await bench.shelf(rules)
        let action = ScriptedAction(failing: Failure(.refused, .giveUp, "400")) { delivery, _ in delivery.text.hasPrefix("tell") }
        let engine = bench.engine(action, shelf: shelf, sources: [source])
        let first = try await engine.runOnce()
        #expect(first.polls.map(\.source) == ["my-work"])
        #expect(first.polls[0].outcome.isBaseline)
        #expect(first.attempts == 0)
        source.put(task("new"))
        let second = try await engine.runOnce()
        #expect(second.attempts == 2)
        #expect(action.texts == ["tell: task_created new", "mourn tell"])
        #expect(try await engine.runOnce().attempts == 0)
    }

    @Test func `single passes delete old rows, too, and keep recent ones`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let engine = bench.engine(shelf: shelf, sources: [source])
        for day in 0..<60 {
            if day.isMultiple(of: 20) { source.put(task("new\(day / 20)")) }
            _ = try await engine.runOnce()
            await bench.clock.advance(by: .days(1))
        }
        #expect(try await bench.eventLines() == ["task_created new2"])
        #expect(try await bench.deliveries().map(\.delivery.text) == ["tell: task_created new2"])
    }
}
