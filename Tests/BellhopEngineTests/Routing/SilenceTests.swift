import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Silences and pauses of rules` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private static let rule = """
        rule: thank
        on: task_created
        do: [{comment: "thanks"}]
        """

    private func silence(_ bench: Bench, from start: Int, to end: Int, when: String? = nil) -> Silence {
        Silence(
            when: when, starts: bench.now + .seconds(start), ends: bench.now + .seconds(end), reason: "x", by: "ann", writes: true
        ).identified
    }

    private func states(_ bench: Bench) async throws -> [DeliveryState] { try await bench.deliveries().map(\.state) }

    private func silenceEvents(_ bench: Bench) async throws -> [String] {
        try await bench.store.events(EventQuery(types: [.silenceStarted, .silenceEnded])).map { stored in
            let kept = stored.event.data["silence"]?["kept"]?.asInt.map { " \($0)" } ?? ""
            return "\(stored.event.type.name) \((stored.event.time - TestClock().now).components.seconds)\(kept)"
        }
    }

    @Test func `deliveries are silenced from the first moment of a silence to the last before its end`() async throws {
        let shelf = try await bench.shelf(Self.rule, sources: [bench.source()])
        try await bench.store.add(silence(bench, from: 60, to: 120), at: bench.now)
        let (timers, router) = (TimerLoop(bench.context, shelf: shelf), Router(bench.context, shelf: shelf))
        for (number, second) in [0, 59, 60, 119, 120, 180].enumerated() {
            await bench.clock.advance(to: TestClock().now + .seconds(second))
            try await timers.fireDue()
            try await bench.store.append([.created(number, at: bench.now)])
            try await router.routePending()
        }
        #expect(try await states(bench) == [.available, .available, .silenced, .silenced, .available, .available])
        #expect(try await silenceEvents(bench) == ["silence_started 60", "silence_ended 120 2"])
    }

    @Test func `a silence begins and ends on time without other events, also across a restart`() async throws {
        let shelf = try await bench.shelf(Self.rule, sources: [bench.source()])
        try await bench.store.add(silence(bench, from: 60, to: 7200), at: bench.now)
        let loop = bench.timing(shelf)
        await bench.run(until: bench.now + .seconds(90))
        #expect(try await silenceEvents(bench) == ["silence_started 60"])
        await loop.stop()
        let again = TimerLoop(bench.restarted, shelf: shelf)
        let second = Task { await again.run() }
        await bench.run(until: TestClock().now + .seconds(7300))
        #expect(try await silenceEvents(bench) == ["silence_started 60", "silence_ended 7200 0"])
        await second.stop()
    }

    @Test func `the end of a silence comes before the schedules of the same moment`() async throws {
        let rules = Self.rule + "\n---\nrule: digest\non: {schedule: \"30 9 * * *\"}\ndo: [{log: x}]"
        let shelf = try await bench.shelf(rules, sources: [bench.source()])
        try await bench.store.add(silence(bench, from: 0, to: 1800), at: bench.now)
        await bench.clock.advance(by: .seconds(1800))
        try await TimerLoop(bench.context, shelf: shelf).fireDue()
        #expect(try await bench.store.events(EventQuery()).map(\.event.type) == [.silenceStarted, .silenceEnded, .scheduleDue])
    }

    @Test func `a silence that ended in the store does not apply to the next batch`() async throws {
        let shelf = try await bench.shelf(Self.rule, sources: [bench.source()])
        let silence = silence(bench, from: 0, to: 600)
        try await bench.store.add(silence, at: bench.now)
        let router = Router(bench.context, shelf: shelf)
        try await bench.store.append([.created(1, at: bench.now)])
        try await router.routePending()
        // Ended by another program: the engine does not know it.
        _ = try await bench.store.endSilence(silence.id, at: bench.now)
        try await bench.store.append([.created(2, at: bench.now)])
        try await router.routePending()
        #expect(try await states(bench) == [.silenced, .available])
        #expect(try await silenceEvents(bench) == ["silence_started 0", "silence_ended 0 1"])
    }

    @Test func `whichever statement fails, a silence is reported once and counts its silenced deliveries`() async throws {
        var faults = 0
        for count in 1...200 {
            let bench = try Bench()
            let shelf = try await bench.shelf(Self.rule, sources: [bench.source()])
            try await bench.store.add(silence(bench, from: 10, to: 20), at: bench.now)
            try await bench.store.append([.created(1, at: bench.now)])
            bench.fail(statement: count)
            var hasFailed = false
            for second in [10, 10, 20, 20] {
                await bench.clock.advance(to: TestClock().now + .seconds(second))
                // As after a crash: the next run knows only the store.
                let context = bench.restarted
                do throws(StoreError) {
                    try await TimerLoop(context, shelf: shelf).fireDue()
                    try await Router(context, shelf: shelf).routePending()
                } catch { hasFailed = true }
            }
            bench.stopFailing()
            try await TimerLoop(bench.restarted, shelf: shelf).fireDue()
            let kept = try await states(bench).filter { $0 == .silenced }.count
            let reported = try await silenceEvents(bench).map {
                $0.split(separator: " ")[0] + ($0.hasSuffix(" \(kept)") ? " kept" : "")
            }
            #expect(reported == ["silence_started", "silence_ended kept"], "statement \(count)")
            #expect(try await states(bench).count == 1)
            if !hasFailed { break }
            faults += 1
        }
        #expect(faults > 8)
    }

    // MARK: Pauses

    @Test func `a paused rule misses the events of its pause, and other rules do not`() async throws {
        let rules = Self.rule + "\n---\n" + logRule(on: "task_created", as: "tell")
        var shelf = try await bench.shelf(rules, sources: [bench.source()])
        func route(_ number: Int) async throws {
            try await bench.route([.created(number, at: bench.now)], by: shelf)
        }
        try await route(1)
        try await bench.store.pause(Pause(.rule("thank"), since: bench.now, reason: ""))
        // Applied as a command applies it, and then as a restart does.
        try await shelf.installAgain(in: bench.context)
        try await route(2)
        shelf = try await bench.shelf(rules, sources: [bench.source()])
        try await route(3)
        try await bench.store.append([.created(4, at: bench.now)])
        _ = try await bench.store.resume(.rule("thank"), at: bench.now)
        try await shelf.installAgain(in: bench.context)
        try await Router(bench.context, shelf: shelf).routePending()
        try await route(5)
        let made = try await bench.deliveries().map { "\($0.delivery.id.rule) \($0.delivery.task?.key.text ?? "")" }
        #expect(made.filter { $0.hasPrefix("thank") } == ["thank t1", "thank t5"])
        #expect(made.filter { $0.hasPrefix("tell") } == (1...5).map { "tell t\($0)" })
    }

    @Test(arguments: [true, false])
    func `a rule with for that ran runs again after a pause if its condition ended during the pause`(_ ends: Bool) async throws {
        let agent = try await TestAgent(
            "rule: r\non: [task_created, task_changed]\nwhen: task.priority == 1\nfor: 10m\ndo: [{log: \"${{ task.title }}\"}]")
        try await agent.put("a", "one", thenWait: 11)
        let store = agent.bench.store
        try await store.pause(Pause(.rule("r"), since: agent.bench.now, reason: ""))
        try await agent.put("a", "two", priority: ends ? 3 : 1, thenWait: 1)
        #expect(try await store.resume(.rule("r"), at: agent.bench.now))
        try await agent.wait(1)
        try await agent.put("a", "three", thenWait: 11)
        #expect(agent.texts == (ends ? ["one", "three"] : ["one"]))
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    @Test func `the schedule of a paused rule waits, and runs once when the rule is resumed`() async throws {
        let shelf = try await bench.shelf("rule: digest\non: {every: 1h}\ndo: [{log: x}]")
        try await bench.store.pause(Pause(.rule("digest"), since: bench.now, reason: ""))
        let timers = TimerLoop(bench.context, shelf: shelf)
        for _ in 1...5 {
            await bench.clock.advance(by: .seconds(3600))
            #expect(try await timers.fireDue() == 0)
        }
        _ = try await bench.store.resume(.rule("digest"), at: bench.now)
        #expect(try await timers.fireDue() == 1)
        #expect(try await bench.eventLines().count == 1)
    }
}
