import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite struct `Changes found by a poll` {
    @Test func `the first poll is the baseline and emits nothing`() async throws {
        let bench = try Bench()
        var poller = bench.poller(bench.source(tasks(0..<3)))
        guard case .baseline(let count) = try await poller.pollOnce() else { return #expect(Bool(false), "no baseline") }
        #expect(count == 3)
        #expect(try await bench.eventLines() == [])
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await bench.eventLines() == [])
    }

    @Test func `with initial: emit, the tasks of the baseline are reported`() async throws {
        let bench = try Bench()
        _ = try await bench.polled(bench.source(tasks(0..<3)), PollPlan(cadence: .every(.seconds(60)), emitsInitial: true))
        #expect(try await bench.eventLines() == ["task_created t0", "task_created t1", "task_created t2"])
    }

    @Test func `an empty first list is a baseline too`() async throws {
        var (bench, source, poller) = try await Bench.polled()
        source.put(task("a"))
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == ["task_created a"])
    }

    @Test func `fields and titles that change are reported with both values`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a"), task("b")])
        source.put(task("a", "printer is out", ["priority": 1]))
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(try await bench.eventLines() == [#"task_changed a priority: 3 → 1 title: "printer on fire" → "printer is out""#])
        let event = try #require(try await bench.store.events(EventQuery()).first?.event)
        #expect(event.data["before"]?["title"] == "printer on fire")
        #expect(event.data["task"]?["fields"]?["priority"] == 1)
        #expect(event.subject == "https://acme.example/a")
    }

    @Test(arguments: [
        (
            "bookkeeping",
            labelled("a", fields: ["priority": 3, "sys_updated_on": "later", "sys_updated_by": "bob", "sys_mod_count": 9])
        ),
        ("a field that is declared now", labelled("a", fields: ["priority": 3, "state": 2])),
        ("a field that is declared no more", labelled("a", fields: [:])),
        ("labels", labelled("a", labels: ["priority": "3 - mittel"])),
    ]) func `a difference that does not change the task causes no event`(_ what: String, _ after: Snapshot) async throws {
        let before = labelled("a", fields: ["priority": 3, "sys_updated_on": "now"])
        var (bench, source, poller) = try await Bench.polled([before])
        source.put(after)
        #expect(try await poller.pollOnce().isUnchanged)
        source.put(before)
        #expect(try await poller.pollOnce().isUnchanged)
        #expect(try await bench.eventLines() == [])
    }

    @Test func `a redefined field has not changed, but the others may have`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a", fields: ["priority": 3, "state": 1])])
        source.redefinePriority("impact")
        source.put(task("a", fields: ["priority": "High", "state": 2]))
        _ = try await poller.pollOnce()
        source.put(task("a", fields: ["priority": "Low", "state": 2]))
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == ["task_changed a state: 1 → 2", #"task_changed a priority: "High" → "Low""#])
    }

    @Test(arguments: [false, true])
    func `a redefined field has not changed in a task that is read later than others, in the same second or after a restart`(
        _ restarts: Bool
    ) async throws {
        let tasks = ["a", "b"].map { task($0, "open", fields: ["priority": 3]) }
        var (bench, source, poller) = try await Bench.polled(tasks)
        func poll(_ name: String, _ title: String, priority: JSON) async throws {
            source.put(task(name, title, fields: ["priority": priority]))
            if restarts { poller = bench.poller(source) }
            _ = try await poller.pollOnce()
        }
        source.redefinePriority("impact")
        source.edit { $0.unreadable = ["b"] }
        try await poll("a", "closed", priority: "High")
        try await poll("a", "again", priority: "Low")
        source.edit { $0.unreadable = [] }
        try await poll("b", "closed", priority: "High")
        try await poll("b", "closed", priority: "Low")
        #expect(
            try await bench.eventLines() == [
                #"task_changed a title: "open" → "closed""#,
                #"task_changed a priority: "High" → "Low" title: "closed" → "again""#,
                #"task_changed b title: "open" → "closed""#,
                #"task_changed b priority: "High" → "Low""#,
            ])
    }

    @Test func `a redefined field has not changed when its task's details become readable again`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a", "open", fields: ["priority": 3])])
        source.redefinePriority("impact")
        source.put(task("a", "closed", fields: ["priority": "High"]))
        for isForbidden in [true, true, false] {
            source.edit { $0.isForbidden = isForbidden }
            _ = try await poller.pollOnce()
        }
        source.put(task("a", "closed", fields: ["priority": "Low"]))
        _ = try await poller.pollOnce()
        #expect(
            try await bench.eventLines() == [
                #"task_changed a title: "open" → "closed""#, #"task_changed a priority: "High" → "Low""#,
            ])
    }

    @Test func `a redefined field has not changed after polls that failed`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a", fields: ["priority": 3])])
        source.redefinePriority("impact")
        source.put(task("a", fields: ["priority": "High"]))
        let failure = Failure(.gateway, .retry(after: nil), "502")
        source.edit { state in
            state.lists = [.failure(failure)]
            state.details = [failure]
        }
        for isFailed in [true, true, false] { #expect(try await poller.pollOnce().isFailed == isFailed) }
        #expect(try await bench.eventLines() == [])
    }

    @Test func `after a restart, the next change of a redefined field is reported, although its new definition left its value`()
        async throws
    {
        let (bench, source, _) = try await Bench.polled([task("a", fields: ["priority": 3])])
        source.redefinePriority("impact")
        for priority: JSON in [3, 4] {
            source.put(task("a", fields: ["priority": priority]))
            _ = try await bench.polled(source)
        }
        #expect(try await bench.eventLines() == ["task_changed a priority: 3 → 4"])
    }

    @Test func `after the clock was set back, fields are redefined, and their later changes reported, as before`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a", fields: ["priority": 3])])
        func poll(_ priority: JSON) async throws {
            await bench.clock.jump(to: bench.now - .seconds(300))
            source.put(task("a", fields: ["priority": priority]))
            _ = try await poller.pollOnce()
        }
        source.redefinePriority("impact")
        for priority: JSON in [4, 5] { try await poll(priority) }
        source.redefinePriority("urgency")
        for priority: JSON in [6, 7] { try await poll(priority) }
        #expect(try await bench.eventLines() == ["task_changed a priority: 4 → 5", "task_changed a priority: 6 → 7"])
    }

    @Test(arguments: RemovalReason.allCases)
    func `a task that leaves is reported as removed, with the source's reason`(_ reason: RemovalReason) async throws {
        var (bench, source, poller) = try await Bench.polled([task("a"), task("b")])
        source.remove("a", because: reason)
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(try await bench.eventLines() == ["task_removed a \(reason.rawValue)"])
    }

    @Test func `every return of a removed task is reported`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a"), task("b")])
        for _ in 0..<2 {
            source.remove("a", because: .closed)
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(60))
            source.put(task("a", "printer burns again"))
            _ = try await poller.pollOnce()
        }
        source.put(task("a", "printer is fine"))
        _ = try await poller.pollOnce()
        #expect(
            try await bench.eventLines() == [
                "task_removed a closed", "task_returned a", "task_removed a closed", "task_returned a",
                #"task_changed a title: "printer burns again" → "printer is fine""#,
            ])
        let returned = try #require(try await bench.store.events(EventQuery(types: [.taskReturned])).first?.event)
        #expect(returned.data["removed"] == .string((bench.now - .seconds(120)).rfc3339))
    }

    @Test func `a returned task keeps the values of hidden fields, except of those that were redefined`() {
        let definitions = FieldDefinitions().updated(to: ["level": "urgency", "place": "location"])
            .updated(to: ["level": "impact", "place": "location"])
        let row = Snapshot(key: "a", className: "incident", fields: ["level": "", "place": ""])
        var task = ReadTask(
            listed: .zero, text: SnapshotText(row, unread: ["level", "place"]), revision: definitions.revision, wasStale: false,
            before: nil)
        task.complete(by: Snapshot(key: "a", className: "incident", fields: ["level": "1", "place": "Oslo"]), definitions)
        #expect(task.text.snapshot.fields == ["level": "", "place": "Oslo"])
    }

    @Test func `new, removed and returned tasks are reported once, also across restarts`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        for step in 0..<4 {
            var poller = bench.poller(source)
            if step == 1 { source.put(task("new")) }
            if step == 2 { source.remove("t0", because: .closed) }
            if step == 3 { source.put(task("t0")) }
            for _ in 0..<2 { _ = try await poller.pollOnce() }
        }
        #expect(try await bench.eventLines() == ["task_created new", "task_removed t0 closed", "task_returned t0"])
    }

    @Test func `another instance starts with a new baseline`() async throws {
        let (bench, _, _) = try await Bench.polled(tasks(0..<3))
        let other = ScriptedSource(tasks: tasks(5..<9), instance: "https://other.example", clock: bench.clock)
        var another = bench.poller(other)
        guard case .baseline = try await another.pollOnce() else { return #expect(Bool(false), "no baseline") }
        #expect(try await bench.eventLines() == [])
    }

    @Test func `the same fact is the same event in every store`() async throws {
        var ids: [[Event.ID]] = []
        for offset in [0, 1000] {
            let bench = try Bench()
            await bench.clock.advance(by: .seconds(offset))
            let source = bench.source(tasks(0..<2))
            var poller = try await bench.polled(source)
            source.put(task("new"))
            source.put(task("t1", "another title"))
            source.remove("t0")
            _ = try await poller.pollOnce()
            source.put(task("t0"))
            _ = try await poller.pollOnce()
            ids.append(try await bench.store.events(EventQuery()).map(\.event.id))
        }
        #expect(ids[0].count == 4)
        #expect(ids[0] == ids[1])
        #expect(Set(ids[0]).count == 4)
    }

    @Test func `a task whose details fail is reported once they can be read`() async throws {
        let plan = PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(3600)))
        var (bench, source, poller) = try await Bench.polled([], plan)
        source.put(task("a"))
        source.edit { $0.unreadable = ["a"] }
        for _ in 0..<2 { #expect(try await poller.pollOnce().isUnchanged) }
        source.edit { $0.unreadable = [] }
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == ["task_created a"])
    }

    @Test func `losing and regaining the right to read details causes no event and keeps the stored details`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<3))
        var poller = bench.poller(source)
        for isForbidden in [true, false, true, false, true] {
            source.edit { $0.isForbidden = isForbidden }
            _ = try await poller.pollOnce()
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(try await bench.eventLines() == [])
        // The event has the new values of the listing, and the last known details.
        source.put(task("t1", "printer is fine", ["priority": 1]))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.tasks(in: [source.scope.id])[source.scope.id]?[1] == task("t1", "printer is fine"))
        source.edit { $0.isForbidden = false }
        _ = try await poller.pollOnce()
        let title = "title: \(JSON.string("printer on fire")) → \(JSON.string("printer is fine"))"
        #expect(try await bench.eventLines() == ["task_changed t1 \(title)", "task_changed t1 priority: 3 → 1"])
    }

    @Test func `details that could not be read are requested again at the next poll`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        var poller = bench.poller(
            source, PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(3600))))
        source.edit { $0.isForbidden = true }
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        source.edit { $0.isForbidden = false }
        for _ in 0..<2 { _ = try await poller.pollOnce() }
        #expect(source.requests.details.count == 3)
        #expect(try await bench.store.tasks(in: [source.scope.id])[source.scope.id] == tasks(0..<2))
    }

    @Test func `a source's notice is reported once as long as it stays the same`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        var poller = bench.poller(source)
        source.edit { $0.notice = "The account may not read details." }
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        #expect(bench.recorder.count("source.notice") == 1)
    }

    @Test func `a notice stays current until the source reads other tasks' details without one`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        var poller = bench.poller(source)
        source.edit { $0.notice = "The account may not read details." }
        for _ in 0..<2 {
            _ = try await poller.pollOnce()
            #expect(bench.context.activities.notices == [source.name: ["The account may not read details."]])
        }
        source.edit { $0.notice = nil }
        source.put(task("new"))
        _ = try await poller.pollOnce()
        #expect(bench.context.activities.notices == [source.name: []])
    }

    @Test func `a notice that differs only in its numbers is not reported again`() async throws {
        let (bench, source) = try Bench.with(tasks(0..<2))
        var poller = bench.poller(source, PollPlan(cadence: .every(.seconds(60)), refresh: RefreshPolicy(interval: .seconds(90))))
        for count in 2..<8 {
            source.edit { $0.notice = "The details of \(count) of 9 tasks cannot be read." }
            _ = try await poller.pollOnce()
            // A different answer that changes no task.
            source.edit { $0.cursor = Cursor(.int(Int64(count))) }
            await bench.clock.advance(by: .seconds(60))
        }
        #expect(source.requests.details.count == 3)
        #expect(bench.recorder.count("source.notice") == 1)
        source.edit { $0.notice = "The account may not read details." }
        await bench.clock.advance(by: .seconds(60))
        _ = try await poller.pollOnce()
        #expect(bench.recorder.count("source.notice") == 2)
    }
}

extension PollOutcome {
    var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
    var isHeld: Bool { if case .held = self { true } else { false } }
    var isSuperseded: Bool { if case .superseded = self { true } else { false } }
    var isFailed: Bool { if case .failed = self { true } else { false } }
    var isBaseline: Bool { if case .baseline = self { true } else { false } }
    var events: Int { if case .changed(let events) = self { events } else { 0 } }
}

private func labelled(_ key: String, fields: JSON.Object = ["priority": 3], labels: JSON.Object = [:]) -> Snapshot {
    var snapshot = task(key, "printer on fire", fields)
    snapshot.labels = labels
    return snapshot
}
