import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

/// Changes after our own writes: which are ours, with the next hop, and which are those of others.
@Suite struct `Changes after our own writes` {
    @Test func `a change that our own update made has the update's hop plus one`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a"), task("b")])
        await bench.clock.advance(by: .seconds(60))
        try await bench.update("a", ["priority": "1"], hop: 2)
        await bench.clock.advance(by: .seconds(60))
        source.put(task("a", "printer on fire", ["priority": 1]))
        source.put(task("b", "printer on fire", ["priority": 1]))
        _ = try await poller.pollOnce()
        await bench.clock.advance(by: .seconds(60))
        source.put(task("a"))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [3, 0, 0])
    }

    @Test func `a change by others in the same poll as our own write is a separate event with hop 0`() async throws {
        func fields(_ state: Int64, _ assignee: String = "", _ user: String = "bob", _ updates: Int64 = 3) -> JSON.Object {
            [
                "priority": 3, "state": .int(state), "assigned_to": .string(assignee), "sys_updated_by": .string(user),
                "sys_mod_count": .int(updates),
            ]
        }
        let before = fields(1, "", "bob", 1)
        var (bench, source, poller) = try await Bench.polled(["a", "b", "c"].map { task($0, fields: before) })
        await bench.clock.advance(by: .seconds(60))
        try await bench.comment(on: "a", hop: 2)
        try await bench.update("b", ["state": 2], hop: 2)
        try await bench.update("c", ["state": 2], hop: 2)
        source.put(task("a", fields: fields(2)))
        source.put(task("b", fields: fields(2, "ada")))
        source.put(task("c", fields: fields(6)))
        _ = try await poller.pollOnce()
        #expect(
            try await bench.eventLines() == [
                "task_changed a state: 1 → 2", "task_changed b state: 1 → 2", #"task_changed b assigned_to: "" → "ada""#,
                "task_changed c state: 1 → 6",
            ])
        let events = try await bench.store.events(EventQuery()).map(\.event)
        #expect(events.map(\.hop) == [0, 3, 0, 0])
        #expect(events[1].task?.fields["assigned_to"] == "" && events[2].data["before"]?["fields"]?["state"] == 2)
        _ = try await poller.pollOnce()
        source.put(task("b", fields: before))
        _ = try await poller.pollOnce()
        #expect(Set(try await bench.store.events(EventQuery()).map(\.event.id)).count == 5)
    }

    @Test func `a change after our own write counts as our own if the task does not say who changed it`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a", fields: ["state": 1])])
        await bench.clock.advance(by: .seconds(60))
        try await bench.comment(on: "a", hop: 2)
        source.put(task("a", fields: ["state": 2]))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [3])
    }

    @Test(arguments: [("ada", 1, 1), ("ada", 2, 0), ("bob", 1, 0)])
    func `a change is our own if the task's update count and author show no other change`(
        _ user: String, _ updates: Int64, _ hop: Int
    )
        async throws
    {
        func seen(_ title: String, _ user: String, _ updates: Int64) -> Snapshot {
            task("a", title, ["sys_updated_by": .string(user), "sys_mod_count": .int(updates)])
        }
        var (bench, source, poller) = try await Bench.polled([seen("new", "bob", 7)])
        await bench.clock.advance(by: .seconds(60))
        try await bench.comment(on: "a", hop: 0)
        source.put(seen("a business rule changed it", user, 7 + updates))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [hop])
    }

    @Test(arguments: [("svc", "svc", 1), ("svc", "ada", 0), ("", "bob", 1)])
    func `changes by an account whose name only the system knows are our own`(
        _ account: String, _ user: String, _ hop: Int
    ) async throws {
        let bench = try Bench()
        func seen(_ title: String, _ user: String, _ updates: Int64) -> Snapshot {
            task("a", title, ["sys_updated_by": .string(user), "sys_mod_count": .int(updates)])
        }
        let source = bench.source([seen("new", "bob", 7)])
        source.edit { $0.user = account }
        var poller = try await bench.polled(source)
        await bench.clock.advance(by: .seconds(60))
        try await bench.comment(on: "a", hop: 0)
        source.put(seen("a business rule changed it", user, 8))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [hop])
    }

    @Test func `a field that the system computes from our update is our own change`() async throws {
        let (bench, source) = try Bench.with([task("a", fields: ["urgency": 3, "priority": 4])])
        source.edit {
            $0.schema = TaskSchema(
                [.init("priority", .int), .init("urgency", .int)], roles: .init(computed: ["priority": ["urgency"]]))
        }
        var poller = try await bench.polled(source)
        await bench.clock.advance(by: .seconds(60))
        try await bench.update("a", ["urgency": "1"], hop: 0)
        source.put(task("a", fields: ["urgency": 1, "priority": 2]))
        _ = try await poller.pollOnce()
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [1])
    }

    @Test func `a write during a poll counts as a possible cause at the next poll too`() async throws {
        let bench = try Bench()
        let source = ScriptedSource(tasks: [task("a")], clock: bench.clock, delay: .seconds(10))
        let clock = bench.clock
        try await bench.whilePolling(source) {
            try await clock.waitForSleepers(1)
            await clock.advance(by: .seconds(5))
            try await bench.update("a", ["title": "printer is fine"], hop: 0)  // while the list is being read
            try await clock.run(until: clock.now + .seconds(30), awaiting: 1)
            source.put(task("a", "printer is fine"))
            try await clock.run(until: clock.now + .seconds(60), awaiting: 1)
        }
        #expect(try await bench.store.events(EventQuery()).map(\.event.hop) == [1])
    }
}
