import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Rules and their timers` {
    private func rule(_ name: String, _ text: String? = nil, next: Timestamp = .epoch) -> RuleRegistration {
        RuleRegistration(name: name, revision: "1", schedule: text.map { .init(text: $0, next: next) })
    }

    private func timer(_ rule: String, _ key: String = "", due: Timestamp) -> RuleTimer {
        RuleTimer(.init(rule: rule, kind: .schedule, key: key), due: due)
    }

    @Test(arguments: Benches())
    func `a new rule gets only the events after its first loading`(_ bench: Bench) async throws {
        #expect(try await bench.store.register([rule("old")], at: bench.now).since == ["old": 0])
        try await bench.store.append([Sample.event(1), Sample.event(2)])
        #expect(try await bench.store.register([rule("old"), rule("new")], at: bench.now).since == ["old": 0, "new": 2])
        try await bench.store.append([Sample.event(3)])
        #expect(try await bench.store.unrouted(limit: 9).map(\.sequence) == [1, 2, 3])
        #expect(try await bench.store.register([rule("old"), rule("new")], at: bench.now).since == ["old": 0, "new": 2])
    }

    @Test(arguments: Benches())
    func `a rule that was removed and added again starts anew`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("a", "@daily", next: bench.after(10))], at: bench.now)
        try await bench.store.append([Sample.event(1)])
        #expect(try await bench.store.register([], at: bench.now).since == [:])
        #expect(try await bench.store.nextTimer() == nil)
        let since = try await bench.store.register([rule("a", "@daily", next: bench.after(99))], at: bench.now).since
        #expect(since == ["a": 1])
        #expect(try await bench.store.nextTimer() == bench.after(99))
    }

    @Test(arguments: Benches())
    func `a timer survives a reload of its rule and starts anew if its schedule changes`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(10))], at: bench.now)
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(500))], at: bench.after(400))
        #expect(try await bench.store.dueTimers(at: bench.after(9), limit: 9).isEmpty)
        #expect(try await bench.store.dueTimers(at: bench.after(400), limit: 9) == [timer("a", due: bench.after(10))])
        _ = try await bench.store.register([rule("a", "0 9 * * *", next: bench.after(500))], at: bench.after(400))
        #expect(try await bench.store.dueTimers(at: bench.after(499), limit: 9).isEmpty)
        #expect(try await bench.store.nextTimer() == bench.after(500))
        _ = try await bench.store.register([rule("a")], at: bench.after(400))
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test(arguments: Benches())
    func `a timer set while the clock was ahead comes due by the corrected clock`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(9999))], at: bench.after(9000))
        _ = try await bench.store.register([rule("a", "0 8 * * *", next: bench.after(10))], at: bench.now)
        #expect(try await bench.store.nextTimer() == bench.after(10))
    }

    @Test(arguments: Benches())
    func `a timer fires once for each time it is due`(_ bench: Bench) async throws {
        _ = try await bench.store.register(
            [rule("late", "x", next: bench.after(2)), rule("early", "x", next: bench.after(1))], at: bench.now)
        let due = try await bench.store.dueTimers(at: bench.after(2), limit: 9)
        #expect(due == [timer("early", due: bench.after(1)), timer("late", due: bench.after(2))])
        let event = Sample.event(1, type: .scheduleDue, source: "early")
        let next = TimerChange.set(timer("early", due: bench.after(60)))
        #expect(try await bench.store.route(Routing(fired: [due[0]], timers: [next], events: [event])) == .stored)
        #expect(try await bench.store.dueTimers(at: bench.after(2), limit: 9) == [due[1]])
        #expect(try await bench.store.route(Routing(fired: [due[1]])) == .stored)
        #expect(try await bench.store.nextTimer() == bench.after(60))
        #expect(try await bench.store.unrouted(limit: 9).map(\.event) == [event])
    }

    @Test(arguments: Benches())
    func `a batch of timers is refused if one has moved or is gone`(_ bench: Bench) async throws {
        _ = try await bench.store.register(
            [rule("moved", "x", next: bench.after(1)), rule("gone", "x", next: bench.after(1)), rule("c", "x", next: bench.now)],
            at: bench.now)
        let due = try await bench.store.dueTimers(at: bench.after(1), limit: 9)
        try await bench.store.route(
            Routing(timers: [.set(timer("moved", due: bench.after(2))), .cancel(timer("gone", due: bench.now).id)]))
        let before = try await bench.tested.dump()
        for timer in due[1...] {
            let routing = Routing(
                fired: [due[0], timer], deliveries: [Sample.delivery(1)], timers: [.set(self.timer("c", due: bench.after(9)))],
                events: [Sample.event(1)])
            #expect(try await bench.store.route(routing) == .conflict(.timer(timer.id)))
            #expect(try await bench.tested.dump() == before)
        }
    }

    @Test(arguments: Benches())
    func `timers due at the same moment are ordered by their rules, then by when they were set`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("b"), rule("a")], at: bench.now)
        let keys = [("a", "2"), ("b", "1"), ("a", "1"), ("b", "2"), ("b", "3")]
        for (rule, key) in keys {
            try await bench.store.route(Routing(timers: [.set(timer(rule, key, due: bench.after(1)))]))
        }
        try await bench.store.route(
            Routing(timers: [.set(timer("a", "0", due: bench.now)), .set(timer("b", "1", due: bench.after(1)))]))
        func order(_ limit: Int) async throws -> [String] {
            try await bench.store.dueTimers(at: bench.after(1), limit: limit).map { $0.id.rule + $0.id.key }
        }
        let all = ["a0", "b2", "b3", "b1", "a2", "a1"]
        for limit in 1...7 { #expect(try await order(limit) == Array(all.prefix(limit))) }
        _ = try await bench.store.register([rule("a"), rule("b")], at: bench.now)
        #expect(try await order(9) == ["a0", "a2", "a1", "b2", "b3", "b1"])
    }

    @Test(arguments: Benches())
    func `timers that wait for a source or a rule are left out, and delay no others`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("a"), rule("b")], at: bench.now)
        func set(_ kind: RuleTimer.Kind, _ rule: String, _ key: String, _ second: Int, source: String? = nil) -> TimerChange {
            let payload: JSON.Object = source.map { ["source": .string($0)] } ?? [:]
            return .set(RuleTimer(.init(rule: rule, kind: kind, key: key), due: bench.after(second), payload: payload))
        }
        let timers = [
            set(.hold, "a", "incidents/1", 1), set(.escalation, "a", "incidents/x/2", 2), set(.hold, "b", "changes/1", 3),
            set(.absence, "a", "k", 4, source: "incidents"), set(.absence, "b", "", 5, source: ""),
            set(.absence, "b", "incidents/1", 6), set(.group, "a", "incidents", 7), set(.hold, "b", "incidents", 7),
        ]
        try await bench.store.route(Routing(timers: timers))
        func left(_ edit: (inout WaitingTimers) -> Void) async throws -> [Int64] {
            var waiting = WaitingTimers()
            edit(&waiting)
            let due = try await bench.store.dueTimers(at: bench.after(7), limit: 9, besides: waiting)
            let next = try await bench.store.nextTimer(after: .distantPast, besides: waiting)
            #expect(next == due.first?.due)
            for limit in 1...8 {
                let some = try await bench.store.dueTimers(at: bench.after(7), limit: limit, besides: waiting)
                #expect(some == Array(due.prefix(limit)))
            }
            return due.map { ($0.due - bench.now).components.seconds }
        }
        #expect(try await left { _ in } == [1, 2, 3, 4, 5, 6, 7, 7])
        #expect(try await left { $0.sources = ["incidents"] } == [3, 5, 6, 7])
        #expect(try await left { $0.absences = ["b"] } == [1, 2, 3, 4, 7, 7])
        #expect(try await left { $0.rules = ["a", "none"] } == [3, 5, 6, 7])
    }

    @Test(arguments: Benches())
    func `removing a rule ends all its timers and prevents new ones`(_ bench: Bench) async throws {
        _ = try await bench.store.register([rule("a", "x", next: bench.after(5)), rule("b")], at: bench.now)
        try await bench.store.route(
            Routing(timers: [.set(timer("a", "k", due: bench.after(1))), .set(timer("b", "k", due: bench.after(3)))]))
        #expect(try await bench.store.status().rules.map(\.nextDue) == [bench.after(1), bench.after(3)])
        _ = try await bench.store.register([rule("b")], at: bench.now)
        let late = timer("a", "k", due: bench.after(1))
        try await bench.store.route(Routing(timers: [.set(late)]))
        #expect(try await bench.store.nextTimer() == bench.after(3))
        let ids = [late.id, timer("b", "k", due: bench.now).id]
        #expect(try await bench.store.timers(ids) == [timer("b", "k", due: bench.after(3))])
    }

    @Test(arguments: Benches())
    func `waits that begin by themselves begin for each source that is added, and for no other`(_ bench: Bench) async throws {
        func begun(_ sources: String...) async throws -> [String] {
            let rule = RuleRegistration(name: "a", revision: "1", waits: "w", beginsByItself: true, sources: sources)
            _ = try await bench.store.register([rule], at: bench.now)
            let due = try await bench.store.dueTimers(at: bench.now, limit: 9)
            try await bench.store.route(Routing(fired: due))
            return due.map { "\($0.id.kind.rawValue) \($0.id.key)" }
        }
        #expect(try await begun("x") == ["existing "])
        #expect(try await begun("x", "z", "y") == ["existing y", "existing z"])
        #expect(try await begun("y") == [])
        #expect(try await begun("x", "y") == ["existing x"])
    }

    @Test(arguments: Benches())
    func `escalations keep their steps when their rule changes, and end when it is removed`(_ bench: Bench) async throws {
        func changed(_ name: String, isOff: Bool = false) -> RuleRegistration {
            RuleRegistration(name: name, revision: "2", waits: isOff ? nil : "other", isOff: isOff)
        }
        _ = try await bench.store.register([rule("a"), rule("b")], at: bench.now)
        let escalations = StateKey(rule: "", kind: .escalation, key: "s/1")
        let next = ["a", "b"].map { RuleTimer(.init(rule: $0, kind: .escalation, key: "s/1"), due: bench.after(1)) }
        let keys = ["a", "b"].flatMap { name in
            [
                StateKey(rule: "", kind: .escalation, key: "s/1", element: name), StateKey(rule: name, kind: .steps, key: "v"),
                StateKey(rule: name, kind: .escalated, key: "s/1", element: "e"),
            ]
        }
        try await bench.store.route(
            Routing(state: keys.map { StateWrite($0, .set(["text": "x"], expires: nil)) }, timers: next.map { .set($0) }))
        _ = try await bench.store.register([changed("a"), changed("b")], at: bench.now)
        #expect(try await bench.store.timers(next.map(\.id)) == next)
        #expect(try await bench.store.formerRules() == ["a": ["v": ["text": "x"]], "b": ["v": ["text": "x"]]])
        #expect(
            try await bench.store.status().waits.map { "\($0.rule) \($0.part.rawValue) \($0.count)" } == [
                "a escalate 1", "b escalate 1",
            ])
        _ = try await bench.store.register([changed("b")], at: bench.now)
        #expect(try await bench.store.timers(next.map(\.id)) == [next[1]])
        #expect(try await bench.store.formerRules() == ["b": ["v": ["text": "x"]]])
        #expect(try await Array(bench.store.state(for: [escalations]).window(escalations).keys.map(\.element)) == ["b"])
        let events = ["a", "b"].map { StateKey(rule: $0, kind: .escalated, key: "s/1") }
        #expect(try await bench.store.state(for: events).window(events[0]).isEmpty)
        #expect(try await bench.store.state(for: events).window(events[1]).count == 1)
        for isOff in [true, false] { _ = try await bench.store.register([changed("b", isOff: isOff)], at: bench.now) }
        #expect(try await bench.store.state(for: [escalations] + events).isEmpty)
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test func `a hundred thousand due timers are read in batches, in order of time`() async throws {
        let bench = Bench(.inMemory)
        _ = try await bench.store.register([rule("a")], at: bench.now)
        let count = 100_000
        try await bench.store.route(
            Routing(timers: (0..<count).map { .set(timer("a", "\($0)", due: bench.after(count - $0 / 2))) }))
        var read = 0
        var latest = bench.now
        for _ in 1...20 {
            let due = try await bench.store.dueTimers(at: bench.after(count), limit: 500)
            #expect(due.count == 500 && due.allSatisfy { $0.due >= latest })
            latest = try #require(due.last).due
            #expect(try await bench.store.route(Routing(fired: due)) == .stored)
            read += due.count
        }
        #expect(try await bench.store.nextTimer() == bench.after(count / 2 + 1 + read / 2))
    }
}
