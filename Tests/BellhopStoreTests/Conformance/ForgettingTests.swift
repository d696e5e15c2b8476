import BellhopCore
import Testing

@Suite struct `Forgetting a task` {
    private static let named = NamedTask(
        subject: Sample.subject(1), key: Sample.key(1), number: "INC1001", title: "printer on fire")

    /// The state of a rule about a task.
    private static func about(_ number: Int) -> JSON { ["subject": .string(Sample.subject(number)), "event": 1] }

    private static func key(_ kind: StateKey.Kind, _ key: String, _ element: String = "", rule: String = "rule") -> StateKey {
        StateKey(rule: rule, kind: kind, key: key, element: element)
    }

    /// Stores waits, counts, groups and keys of rules for two tasks.
    private func fill(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([1, 2]))
        _ = try await bench.store.register(
            ["rule", "other"].map { RuleRegistration(name: $0, revision: "1", waits: "w") }, at: bench.now)
        var state: [StateWrite] = []
        var timers: [TimerChange] = []
        for number in 1...2 {
            let id = Sample.key(number).text
            func add(_ key: StateKey, _ value: JSON) { state.append(StateWrite(key, .set(value, expires: nil))) }
            add(Self.key(.hold, "tasks/\(id)"), Self.about(number))
            timers.append(.set(RuleTimer(.init(rule: "rule", kind: .hold, key: "tasks/\(id)"), due: bench.after(60))))
            // The element of a list.
            add(Self.key(.hold, "", "tasks/\(id)", rule: "other"), Self.about(number))
            timers.append(.set(RuleTimer(.init(rule: "other", kind: .hold, key: "tasks/\(id)"), due: bench.after(60))))
            add(Self.key(.count, "net", "e\(number)"), Self.about(number))
            add(Self.key(.gathered, "net", "e\(number)"), Self.about(number))
            add(Self.key(.gathered, "own \(number)", "e\(number)", rule: "shadow/rule"), Self.about(number))
            timers.append(.set(RuleTimer(.init(rule: "rule", kind: .group, key: "own \(number)"), due: bench.after(60))))
            add(Self.key(.once, id), true)
            add(Self.key(.throttle, id, rule: "gone"), 5)
            add(Self.key(.once, "\(id) and more"), true)
        }
        timers.append(.set(RuleTimer(.init(rule: "rule", kind: .group, key: "net"), due: bench.after(60))))
        try await bench.store.route(Routing(state: state, timers: timers))
    }

    @Test(arguments: Benches())
    func `forgetting a task deletes the rules' state and timers of it, and of no other task`(_ bench: Bench) async throws {
        try await fill(bench)
        let found = try await bench.store.tasks(named: "INC1001")
        #expect(found == [Self.named])
        let forgotten = try await bench.store.forget(found[0], at: bench.now)
        #expect(
            forgotten == [
                Forgotten(rule: "gone", kind: .throttle, count: 1), Forgotten(rule: "other", kind: .hold, count: 1),
                Forgotten(rule: "rule", kind: .count, count: 1), Forgotten(rule: "rule", kind: .gathered, count: 2),
                Forgotten(rule: "rule", kind: .hold, count: 1), Forgotten(rule: "rule", kind: .once, count: 1),
            ])
        let (one, two) = (Sample.key(1).text, Sample.key(2).text)
        let timers = try await bench.store.dueTimers(at: bench.after(60), limit: 10).map {
            "\($0.id.rule) \($0.id.kind) \($0.id.key)"
        }
        #expect(Set(timers) == ["rule hold tasks/\(two)", "other hold tasks/\(two)", "rule group own 2", "rule group net"])
        let state = try await bench.store.state(
            for: [
                Self.key(.hold, "tasks/\(one)"), Self.key(.hold, "tasks/\(two)"), Self.key(.hold, "", rule: "other"),
                Self.key(.count, "net"), Self.key(.gathered, "net"), Self.key(.once, one), Self.key(.once, two),
                Self.key(.once, "\(one) and more"), Self.key(.throttle, one, rule: "gone"),
            ])
        #expect(
            Set(state.all.map(\.key)) == [
                Self.key(.hold, "tasks/\(two)"), Self.key(.hold, "", "tasks/\(two)", rule: "other"),
                Self.key(.count, "net", "e2"), Self.key(.gathered, "net", "e2"), Self.key(.once, two),
                Self.key(.once, "\(one) and more"),
            ])
        #expect(try await bench.store.forget(found[0], at: bench.now) == [])
        // A group from which all is gone flushes no more.
        _ = try await bench.store.forget(
            NamedTask(subject: Sample.subject(2), key: Sample.key(2), number: "INC1002", title: ""), at: bench.now)
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test(arguments: Benches())
    func `forgetting a task deletes the records of the waits and absences that it began, and of no others`(
        _ bench: Bench
    ) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1", waits: "w")], at: bench.now)
        var state: [StateWrite] = []
        for (number, kind) in [(1, StateKey.Kind.hold), (1, .absence), (2, .hold)] {
            let id = Sample.key(number).text
            let key = "\(kind) \(number)"
            let wait: JSON = ["source": "tasks", "task": .string(id), "subject": .string(Sample.subject(number))]
            state.append(StateWrite(Self.key(kind, key), .set(wait, expires: nil)))
            state.append(StateWrite(Self.key(.begun, "tasks/\(id)", key), .set(true, expires: nil)))
        }
        try await bench.store.route(Routing(state: state))
        _ = try await bench.store.forget(Self.named, at: bench.now)
        let begun = try await bench.store.state(for: [1, 2].map { Self.key(.begun, "tasks/\(Sample.key($0).text)") })
        #expect(begun.all.map(\.key) == [Self.key(.begun, "tasks/\(Sample.key(2).text)", "hold 2")])
    }

    @Test(arguments: Benches())
    func `a routing decided before a task was forgotten is refused, a later one is stored`(_ bench: Bench) async throws {
        try await fill(bench)
        let id = Sample.key(1).text
        let timer = RuleTimer(.init(rule: "rule", kind: .hold, key: "tasks/\(id)"), due: bench.after(60))
        let key = Self.key(.count, "net", "e1")
        _ = try await bench.store.forget(Self.named, at: bench.now)
        let used = Routing(state: [StateWrite(key, .delete, expecting: .value(Self.about(1)))])
        #expect(try await bench.store.route(used) == .conflict(.state(key)))
        #expect(try await bench.store.route(Routing(fired: [timer])) == .conflict(.timer(timer.id)))
        let anew = Routing(state: [StateWrite(key, .set(Self.about(1), expires: nil), expecting: .absent)], timers: [.set(timer)])
        #expect(try await bench.store.route(anew) == .stored)
    }

    @Test(arguments: Benches())
    func `a task is found by its id, number, address and subject, also after it left`(_ bench: Bench) async throws {
        try await fill(bench)
        _ = try await bench.store.commit(Sample.poll([], removing: [1], turn: 1))
        for name in [Sample.key(1).text, "INC1001", Sample.snapshot(1).url, Sample.subject(1)] {
            #expect(try await bench.store.tasks(named: name) == [Self.named], "\(name)")
        }
        for name in ["", "INC", "INC100", "/", "elsewhere/\(Sample.key(1).text)"] {
            #expect(try await bench.store.tasks(named: name) == [], "\(name)")
        }
        // Known only to a rule.
        let gone = StateWrite(Self.key(.hold, "x"), .set(["subject": "test/a1"], expires: nil))
        // With the accent, the slash is one character for Swift.
        let accented = StateWrite(Self.key(.hold, "y"), .set(["subject": "test/\u{301}a"], expires: nil))
        try await bench.store.route(Routing(state: [gone, accented]))
        #expect(
            try await bench.store.tasks(named: "test/a1") == [NamedTask(subject: "test/a1", key: "a1", number: "", title: "")])
        #expect(try await bench.store.tasks(named: "test/\u{301}a").map(\.key) == ["\u{301}a"])
    }

    @Test(arguments: Benches())
    func `a number that two instances use is ambiguous`(_ bench: Bench) async throws {
        try await fill(bench)
        let other = Scope(instance: "https://other.service-now.com", user: "ada", kind: "tracker")
        _ = try await bench.store.open(other, source: "others", at: bench.now)
        var poll = Sample.poll([1])
        (poll.scope, poll.events) = (other.id, [])
        _ = try await bench.store.commit(poll)
        #expect(try await bench.store.tasks(named: "INC1001").count == 2)
        #expect(try await bench.store.tasks(named: Sample.subject(1)) == [Self.named])
    }

    @Test(arguments: Benches())
    func `forgetting a task drops its held messages, and no other delivery`(_ bench: Bench) async throws {
        try await fill(bench)
        let quiet = Delivery.InitialState.quiet(.init(task: nil, event: nil))
        let deliveries = [
            Sample.delivery(1, receiver: "chat", initial: quiet), Sample.delivery(1, receiver: "mail", initial: quiet),
            Sample.delivery(2, initial: quiet), Sample.delivery(1, receiver: "hook"),
        ]
        try await bench.enqueue(deliveries)
        let forgotten = try await bench.store.forget(Self.named, at: bench.now)
        #expect(forgotten.contains(Forgotten(rule: "rule", kind: nil, count: 2)))
        let records = try await bench.store.deliveries(DeliveryQuery(limit: 10))
        let states = Dictionary(uniqueKeysWithValues: records.map { ($0.delivery.id, $0.state) })
        #expect(deliveries.map { states[$0.id] } == [.dropped, .dropped, .quiet, .available])
    }
}
