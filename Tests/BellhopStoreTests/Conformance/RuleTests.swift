import BellhopCore
import BellhopStore
import Testing

@Suite struct `Rules and their timers` {
    private func rule(_ name: String, _ text: String? = nil, next: Timestamp = .epoch) -> RuleRegistration {
        RuleRegistration(name: name, revision: "1", schedule: text.map { .init(text: $0, next: next) })
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a new rule gets only events stored after its first loading`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        #expect(try await bench.store.register([rule("old")], at: bench.now) == ["old": 0])
        try await bench.store.append([Sample.event(1), Sample.event(2)])
        #expect(try await bench.store.register([rule("old"), rule("new")], at: bench.now) == ["old": 0, "new": 2])
        try await bench.store.append([Sample.event(3)])
        #expect(try await bench.store.unrouted(limit: 9).map(\.sequence) == [1, 2, 3])
        #expect(try await bench.store.register([rule("old"), rule("new")], at: bench.now) == ["old": 0, "new": 2])
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a rule that was removed and added again starts anew`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        _ = try await bench.store.register([rule("a", "@daily", next: bench.after(10))], at: bench.now)
        try await bench.store.append([Sample.event(1)])
        #expect(try await bench.store.register([], at: bench.now) == [:])
        #expect(try await bench.store.nextTimer() == nil)
        let since = try await bench.store.register([rule("a", "@daily", next: bench.after(99))], at: bench.now)
        #expect(since == ["a": 1])
        #expect(try await bench.store.nextTimer() == bench.after(99))
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a timer survives a reload of its rule and starts anew if its schedule changes`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(10))], at: bench.now)
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(500))], at: bench.after(400))
        #expect(try await bench.store.dueTimers(at: bench.after(9)).isEmpty)
        #expect(try await bench.store.dueTimers(at: bench.after(400)) == [RuleTimer(rule: "a", due: bench.after(10))])
        _ = try await bench.store.register([rule("a", "0 9 * * *", next: bench.after(500))], at: bench.after(400))
        #expect(try await bench.store.dueTimers(at: bench.after(499)).isEmpty)
        #expect(try await bench.store.nextTimer() == bench.after(500))
        _ = try await bench.store.register([rule("a")], at: bench.after(400))
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a timer set while the clock was ahead comes due by the corrected clock`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(9999))], at: bench.after(9000))
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(10))], at: bench.now)
        #expect(try await bench.store.nextTimer() == bench.after(10))
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a timer fires once for each time it is due`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        _ = try await bench.store.register(
            [rule("late", "x", next: bench.after(2)), rule("early", "x", next: bench.after(1))], at: bench.now)
        let due = try await bench.store.dueTimers(at: bench.after(2))
        #expect(due.map(\.rule) == ["early", "late"])
        let firing = TimerFiring(
            timer: due[0], next: bench.after(60), events: [Sample.event(1, type: .scheduleDue, source: "early")])
        try await bench.store.fire([firing])
        // The same due time again, with an event that would be new.
        try await bench.store.fire([
            TimerFiring(timer: due[0], next: bench.after(90), events: [Sample.event(2, type: .scheduleDue)])
        ])
        #expect(try await bench.store.unrouted(limit: 9).map(\.event) == firing.events)
        #expect(try await bench.store.dueTimers(at: bench.after(2)).map(\.rule) == ["late"])
        try await bench.store.fire([TimerFiring(timer: due[1], next: nil, events: [])])
        #expect(try await bench.store.nextTimer() == bench.after(60))
    }
}
