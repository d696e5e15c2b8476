import BellhopCore
import BellhopRules
import BellhopStore
import Testing

@testable import BellhopAgent

@Suite struct BackTestRunTests {
    private let start = Timestamp(seconds: 1_767_603_600)

    private func book(_ title: String = "New") throws -> RuleBook {
        let text = """
            rule: tell
            on: task_created
            do: [{log: "\(title) ${{ task.number }}"}]
            ---
            rule: counts
            on: task_created
            count: {at_least: 1000, within: 24h}
            do: [{log: "many"}]

            """
        return try RuleBook.load(text)
    }

    @Test(arguments: [", by: source", ""])
    func `the silence of a source does not begin before its first stored event`(_ by: String) async throws {
        let text = "rule: r\non: {none: task_created, within: 1h\(by)}\nfrom: [my-work, late, never]\ndo: [{log: silent}]"
        let book = try RuleBook.load(text)
        let store = try await store(3)
        var late = created(7200)
        (late.source, late.type) = ("late", .sourceRecovered)
        try await store.append([late])
        func runs(until seconds: Int) async throws -> Int64? {
            let report = try await BackTestRun.report(store, book, from: start - .seconds(86_400), to: start + .seconds(seconds))
            #expect(report.gaps.contains("The store has no event of `never`, so the back-test does not show its silence."))
            return report.json["rules"]?.asArray?.first?["runs"]?.asInt
        }
        #expect(try await runs(until: 3600) == 0)
        #expect(try await runs(until: 10_700) == 1)
        #expect(try await runs(until: 10_900) == (by.isEmpty ? 1 : 2))
    }

