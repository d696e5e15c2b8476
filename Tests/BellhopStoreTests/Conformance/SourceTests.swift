import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Sources and their tasks` {
    @Test(arguments: Benches())
    func `a new scope has no tasks and no baseline`(_ bench: Bench) async throws {
        let memory = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        #expect(memory.turn == 0)
        #expect(!memory.hasBaseline)
        #expect(memory.known.isEmpty)
        #expect(memory.cursor == nil && memory.answer == nil && memory.definitions == FieldDefinitions())
        #expect(memory.health == SourceHealth())
    }

    @Test(arguments: Benches())
    func `a committed poll is stored completely, in the order of its listing`(_ bench: Bench) async throws {
        try await bench.openScope()
        var poll = Sample.poll([3, 1, 2])
        poll.definitions = poll.definitions.updated(to: ["priority": "text urgency", "state": "int state"])
        poll.present[1].revision = poll.definitions.revision
        poll.health = SourceHealth(
            failures: 2, failingSince: bench.now, lastError: "it hung", announced: true, lastSuccess: bench.after(-60),
            held: HeldResult(json: [
                "fingerprint": .string(Fingerprint.of("x").hex), "known": 30, "listed": 0, "new": 0, "gone": 30, "changed": 120,
                "fields": ["state"], "polls": 2, "since": .int(bench.now.microseconds),
            ]), emptyBaseline: EmptyBaseline(since: bench.after(-30)))
        #expect(try await bench.store.commit(poll) == .committed(turn: 1, newEvents: 3))

        let memory = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        #expect(memory.turn == 1)
        #expect(memory.hasBaseline)
        #expect(memory.cursor == poll.cursor)
        #expect(memory.answer == poll.answer)
        #expect(memory.definitions == poll.definitions)
        #expect(memory.health == poll.health)
        #expect(memory.health.held != nil)
        #expect(memory.known.map(\.key) == [Sample.key(3), Sample.key(1), Sample.key(2)])
        #expect(memory.known.map(\.listed) == poll.present.map(\.listed))
        #expect(memory.known.map(\.content) == poll.present.map(\.content))
        #expect(memory.known.map(\.revision) == [0, 1, 0])
        #expect(memory.known.map(\.refreshed) == poll.present.map(\.refreshed))
        #expect(try await bench.store.tasks(in: [Sample.scope.id]) == [Sample.scope.id: poll.present.map(\.text.snapshot)])
    }

    @Test(arguments: Benches())
    func `present tasks are read page by page, each once, all or those with a number or a key`(_ bench: Bench) async throws {
        try await bench.openScope()
        var poll = Sample.poll([3, 1, 2, 4])
        let other = SnapshotText(Snapshot(key: "x", number: "INC1002"))
        poll.present.append(.init(text: other, listed: .zero, content: .zero, generation: 1, refreshed: nil))
        _ = try await bench.store.commit(poll)
        func numbers(_ name: String?) async throws -> [String] {
            var (numbers, after): ([String], TaskKey?) = ([], nil)
            repeat {
                let page = try await bench.store.tasks(TaskQuery(Sample.scope.id, after: after, name: name, limit: 2))
                #expect(page.tasks.count <= 2)
                numbers += page.tasks.map(\.number)
                after = page.end
            } while after != nil
            return numbers.sorted()
        }
        #expect(try await numbers(nil) == ["INC1001", "INC1002", "INC1002", "INC1003", "INC1004"])
        #expect(try await numbers("INC1002") == ["INC1002", "INC1002"])
        #expect(try await numbers("x") == ["INC1002"])
        #expect(try await numbers(Sample.key(3).text) == ["INC1003"])
        #expect(try await numbers("INC9").isEmpty)
    }

    @Test(arguments: Benches())
    func `a repeated commit of a poll is superseded and changes nothing`(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([1]))
        let before = try await bench.tested.dump()
        #expect(try await bench.store.commit(Sample.poll([1, 2])) == .superseded)
        #expect(try await bench.tested.dump() == before)
    }

    @Test(arguments: Benches())
    func `an event that exists is not stored again, neither by the bus nor by a poll`(_ bench: Bench) async throws {
        try await bench.openScope()
        #expect(try await bench.store.append([Sample.event(1), Sample.event(1), Sample.event(2)]) == 2)
        #expect(try await bench.store.commit(Sample.poll([1, 2, 3])) == .committed(turn: 1, newEvents: 1))
        #expect(try await bench.store.unrouted(limit: 10).map(\.event) == [1, 2, 3].map { Sample.event($0) })
    }

    @Test(arguments: Benches())
    func `a removed task is remembered as removed until it returns`(_ bench: Bench) async throws {
        try await bench.openScope()
        _ = try await bench.store.commit(Sample.poll([1, 2]))
        var leaving = Sample.poll([], turn: 1, at: bench.after(60))
        leaving.removed = [
            .init(key: Sample.key(1), snapshot: Sample.snapshot(1, title: "as last seen"), generation: 2, reason: .closed)
        ]
        _ = try await bench.store.commit(leaving)

        let memory = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        #expect(memory.known.map(\.key) == [Sample.key(2)])
        let keys = [Sample.key(1), Sample.key(2), Sample.key(3)]
        let remembered = try await bench.store.remembered(keys, in: Sample.scope.id)
        #expect(
            remembered == [
                Sample.key(1): RememberedTask(
                    snapshot: Sample.snapshot(1, title: "as last seen"), generation: 2, removed: bench.after(60),
                    reason: .closed),
                Sample.key(2): RememberedTask(snapshot: Sample.snapshot(2), generation: 1),
            ])

        var back = Sample.poll([], turn: 2, at: bench.after(120))
        back.present = [Sample.present(1, title: "again", generation: 3)]
        _ = try await bench.store.commit(back)
        let again = try await bench.store.remembered(keys, in: Sample.scope.id)[Sample.key(1)]
        #expect(again == RememberedTask(snapshot: Sample.snapshot(1, title: "again"), generation: 3))
        let known = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now).known
        #expect(known.map(\.key) == [Sample.key(2), Sample.key(1)])
    }

    @Test(arguments: Benches())
    func `the status shows the scope that a source was opened with last, though the clock was ahead before`(
        _ bench: Bench
    ) async throws {
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.after(9999))
        var other = Sample.scope
        other.query = "active=true"
        _ = try await bench.store.open(other, source: "tasks", at: bench.now)
        #expect(try await bench.store.status().sources.map(\.scope) == [other])
    }

    @Test(arguments: Benches())
    func `scopes do not share tasks`(_ bench: Bench) async throws {
        var other = Sample.scope
        other.user = "bob"
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        _ = try await bench.store.commit(Sample.poll([1]))
        #expect(try await bench.store.open(other, source: "tasks", at: bench.after(1)).known.isEmpty)
        #expect(try await bench.store.remembered([Sample.key(1)], in: other.id).isEmpty)
        #expect(try await bench.store.tasks(in: [other.id, Sample.scope.id])[other.id] == nil, "no tasks of the new scope yet")
        // The status shows the scope that the source has now.
        #expect(try await bench.store.status().sources.map(\.scope) == [other])
    }

    @Test(arguments: Benches())
    func `task keys and event ids may be any text`(_ bench: Bench) async throws {
        try await bench.openScope()
        let texts = ["x", "ABCDEF00ABCDEF00ABCDEF00ABCDEF00", "'; DROP TABLE task; --", "ключ", Fingerprint.zero.hex]
        var poll = Sample.poll([])
        poll.present = texts.map {
            .init(text: SnapshotText(Snapshot(key: TaskKey($0))), listed: .zero, content: .zero, generation: 1, refreshed: nil)
        }
        poll.events = texts.map {
            Event(id: Event.ID($0), type: .taskCreated, source: "s", subject: $0, time: bench.now, data: [:])
        }
        #expect(try await bench.store.commit(poll) == .committed(turn: 1, newEvents: texts.count))
        let known = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now).known
        #expect(known.map(\.key.text) == texts)
        #expect(known.allSatisfy { $0.refreshed == nil })
        #expect(try await bench.store.unrouted(limit: 10).map(\.event) == poll.events)
        #expect(try await bench.store.remembered(texts.map { TaskKey($0) }, in: Sample.scope.id).count == texts.count)
    }

    @Test(arguments: Benches())
    func `announced failures move to the present scope of the source`(_ bench: Bench) async throws {
        _ = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        var health = SourceHealth(
            failures: 3, failingSince: bench.now, lastError: "no route", announced: true, lastSuccess: bench.now)
        try await bench.store.setHealth(health, of: Sample.scope.id, events: [], rest: nil)
        var other = Sample.scope
        other.user = "bob"
        health.lastSuccess = nil
        #expect(try await bench.store.open(other, source: "tasks", at: bench.after(60)).health == health)
        let good = SourceHealth(lastSuccess: bench.after(60))
        try await bench.store.setHealth(good, of: other.id, events: [], rest: nil)
        let again = try await bench.store.open(Sample.scope, source: "tasks", at: bench.after(120))
        #expect(again.health == SourceHealth(lastSuccess: bench.now))
    }

    @Test(arguments: Benches())
    func `the health of polls is stored together with their events`(_ bench: Bench) async throws {
        try await bench.openScope()
        let health = SourceHealth(failures: 3, failingSince: bench.now, lastError: "no route", announced: true)
        try await bench.store.setHealth(health, of: Sample.scope.id, events: [Sample.event(1, type: .sourceFailing)], rest: nil)
        let memory = try await bench.store.open(Sample.scope, source: "tasks", at: bench.now)
        #expect(memory.health == health)
        #expect(!memory.hasBaseline)
        #expect(try await bench.store.unrouted(limit: 10).map(\.event.type) == [.sourceFailing])
        await #expect(throws: StoreError.self) {
            try await bench.store.setHealth(health, of: Scope.ID(text: "unheard of"), events: [Sample.event(2)], rest: nil)
        }
        #expect(try await bench.store.unrouted(limit: 10).count == 1)
    }
}
