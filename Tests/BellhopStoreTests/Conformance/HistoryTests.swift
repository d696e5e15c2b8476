import BellhopCore
import BellhopStore
import Testing

@Suite struct `The history of a task` {
    @Test(arguments: Benches())
    func `the history of an event has its decisions, those of its timers, and whether it is unrouted`(
        _ bench: Bench
    ) async throws {
        let events = (1...3).map { Sample.event($0) }
        try await bench.store.append(events)
        let stored = try await bench.store.unrouted(limit: 10)
        let timer = Occasion.timer(.init(rule: "a", kind: .hold, key: "k"), due: bench.now, .event(stored[0].sequence))
        let records = [Occasion.event(events[0].id), timer, .event(events[2].id)].enumerated().map { number, occasion in
            DecisionRecord(rule: "a", verdict: .once, occasion: occasion.id, at: bench.now, number: Int64(number + 1))
        }
        try await bench.store.route(Routing(routed: [stored[0].sequence], decisions: records))
        let history = try await bench.store.history(HistoryQuery(event: events[0].id.text))
        #expect(history.events.map(\.event.id) == [events[0].id])
        #expect(history.decisions.map(\.occasion) == [records[0].occasion, records[1].occasion])
        #expect(history.unrouted == [])
        let next = try await bench.store.history(HistoryQuery(event: events[1].id.text))
        #expect(next.unrouted == [stored[1].sequence] && next.decisions == [])
        let none = try await bench.store.history(HistoryQuery(task: "nothing"))
        #expect(none.events == [])
    }

    @Test(arguments: Benches())
    func `the history of an event has the end of its task's escalation, which a later event caused`(_ bench: Bench) async throws {
        let events = (1...3).map { Sample.event($0) }
        try await bench.store.append(events)
        func record(_ verdict: DecisionRecord.Verdict, _ event: Event, _ key: String, _ number: Int64 = 1) -> DecisionRecord {
            DecisionRecord(
                rule: "a", verdict: verdict, occasion: Occasion.event(event.id).id, at: bench.now, number: number,
                detail: ["key": .string(key)])
        }
        let (begun, end) = (record(.escalating, events[0], "tasks/1"), record(.answered, events[2], "tasks/1", 2))
        try await bench.store.route(Routing(decisions: [begun, record(.answered, events[1], "tasks/2"), end]))
        let history = try await bench.store.history(HistoryQuery(event: events[0].id.text))
        #expect(history.decisions == [begun, end])
    }

    @Test(arguments: Benches())
    func `a history has the newest events up to its limit, and a flag if there are more`(_ bench: Bench) async throws {
        try await bench.store.append((1...5).map { Sample.event(1, generation: $0) } + [Sample.event(2)])
        let subject = Sample.subject(1)
        let all = try await bench.store.history(HistoryQuery(task: subject, limit: 5))
        let cut = try await bench.store.history(HistoryQuery(task: subject, limit: 4))
        #expect(!all.isCut && all.events.count == 5)
        #expect(cut.isCut && cut.events == Array(all.events.dropFirst()))
    }

    @Test(arguments: Benches())
    func `a history has the deliveries of its events, on every kind of occasion, and no others`(_ bench: Bench) async throws {
        try await bench.store.append((1...12).map { Sample.event($0) })
        let stored = try await bench.store.unrouted(limit: 20)
        func occasions(_ event: StoredEvent) -> [Occasion] {
            // The key looks like the place of the first event.
            let timer = RuleTimer.ID(rule: "a-1", kind: .hold, key: "x-1/y")
            let run = Occasion.timer(timer, due: bench.now, .event(event.sequence))
            let direct = Occasion.event(event.event.id)
            return [
                direct, .element(of: event.event.id, key: "a/b"), .replay(of: event.event.id, at: bench.now), run,
                .escalation(of: direct.id, step: 1, repetition: 2), .escalation(of: run.id, step: 0, repetition: 0),
                .escalationEnd(of: direct.id),
            ]
        }
        // The place of the last event begins with that of the first.
        var routing = Routing()
        for (number, occasion) in (occasions(stored[0]) + occasions(stored[10])).enumerated() {
            var delivery = Sample.delivery(20 + number)
            delivery.id = Delivery.ID(occasion: occasion.id, rule: "a-1", step: StepPath(index: 0), receiver: "chat")
            routing.deliveries.append(delivery)
            routing.decisions.append(
                DecisionRecord(rule: "a-1", verdict: .once, occasion: occasion.id, at: bench.now, number: Int64(number + 1)))
        }
        try await bench.store.route(routing)
        for event in [stored[0], stored[10]] {
            let history = try await bench.store.history(HistoryQuery(event: event.event.id.text))
            let expected = Set(occasions(event).map(\.id))
            #expect(Set(history.deliveries.map(\.delivery.id.occasion)) == expected)
            #expect(Set(history.decisions.map(\.occasion)) == expected && history.decisions.count == expected.count)
        }
    }

    @Test(arguments: Benches())
    func `the history of a task has the deliveries of a schedule's list for it`(_ bench: Bench) async throws {
        let event = Sample.event(1)
        try await bench.store.append([event])
        var (own, other) = (Sample.delivery(20), Sample.delivery(21))
        for (number, subject) in [event.subject, "acme/other"].enumerated() {
            let occasion = Occasion.element(of: Event.ID("5c4ed01e"), key: "\(number)").id
            var delivery = number == 0 ? own : other
            delivery.id = Delivery.ID(occasion: occasion, rule: "a", step: StepPath(index: 0), receiver: "chat")
            delivery.task?.subject = subject
            if number == 0 { own = delivery } else { other = delivery }
        }
        try await bench.enqueue([own, other])
        let history = try await bench.store.history(HistoryQuery(task: event.subject))
        #expect(history.deliveries.map(\.delivery.id) == [own.id])
        #expect(try await bench.store.history(HistoryQuery(event: event.id.text)).deliveries.isEmpty)
    }

    @Test(arguments: Benches())
    func `a history with causes has the events before and after in the chain of causes, up to a limit`(
        _ bench: Bench
    ) async throws {
        func event(_ number: Int, after cause: Int?) -> Event {
            var event = Sample.event(number)
            event.cause = cause.map { Sample.event($0).id }
            return event
        }
        try await bench.store.append([
            event(1, after: nil), event(2, after: 1), event(3, after: 2), event(4, after: 2), event(5, after: nil),
            event(6, after: 3),
        ])
        for number in [1, 3, 6] {
            let history = try await bench.store.history(HistoryQuery(event: Sample.event(number).id.text, withCauses: true))
            #expect(history.events.map(\.sequence) == [1, 2, 3, 4, 6])
            let own = try await bench.store.history(HistoryQuery(event: Sample.event(number).id.text))
            #expect(own.events.map(\.sequence) == [Int64(number)])
        }
        try await bench.store.append((7...400).map { event($0, after: $0 - 1) })
        let long = try await bench.store.history(HistoryQuery(event: Sample.event(300).id.text, withCauses: true))
        #expect(long.events.count == HistoryQuery.maxCauses)
    }

    @Test(arguments: Benches())
    func `a history up to a sequence number has the newest events up to it`(_ bench: Bench) async throws {
        try await bench.store.append((1...9).map { Sample.event($0) })
        let history = try await bench.store.history(HistoryQuery(through: 7, limit: 3))
        #expect(history.events.map(\.sequence) == [5, 6, 7])
    }
}
