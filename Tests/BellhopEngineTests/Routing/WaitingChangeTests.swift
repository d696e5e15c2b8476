import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Reloads, restarts and ties of rules that wait.
@Suite(.timeLimit(.minutes(5))) struct `Rules that wait and change` {
    private func rule(_ more: String, log: String = "x") -> String {
        "rule: r\non: [task_created, task_changed]\n\(more)\ndo: [{log: \"\(log) ${{ task.id }}\"}]"
    }

    @Test func `a changed do keeps waits, a changed condition restarts them, a removed rule ends them`() async throws {
        let first = rule("when: task.priority == 1\nfor: 10m")
        let office = try await Office(first)
        try await office.put("a")
        try await office.wait(5, with: rule("when: task.priority   ==   1\nfor: \"10m\" # as before", log: "y"))
        try await office.wait(4, with: rule("when: task.priority == 1\nfor: {time: 600s}", log: "y"))
        #expect(office.texts == [])
        try await office.wait(20, with: rule("when: task.priority == 1\nfor: {time: 600s}", log: "y"))
        #expect(office.texts == [])
        try await office.put("b")
        try await office.look(with: "rule: other\non: task_created\ndo: [{log: z}]")
        #expect(try await office.bench.store.nextTimer() == nil)
        try await office.wait(20, with: first)
        #expect(office.texts == [])
    }

    @Test func `a let that the condition uses begins waits anew when it changes, another one does not`() async throws {
        func text(_ limit: Int, _ other: String) -> String {
            rule("let: {most: \(limit), limit: most + 1, other: \"'\(other)'\"}\nwhen: task.priority < limit\nfor: 10m")
        }
        let office = try await Office(text(1, "a"))
        try await office.put("a")
        try await office.wait(5, with: text(1, "b"))
        try await office.wait(5, with: text(1, "b"))
        #expect(office.texts == ["x a"])
        try await office.put("b")
        try await office.wait(5, with: text(1, "b"))
        try await office.wait(20, with: text(2, "b"))
        #expect(office.texts == ["x a"])
    }

    @Test func `with existing, tasks known when the rule is loaded count from then`() async throws {
        let office = try await Office(
            "rule: other\non: task_created\ndo: [{log: z}]",
            [
                task("a", "printer on fire", ["priority": 1]), task("b", "printer on fire", ["priority": 2]),
            ])
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}")
        try await office.wait(1, with: waiting)
        try await office.wait(9, with: waiting)
        #expect(office.texts == [])
        try await office.wait(1, with: waiting)
        #expect(office.texts == ["x a"])
    }

    @Test func `with existing, tasks of a source's baseline count from then`() async throws {
        let waiting = rule("when: task.priority == 1\nfor: {time: 10m, existing: true}", log: "${{ event == null }}")
        let office = try await Office(waiting, [task("a", "printer on fire", ["priority": 1])])
        try await office.wait(9)
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts == ["true a"])
    }

    @Test func `a wait that is over at the moment of an event comes before the event`() async throws {
        let office = try await Office(rule("when: task.priority == 1\nfor: 10m"))
        try await office.put("a")
        // A running agent: events of the moment at which the wait is over are on the bus before the timer has fired.
        let bench = office.bench
        let shelf = try await bench.shelf(rule("when: task.priority == 1\nfor: 10m"), sources: [office.source])
        let timers = TimerLoop(bench.surroundings, shelf: shelf)
        let router = Router(bench.surroundings, shelf: shelf, timers: timers)
        await bench.clock.advance(by: .seconds(600))
        office.source.put(task("a", "printer on fire", ["priority": 2]))
        var poller = bench.poller(office.source)
        _ = try await poller.pollOnce()
        try await router.routePending()
        #expect(try await bench.deliveries().count == 1)
        #expect(try await bench.store.nextTimer() == nil)
    }

    @Test func `a wait of four hundred days is over after that time, across a leap day`() async throws {
        let office = try await Office(rule("when: task.priority == 1\nfor: 400d", log: "${{ string(now) }}"))
        try await office.bench.clock.jump(to: #require(Timestamp(rfc3339: "2027-12-11T09:00:00Z")))
        try await office.put("a")
        #expect(try await office.bench.store.nextTimer() == Timestamp(rfc3339: "2029-01-14T09:00:00Z"))
    }

    @Test func `a rule that goes into shadow mode and back begins its waits and groups anew`() async throws {
        for part in ["when: task.priority == 1\nfor: 10m", "group: {wait: 10m}"] {
            let office = try await Office(rule(part))
            try await office.put("a")
            try await office.wait(12, with: rule(part + "\nmode: shadow"))
            try await office.wait(12, with: rule(part))
            #expect(office.texts == [])
            try await office.put("b")
            try await office.wait(11, with: rule(part))
            #expect(office.texts == ["x b"])
        }
    }

    @Test func `a group has the last known state of a task that left, and the time since when it gathers`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.title != "y"
            group: {wait: 5m}
            do: [{log: "${{ task.title }} ${{ string(since) }}"}]
            """
        let office = try await Office(rule, [task("other", "y")])
        try await office.put("a", "x")
        try await office.put("a", "y")
        try await office.remove("a")
        try await office.wait(5)
        #expect(office.texts == ["y 2026-01-05T09:00:00Z"])
    }

    @Test func `a group behind for gathers from the moment at which the wait was over`() async throws {
        let office = try await Office(rule("for: 5m\ngroup: {wait: 5m}", log: "${{ string(since) }}"))
        try await office.put("a")
        try await office.wait(10)
        #expect(office.texts == ["2026-01-05T09:05:00Z a"])
    }

    @Test func `a task that is twice in the list of each runs the rule once`() async throws {
        let office = try await Office(
            "rule: r\non: {every: 5m}\neach: tasks + tasks\ndo: [{log: \"${{ task.id }}\"}]", [task("a")])
        try await office.wait(5)
        #expect(office.texts == ["a"])
    }

    @Test func `the status has what each rule waits for, has counted and has gathered`() async throws {
        let rules = ["for: 10m", "count: {at_least: 3, within: 1h}", "group: {by: task.priority, wait: 5m}"].enumerated().map {
            "rule: r\($0)\non: [task_created, task_changed]\n\($1)\ndo: [{log: x}]"
        }
        let office = try await Office(rules.joined(separator: "\n---\n"))
        try await office.put("a")
        try await office.wait(1)
        try await office.put("b", priority: 2)
        let start = office.bench.now - .seconds(60)
        #expect(
            try await office.bench.store.status().waits == [
                .init(rule: "r0", part: .hold, count: 2, next: start + .seconds(600)), .init(rule: "r1", part: .count, count: 2),
                .init(rule: "r2", part: .group, count: 2, gathered: 2, next: start + .seconds(300)),
            ])
    }

    @Test func `an event that a rule waits with is not pruned`() async throws {
        let office = try await Office(rule("when: task.priority == 1\nfor: 60d", log: "${{ event.type }}"))
        try await office.put("a")
        try await office.put("b", priority: 2)
        await office.bench.clock.advance(by: .days(60))
        _ = try await office.bench.store.prune(Retention(), at: office.bench.now)
        try await office.look()
        #expect(office.texts == ["task_created a"])
    }
}
