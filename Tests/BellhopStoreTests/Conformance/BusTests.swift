import BellhopCore
import BellhopTesting
import Testing

@Suite struct `The bus` {
    @Test(arguments: Benches())
    func `an event is equal after storing and reading`(_ bench: Bench) async throws {
        var event = Sample.event(1, type: .taskChanged)
        event.hop = 3
        event.data["odd"] = ["\u{0}\u{2028}\"\\ <!channel> ${{ secret.x }} \"; DROP TABLE", 1.0, 1, -0.5, .null, [:], []]
        try await bench.store.append([event])
        let stored = try await bench.store.unrouted(limit: 1)
        #expect(stored.map(\.event) == [event])
        #expect(stored.first?.event.task == Sample.snapshot(1))
    }

    @Test(arguments: Benches())
    func `a batch is refused as a whole if one of its events was routed meanwhile`(_ bench: Bench) async throws {
        try await bench.store.append((1...3).map { Sample.event($0) })
        let places = try await bench.store.unrouted(limit: 3).map(\.sequence)
        #expect(try await bench.store.route(Routing(routed: [places[0]])) == .stored)
        let late = Routing(routed: places, deliveries: [Sample.delivery(1)])
        #expect(try await bench.store.route(late) == .conflict(.events))
        #expect(try await bench.store.unrouted(limit: 9).map(\.sequence) == [places[1], places[2]])
        #expect(try await bench.store.deliveries(DeliveryQuery()).isEmpty)
        #expect(try await bench.store.route(Routing(routed: [places[0]])) == .alreadyRouted)
    }

