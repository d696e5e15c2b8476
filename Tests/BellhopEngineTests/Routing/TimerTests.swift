import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Schedules of rules, across downtime and daylight saving.
@Suite(.timeLimit(.minutes(5))) struct `Timers` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private func digest(_ on: String, name: String = "digest") -> String {
        "rule: \(name)\non: {\(on)}\ndo: [{log: \"${{ event.data.due }} ${{ event.data.missed }}\"}]"
    }

    /// The due times of the `schedule_due` events.
    private func dueTimes(_ bench: Bench) async throws -> [String] {
        try await bench.store.events(EventQuery(types: [.scheduleDue], limit: 10_000)).map { stored in
            let due = if case .string(let text)? = stored.event.data["due"] { text } else { "" }
            return "\(due.prefix(16)) \(stored.event.data["missed"] ?? .null)"
        }
    }

    /// Runs the timers for a while, after the same time without them.
    private func run(_ bench: Bench, _ shelf: RuleShelf, for time: Duration) async throws {
        let end = bench.now + time
        let loop = bench.timing(shelf)
        try await bench.clock.run(until: end, awaiting: 1)
        try await bench.clock.waitForSleepers(1)
        await loop.stop()
    }

    @Test func `a schedule comes due on time, every time`() async throws {
        let shelf = try await bench.shelf(digest("schedule: \"30 9 * * *\""))
        try await run(bench, shelf, for: .days(3))
        #expect(try await dueTimes(bench) == ["2026-01-05T09:30 0", "2026-01-06T09:30 0", "2026-01-07T09:30 0"])
        let times = try await bench.store.events(EventQuery()).map(\.event.time)
        #expect(times.first == bench.now - .days(3) + .seconds(1800))
    }

    @Test func `an interval counts from the loading of its rule`() async throws {
        let shelf = try await bench.shelf(digest("every: 7h"))
        try await run(bench, shelf, for: .days(1))
        #expect(try await dueTimes(bench) == ["2026-01-05T16:00 0", "2026-01-05T23:00 0", "2026-01-06T06:00 0"])
    }

    @Test(arguments: [
        ("once", ["2026-01-08T09:30 3"]),
        ("all", ["2026-01-05T09:30 0", "2026-01-06T09:30 0", "2026-01-07T09:30 0", "2026-01-08T09:30 0"]),
        ("skip", []),
    ])
    func `times missed in three days are handled as the rule's missed setting says`(_ missed: String, _ expected: [String])
        async throws
    {
        let rules = digest("schedule: \"30 9 * * *\", missed: \(missed)")
        _ = try await bench.shelf(rules)
        await bench.clock.advance(by: .days(3) + .seconds(7200))
        let shelf = try await bench.shelf(rules)
        for _ in 0..<3 { try await TimerLoop(bench.context, shelf: shelf).fireDue() }
        #expect(try await dueTimes(bench) == expected)
        try await run(bench, shelf, for: .days(1))
        #expect(try await dueTimes(bench) == expected + ["2026-01-09T09:30 0"])
    }

    @Test func `one digest after three days' downtime is one delivery`() async throws {
        let rules = digest("schedule: \"30 9 * * *\"")
        _ = try await bench.shelf(rules)
        await bench.clock.advance(by: .days(3) + .seconds(7200))
        let shelf = try await bench.shelf(rules)
        let action = ScriptedAction()
        let engine = bench.engine(action, shelf: shelf)
        for _ in 0..<3 { _ = try await engine.runOnce() }
        #expect(action.texts == ["2026-01-08T09:30:00.000000Z 3"])
    }

    @Test func `daylight saving neither skips nor doubles a daily time`() async throws {
        // In 2026 the clocks change on 29 March and 25 October.
        for (start, expected) in [
            ("2026-03-27T12:00:00Z", ["2026-03-28T01:30 0", "2026-03-29T01:00 0", "2026-03-30T00:30 0"]),
            ("2026-10-23T12:00:00Z", ["2026-10-24T00:30 0", "2026-10-25T00:30 0", "2026-10-26T01:30 0"]),
        ] {
            let bench = try Bench(clock: TestClock(at: try #require(Timestamp(rfc3339: start))))
            let shelf = try await bench.shelf(digest("schedule: \"30 2 * * *\", timezone: Europe/Berlin"))
            try await run(bench, shelf, for: .days(3))
            #expect(try await dueTimes(bench) == expected)
        }
    }

    @Test func `setting the clock back does not delay a timer`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let shelf = try await bench.shelf(digest("schedule: \"30 9 * * *\""))
        let loop = bench.timing(shelf)
        await bench.run(until: bench.now + .seconds(3600))
        wall.set(by: .days(-3))
        try await wall.steady.run(until: bench.now + .days(1), awaiting: 1)
        await bench.settle()
        await loop.stop()
        #expect(try await dueTimes(bench) == ["2026-01-05T09:30 0", "2026-01-03T09:30 0"])
    }

    @Test func `removing a rule ends its timer`() async throws {
        let shelf = try await bench.shelf(digest("every: 2h") + "\n---\n" + digest("every: 5h", name: "other"))
        let loop = bench.timing(shelf)
        try await bench.clock.waitForSleepers(1)
        try await shelf.install(try RuleBook.test(digest("every: 5h", name: "other")), in: bench.context)
        try await waitUntil { try await bench.store.nextTimer() == bench.now + .seconds(5 * 3600) }
        try await bench.clock.run(until: bench.now + .seconds(6 * 3600), awaiting: 1)
        // The removed rule would have been due first.
        try await waitUntil { try await !bench.store.events(EventQuery()).isEmpty }
        await bench.settle()
        await loop.stop()
        #expect(try await bench.store.events(EventQuery()).map(\.event.source) == ["other"])
    }

    @Test func `loading a rule wakes the sleeping loop`() async throws {
        let shelf = try await bench.shelf(digest("every: 1d"))
        let loop = bench.timing(shelf)
        try await bench.clock.waitForSleepers(1)
        try await shelf.install(try RuleBook.test(digest("every: 10m", name: "soon")), in: bench.context)
        try await waitUntil { try await bench.store.nextTimer() == bench.now + .seconds(600) }
        await bench.settle()
        try await bench.clock.run(until: bench.now + .seconds(660), awaiting: 1)
        await loop.stop()
        #expect(try await dueTimes(bench) == ["2026-01-05T09:10 0"])
    }

    @Test func `a timer whose rule is not loaded yet does not fire`() async throws {
        let shelf = try await bench.shelf(digest("every: 1d"))
        _ = try await bench.store.register(
            [RuleRegistration(name: "soon", revision: "1", schedule: .init(text: "every 10m", next: bench.now))], at: bench.now)
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 0)
        #expect(try await bench.store.nextTimer() == bench.now)
    }

    @Test func `many timers that are due at once are decided in batches, each exactly once`() async throws {
        let shelf = try await bench.shelf(digest("every: 1d"))
        let timers = (0..<1700).map { number in
            RuleTimer(.init(rule: "digest", kind: .schedule, key: "\(number)"), due: bench.now - .seconds(number))
        }
        try await bench.store.route(Routing(timers: timers.map(TimerChange.set)))
        // Those in front wait for their rule.
        _ = try await bench.store.register(
            [RuleRegistration(name: "digest", revision: "1", schedule: nil), RuleRegistration(name: "soon", revision: "1")],
            at: bench.now)
        try await bench.store.route(
            Routing(
                timers: (0..<900).map {
                    .set(RuleTimer(.init(rule: "soon", kind: .schedule, key: "\($0)"), due: bench.now - .seconds(5000)))
                }))
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 1700)
        #expect(try await dueTimes(bench).count == 1700)
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 0)
    }

    @Test func `a timer that moves while it is decided is decided again from fresh state`() async throws {
        let shelf = try await bench.shelf(digest("every: 1h"))
        await bench.clock.advance(by: .seconds(3600))
        let id = RuleTimer.ID(rule: "digest", kind: .schedule)
        bench.store.storeBeforeNextRouting([Routing(timers: [.set(RuleTimer(id, due: bench.now - .seconds(60)))])])
        #expect(try await TimerLoop(bench.context, shelf: shelf).fireDue() == 1)
        #expect(try await dueTimes(bench) == ["2026-01-05T09:59 0"])
    }

    @Test(arguments: [FaultyStore.Call.dueTimers, .route, .nextTimer], [FaultyStore.Moment.before, .after])
    func `with a failing store, each timer still fires exactly once`(
        _ call: FaultyStore.Call, _ moment: FaultyStore.Moment
    ) async throws {
        let shelf = try await bench.shelf(digest("every: 1h"))
        bench.store.failOnce(call, moment)
        try await run(bench, shelf, for: .seconds(2 * 3600 + 60))
        #expect(try await dueTimes(bench).map { $0.suffix(7) } == ["10:00 0", "11:00 0"])
    }
}
