import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Quiet times in the running engine. The clock starts at nine on a Monday.
@Suite(.timeLimit(.minutes(5))) struct `Quiet times in the engine` {
    private static let rule = """
        rule: tell
        on: task_created
        quiet: {hours: "09:00-17:00"}
        do: [{notify: {to: chat, title: "${{ task.id }}"}}]
        """

    private func shelf(_ bench: Bench, _ rules: String = rule, quiet: QuietEntry? = nil) async throws -> RuleShelf {
        let shelf = RuleShelf()
        try await shelf.install(try RuleBook.test(rules, sources: [bench.source()], quiet: quiet), in: bench.context)
        return shelf
    }

    private func route(_ numbers: ClosedRange<Int>, _ bench: Bench, _ shelf: RuleShelf) async throws {
        try await bench.route(numbers.map { .created($0, at: bench.now) }, by: shelf)
    }

    /// The titles of the available messages; a coalesced message has those of its list.
    private func available(_ bench: Bench) async throws -> [String] {
        try await bench.deliveries(.available).compactMap { record in
            guard case .message(let message) = record.delivery.arguments else { return nil }
            return message.list.map { $0.items.map(\.plainText).joined(separator: " ") } ?? message.title.plainText
        }
    }

    @Test func `held messages are released as one when the quiet time ends, also after a restart`() async throws {
        let bench = try Bench()
        let shelf = try await shelf(bench)
        try await route(1...3, bench, shelf)
        let loop = bench.timing(shelf)
        await bench.run(until: bench.now + .seconds(8 * 3600 - 1))
        #expect(try await available(bench) == [])
        await loop.stop()
        let again = Task { await TimerLoop(bench.restarted, shelf: shelf).run() }
        await bench.run(until: bench.now + .seconds(2))
        await again.stop()
        #expect(try await available(bench) == ["t1 t2 t3"])
    }

    @Test func `a sleeping loop wakes for the release of a message that was held meanwhile`() async throws {
        let bench = try Bench()
        let shelf = try await shelf(bench)
        let loop = bench.timing(shelf)
        await bench.settle()
        try await route(1...1, bench, shelf)
        await bench.run(until: bench.now + .seconds(8 * 3600))
        await loop.stop()
        #expect(try await available(bench) == ["t1"])
    }

    @Test func `a message that was held while the clock was ahead is released when the present quiet time ends`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let shelf = try await shelf(bench)
        let start = bench.now
        wall.set(by: .days(365))
        let loop = bench.timing(shelf)
        await bench.settle()
        try await route(1...1, bench, shelf)
        await bench.settle()
        wall.set(by: .days(-365))
        await bench.run(until: start + .seconds(8 * 3600 - 1))
        #expect(try await available(bench) == [])
        await bench.run(until: start + .seconds(8 * 3600 + 60))
        await loop.stop()
        #expect(try await available(bench) == ["t1"])
    }

    @Test func `a release comes before the timers and the events of the same moment`() async throws {
        let bench = try Bench()
        let rules = Self.rule + "\n---\nrule: digest\non: {schedule: \"0 17 * * *\"}\ndo: [{notify: {to: chat, title: digest}}]"
        let shelf = try await shelf(bench, rules)
        try await route(1...1, bench, shelf)
        await bench.clock.advance(by: .seconds(8 * 3600))
        try await bench.route([.created(2, at: bench.now)], by: shelf)
        #expect(try await available(bench) == ["t1", "t2"])
        try await TimerLoop(bench.context, shelf: shelf).fireDue()
        try await Router(bench.context, shelf: shelf).routePending()
        #expect(try await available(bench) == ["t1", "t2", "digest"])
    }

    @Test func `a release of messages without tasks does not read the events that wait`() async throws {
        let bench = try Bench()
        let rule = """
            rule: digest
            on: {schedule: "0 10 * * *"}
            quiet: {hours: "09:00-17:00"}
            do: [{notify: {to: chat, title: digest}}]
            """
        let shelf = try await shelf(bench, rule)
        let timers = TimerLoop(bench.context, shelf: shelf)
        await bench.clock.advance(by: .seconds(3600))
        try await timers.fireDue()
        try await Router(bench.context, shelf: shelf).routePending()
        #expect(try await bench.deliveries(.quiet).count == 1)
        await bench.clock.advance(by: .seconds(7 * 3600))
        bench.store.fail { $0 == .unrouted ? .before : nil }
        try await timers.fireDue()
        #expect(try await available(bench) == ["digest"])
    }

    @Test func `a message is released when the quiet time of its connection has ended too`() async throws {
        let bench = try Bench()
        let hours = try HoursWindow.list("17:00-18:00")
        let shelf = try await shelf(bench, quiet: QuietEntry(QuietTime(.during(WorkCalendar(zone: .utc, hours: hours)))))
        try await route(1...2, bench, shelf)
        let timers = TimerLoop(bench.context, shelf: shelf)
        await bench.clock.advance(by: .seconds(8 * 3600))
        try await timers.fireDue()
        #expect(try await available(bench) == [])
        #expect(try await bench.deliveries(.quiet).map { $0.runAt - bench.now } == [.seconds(3600), .seconds(3600)])
        await bench.clock.advance(by: .seconds(3600))
        try await timers.fireDue()
        #expect(try await available(bench) == ["t1 t2"])
    }

    @Test func `a silence that ends while a release is decided does not apply`() async throws {
        let bench = try Bench()
        let shelf = try await shelf(bench)
        try await route(1...2, bench, shelf)
        let silence = Silence(
            starts: bench.now + .seconds(7 * 3600), ends: bench.now + .days(1), reason: "x", by: "ann"
        ).identified
        try await bench.store.add(silence, at: bench.now)
        await bench.clock.advance(by: .seconds(7 * 3600))
        let timers = TimerLoop(bench.context, shelf: shelf)
        try await timers.fireDue()
        // Ended by another program: the engine does not know it.
        _ = try await bench.store.endSilence(silence.id, at: bench.now)
        await bench.clock.advance(by: .seconds(3600))
        try await timers.fireDue()
        #expect(try await available(bench) == ["t1 t2"])
    }

    @Test func `whichever statement fails, held messages are sent once, as one`() async throws {
        var faults = 0
        for count in 1...200 {
            let bench = try Bench()
            let shelf = try await shelf(bench)
            try await route(1...3, bench, shelf)
            await bench.clock.advance(by: .seconds(8 * 3600))
            bench.fail(statement: count)
            var hasFailed = false
            for _ in 1...3 {
                do throws(StoreError) {
                    try await TimerLoop(bench.restarted, shelf: shelf).fireDue()
                } catch {
                    hasFailed = true
                }
            }
            bench.stopFailing()
            #expect(try await available(bench) == ["t1 t2 t3"], "statement \(count)")
            #expect(try await bench.deliveries(.joined).count == 3)
            if !hasFailed { break }
            faults += 1
        }
        #expect(faults > 4)
    }

    @Test(arguments: FaultyStore.Moment.all)
    func `an engine whose store fails during a release sends held messages once`(_ moment: FaultyStore.Moment) async throws {
        for call in [FaultyStore.Call.nextRelease, .released, .release, .remembered, .events] {
            let bench = try Bench()
            let shelf = try await shelf(bench)
            try await route(1...2, bench, shelf)
            await bench.clock.advance(by: .seconds(8 * 3600))
            bench.store.failOnce(call, moment)
            for _ in 1...2 { _ = try? await TimerLoop(bench.restarted, shelf: shelf).fireDue() }
            #expect(try await available(bench) == ["t1 t2"], "\(call)")
        }
    }
}