    @Test(arguments: Benches())
    func `unrouted events are read in the order of storing, in batches`(_ bench: Bench) async throws {
        try await bench.store.append((1...5).map { Sample.event($0) })
        let first = try await bench.store.unrouted(limit: 3)
        #expect(first.map(\.event) == (1...3).map { Sample.event($0) })
        #expect(
            try await bench.store.unrouted(after: first[1].sequence, limit: 2).map(\.event) == [3, 4].map { Sample.event($0) })
        // Marked out of order and with a gap: the others stay unrouted.
        try await bench.store.route(Routing(routed: [first[2].sequence, first[0].sequence]))
        #expect(try await bench.store.unrouted(limit: 9).map(\.event) == [2, 4, 5].map { Sample.event($0) })
    }

    @Test(arguments: Benches())
    func `the unrouted events of schedules behind a place are read by themselves`(_ bench: Bench) async throws {
        let events = (1...6).map { Sample.event($0, type: $0.isMultiple(of: 2) ? .scheduleDue : .taskChanged) }
        try await bench.store.append(events)
        func schedules(after place: Int64, limit: Int = 9) async throws -> [Event] {
            try await bench.store.unroutedSchedules(after: place, limit: limit).map(\.event)
        }
        #expect(try await schedules(after: 1) == [events[1], events[3], events[5]])
        #expect(try await schedules(after: 2, limit: 1) == [events[3]])
        try await bench.store.route(Routing(routed: [2, 4]))
        #expect(try await schedules(after: 0) == [events[5]])
    }

    @Test(arguments: Benches())
    func `an event that cannot be read is counted and does not block others`(_ bench: Bench) async throws {
        try await bench.store.append((1...4).map { Sample.event($0) })
        try await bench.tested.corruptEvents([1, 2, 4])
        #expect(try await bench.store.unrouted(limit: 2).map(\.sequence) == [3])
        #expect(try await bench.store.unrouted(limit: 2).map(\.sequence) == [3])
        try await bench.store.route(Routing(routed: [3]))
        #expect(try await bench.store.unrouted(limit: 2).isEmpty)
        let status = try await bench.store.status()
        #expect(status.damaged == 3)
        #expect(status.unrouted == 0)
    }

    @Test(arguments: Benches())
    func `a batch of large events is limited by their size`(_ bench: Bench) async throws {
        let text = JSON.string(String(repeating: "x", count: 250_000))
        try await bench.store.append(
            (1...140).map { number in
                var event = Sample.event(number)
                event.data["log"] = text
                return event
            })
        let first = try await bench.store.unrouted(limit: 1000)
        #expect((32...34).contains(first.count))
        var routed = 0
        while case let batch = try await bench.store.unrouted(limit: 1000), !batch.isEmpty {
            try await bench.store.route(Routing(routed: batch.map(\.sequence)))
            routed += batch.count
        }
        #expect(routed == 140)
    }

    @Test(arguments: Benches())
    func `routing stores deliveries, state, tallies, events and the mark together`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        try await bench.store.append([Sample.event(1)])
        let sequence = try await bench.store.unrouted(limit: 1)[0].sequence
        let key = StateKey(rule: "rule", kind: .once, key: "INC1001")
        try await bench.store.route(
            Routing(
                routed: [sequence], deliveries: [Sample.delivery(1)], state: [StateWrite(key, .set(["at": 6], expires: nil))],
                events: [Sample.event(2, type: .deliveryDead)],
                tallies: [RuleTally(rule: "rule", runs: 1, errors: 2, lastError: "no such field", at: bench.now)]))
        #expect(try await bench.store.unrouted(limit: 9).map(\.event.type) == [.deliveryDead])
        #expect(try await bench.store.deliveries(DeliveryQuery()).map(\.delivery) == [Sample.delivery(1)])
        let other = StateKey(rule: "rule", kind: .throttle, key: "INC1001")
        #expect(try await bench.store.state(for: [key, other]) == [key: ["at": 6]])
        let status = try await bench.store.status().rules
        #expect(
            status == [
                .init(
                    rule: "rule", runs: 1, errors: 2, lastError: "no such field", lastRun: bench.now, nextDue: nil, isOff: false)
            ])
    }

    @Test(arguments: Benches())
    func `the error of a rule is kept until it runs without one`(_ bench: Bench) async throws {
        _ = try await bench.store.register([RuleRegistration(name: "rule", revision: "1")], at: bench.now)
        func tally(runs: Int, errors: Int, _ error: String?) async throws -> StoreStatus.RuleStatus? {
            let tally = RuleTally(rule: "rule", runs: runs, errors: errors, lastError: error, at: bench.now)
            try await bench.store.route(Routing(routed: [], tallies: [tally]))
            return try await bench.store.status().rules.first
        }
        #expect(try await tally(runs: 0, errors: 1, "no such field")?.lastError == "no such field")
        let after = try await tally(runs: 1, errors: 0, nil)
        #expect(after?.lastError == nil)
        #expect(after?.errors == 1)
    }

    @Test(arguments: Benches())
    func `an event keeps its cause, whichever query reads it`(_ bench: Bench) async throws {
        var event = Sample.event(2)
        event.cause = Sample.event(1).id
        try await bench.store.append([Sample.event(1), event])
        #expect(try await bench.store.unrouted(limit: 2).map(\.event.cause) == [nil, Sample.event(1).id])
        #expect(try await bench.store.events(at: [1, 2]).map(\.event.cause) == [nil, Sample.event(1).id])
        #expect(try await bench.store.digest(DigestQuery(after: 0, before: 9, types: [], sources: [])).events.isEmpty)
        let digest = try await bench.store.digest(DigestQuery(after: 0, before: 9, types: [.taskCreated], sources: []))
        #expect(digest.events.map(\.event.cause) == [nil, Sample.event(1).id])
    }

    @Test(arguments: Benches())
    func `routing the same events again changes nothing`(_ bench: Bench) async throws {
        try await bench.store.append([Sample.event(1)])
        let sequence = try await bench.store.unrouted(limit: 1)[0].sequence
        let routing = Routing(routed: [sequence], deliveries: [Sample.delivery(1)])
        try await bench.store.route(routing)
        let before = try await bench.tested.dump()
        var second = routing
        second.deliveries.append(Sample.delivery(2))
        try await bench.store.route(second)
        #expect(try await bench.tested.dump() == before)
    }

    @Test(arguments: Benches())
    func `a delivery that exists is not created again`(_ bench: Bench) async throws {
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(1)])
        let claim = try await bench.claim()[0]
        try await bench.finish(claim, .done(Sample.receipt))
        try await bench.enqueue([Sample.delivery(1), Sample.delivery(1, receiver: "mail")])
        #expect(try await bench.states() == [.done, .available])
    }

    @Test(arguments: Benches())
    func `an event that is too large is cut, marked and stored`(_ bench: Bench) async throws {
        var event = Sample.event(1)
        event.data["log"] = .string(String(repeating: "ü", count: 400_000))
        try await bench.store.append([event])
        let stored = try await bench.store.unrouted(limit: 1)[0].event
        let text = try #require(stored.data["log"]?.asString)
        #expect(text.hasSuffix(" bytes]"))
        #expect(JSON.object(stored.data).encoded().count <= 256 * 1024)
        #expect(stored.data["task"] == event.data["task"])
    }

    @Test(arguments: Benches())
    func `a thousand concurrent writers and readers lose nothing`(_ bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...1000 {
                group.addTask {
                    try await bench.store.append([Sample.event(number)])
                    _ = try await bench.store.unrouted(limit: 3)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await bench.store.unrouted(limit: 2000).count == 1000)
    }
}