    @Test func `times of a schedule before the store's first event are left out, and the report says so`() async throws {
        let book = try RuleBook.load("rule: digest\non: {schedule: \"0 * * * *\"}\ndo: [{log: hourly}]")
        // The first event comes at 09:00.
        let report = try await BackTestRun.report(
            try await store(3), book, from: start - .seconds(86_400), to: start + .seconds(2 * 3600))
        #expect(report.tally.rules["digest"]?.runs == 2)
        #expect(
            report.gaps.contains(
                "The store has no events before \(start.rfc3339), so no earlier times of schedules are counted."))
    }

    @Test func `without events nothing is due, and the report says only that there are none`() async throws {
        let book = try RuleBook.load("rule: digest\non: {schedule: \"0 * * * *\"}\ndo: [{log: hourly}]")
        let store = try Stores.inMemory()
        _ = try await store.register(book.registrations(at: start), at: start)
        let report = try await BackTestRun.report(store, book, from: start - .days(1), to: start + .seconds(2 * 3600))
        #expect(report.tally.rules["digest"]?.runs == 0)
        #expect(
            report.gaps == ["The store has no events yet, so the rules have nothing to do: `bellhop run` stores events."])
    }

    @Test func `a clock that was ahead at the store's first event does not empty the back-test, and the report says so`()
        async throws
    {
        let text =
            "rule: digest\non: {schedule: \"0 * * * *\"}\ndo: [{log: hourly}]\n---\n"
            + "rule: r\non: {none: task_created, within: 1h}\nfrom: [my-work]\ndo: [{log: silent}]"
        let store = try Stores.inMemory()
        var ahead = created(9)
        ahead.time = start + .days(400)
        try await store.append([ahead] + (0..<3).map { created($0) })
        let report = try await BackTestRun.report(
            store, try RuleBook.load(text), from: start - .seconds(86_400), to: start + .seconds(2 * 3600))
        #expect(report.events == 3 && report.first == start && report.ahead == 1)
        #expect(report.tally.rules["digest"]?.runs == 2 && report.tally.rules["r"]?.runs == 1)
        #expect(
            report.gaps.contains("Events that are left out, because the clock was ahead when they were stored: 1."))
    }

    @Test func `a back-test begins where the deleted events end, and not with an older event that a rule still needs`()
        async throws
    {
        let text = "rule: digest\non: {schedule: \"0 * * * *\"}\ndo: [{log: hourly}]"
        let store = try Stores.inMemory()
        var late = created(2)
        late.time = start + .days(20)
        try await store.append([created(0), created(1), late])
        // The first event is kept, because it is not routed.
        try await store.route(Routing(routed: [2, 3]))
        let end = start + .days(21)
        #expect(try await store.prune(Retention(events: .days(10)), at: end) == 1)
        let report = try await BackTestRun.report(store, try RuleBook.load(text), from: start - .days(1), to: end)
        #expect(report.events == 1 && report.tally.rules["digest"]?.runs == 240)
        #expect(
            report.gaps.first
                == "Events before \((start + .days(11)).rfc3339) were deleted (`retention.events`), so the back-test begins there."
        )
        #expect(!report.gaps.contains { $0.hasPrefix("The store has no events before") })
        // Of the time after that, all events are known.
        let short = try await BackTestRun.report(store, try RuleBook.load(text), from: end - .days(5), to: end)
        #expect(short.events == 1 && !short.gaps.contains { $0.hasPrefix("Events before") })
    }

    @Test func `rules see the tasks that existed at the beginning, as they were then`() async throws {
        let scope = Scope(instance: "https://acme.example", user: "ada", kind: "tracker")
        var context = RuleLoading.openContext()
        (context.assumed, context.calendars) = (nil, [:])
        context.sources = [
            .init(
                name: "my-work", kind: "tracker", connection: "snow", schema: TaskSchema([.init("number", .text)]),
                scope: scope.id,
                user: "ada")
        ]
        let rules = """
            rule: listed
            on: {schedule: "30 * * * *"}
            from: my-work
            each: tasks.filter(t, t.title != "new")
            do: [{log: "${{ task.id }}"}]
            ---
            rule: waits
            on: task_created
            from: my-work
            for: {time: 10m, existing: true}
            do: [{log: "${{ task.id }}"}]
            """
        let book = try RuleBook.load([RuleFile(path: "rules/a.yaml", bytes: Array(rules.utf8))], context: context)
        let store = try Stores.inMemory()
        _ = try await store.open(scope, source: "my-work", at: start)
        func task(_ id: TaskKey, _ title: String) -> Snapshot { Snapshot(key: id, number: id.text, title: title) }
        let (quiet, old, new, late) = (task("a1", "quiet"), task("a2", "old"), task("a2", "new"), task("a3", "late"))
        _ = try await store.commit(
            PollCommit(
                scope: scope.id, source: "my-work", expectedTurn: 0, at: start,
                present: [quiet, new, late].map { task in
                    PollCommit.PresentTask(
                        text: SnapshotText(task), listed: .of(task.title), content: .of(task.title), generation: 1,
                        refreshed: start)
                }))
        let fields = try #require(Change(from: old, to: new, ignoring: [])?.fields)
        func event(_ content: EventContent, after seconds: Int) -> Event {
            Event(content, facts: String(seconds), source: "my-work", subject: "a", at: start + .seconds(seconds))
        }
        try await store.append([
            event(.sourceRecovered("my-work", error: "", since: start), after: 0),
            event(.taskChanged(new, before: old, fields, in: "my-work"), after: 3600),
            event(.taskCreated(late, in: "my-work"), after: 3601),
        ])
        let report = try await BackTestRun.report(store, book, from: start, to: start + .seconds(2 * 3600))
        // At half past nine a1 and a2, at half past ten a1 and a3.
        #expect(report.tally.rules["listed"]?.runs == 4 && report.tally.rules["waits"]?.runs == 3)
        #expect(report.tally.tasks == ["a1": 3, "a2": 2, "a3": 2])
        #expect(
            report.gaps.contains { $0.hasPrefix("Tasks that no event of this time shows are taken as they are now: `listed`") })
    }

    /// A store with as many events each second, which are one batch. Each batch reads the events of the count again.
    private func store(_ count: Int, perSecond: Int = 1) async throws -> any Store {
        let store = try Stores.inMemory()
        try await store.append((0..<count).map { created($0, perSecond: perSecond) })
        return store
    }

    private func created(_ number: Int, perSecond: Int = 1) -> Event {
        let task: JSON = [
            "id": .string("t\(number)"), "number": .string("INC\(number)"), "title": "x", "url": "https://acme.example/",
            "fields": [:], "labels": [:],
        ]
        return Event(
            id: Event.ID(type: .taskCreated, facts: "\(number)"), type: .taskCreated, source: "my-work", subject: "s\(number)",
            time: start + .seconds(number / perSecond), data: ["task": task])
    }

    private func report(_ store: any Store, against: RuleBook? = nil, seconds: Int = 10_000) async throws -> BackTestReport {
        try await BackTestRun.report(store, try book(), against: against, from: start, to: start + .seconds(seconds))
    }

    @Test func `each event of several pages is replayed once, and counts continue from page to page`() async throws {
        let report = try await self.report(try await store(2500, perSecond: 100))
        #expect(report.events == 2500 && report.first == start && !report.hasEarlier)
        #expect(report.tally.rules["tell"]?.runs == 2500 && report.tally.rules["counts"]?.runs == 2)
        #expect(report.deliveries.count == 2502)
    }

    @Test func `events after the end of the time are left out`() async throws {
        #expect(try await report(try await store(2500, perSecond: 100), seconds: 11).events == 1200)
    }

    @Test func `a comparison finds the differences of every page of events, and no difference between equal rules`() async throws
    {
        let store = try await store(2500, perSecond: 100)
        let same = try #require(try await report(store, against: try book()).difference)
        #expect(same.isEmpty && same.same == 2502)
        let other = try #require(try await report(store, against: try book("Old")).difference)
        #expect(other.same == 2 && other.changed.count == 2500 && other.coming.count + other.going.count == 0)
    }

    @Test func `events stored by one transaction during a back-test are all included or all left out`() async throws {
        let store = try await store(1500, perSecond: 100)
        async let added = store.append((1500..<3000).map { created($0, perSecond: 100) })
        let report = try await self.report(store)
        _ = try await added
        // All events of the transaction, or none.
        #expect(report.events == 1500 || report.events == 3000)
    }
}
