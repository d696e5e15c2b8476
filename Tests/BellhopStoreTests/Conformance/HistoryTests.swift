import BellhopCore
import BellhopStore
import Testing

@Suite struct `The history of a task` {
    @Test(arguments: StoreUnderTest.allCases)
    func `a history has the events of a task, what stopped rules, and what timers made of them`(_ kind: StoreUnderTest)
        async throws
    {
        let bench = try kind.make()
        let events = (1...3).map { Sample.event($0) }
        try await bench.store.append(events)
        let stored = try await bench.store.unrouted(limit: 10)
        let timer = Occasion.timer(.init(rule: "a", kind: .hold, key: "k"), due: bench.now, begun: stored[0].sequence)
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

    @Test(arguments: StoreUnderTest.allCases)
    func `a history has the newest events up to its limit, and says that there are more`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        try await bench.store.append((1...5).map { Sample.event($0) })
        let subject = Sample.event(1).subject
        let all = try await bench.store.history(HistoryQuery(task: subject, limit: 50))
        let cut = try await bench.store.history(HistoryQuery(task: subject, limit: max(1, all.events.count - 1)))
        #expect(!all.isCut && !all.events.isEmpty)
        #expect(all.events.count == 1 || cut.isCut && cut.events == Array(all.events.dropFirst()))
    }
}
