import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Rules that wait, count or gather, over a store and polls, in virtual time.
@Suite(.timeLimit(.minutes(5))) struct `Rules that wait` {
    /// A source, an engine that is run step by step, and what it logged.
    struct Office {
        let bench: Bench
        let source: ScriptedSource
        let action = ScriptedAction()
        private let rules: String

        init(_ rules: String, _ tasks: [Snapshot] = []) async throws {
            bench = try Bench()
            source = bench.source(tasks)
            self.rules = rules
            try await look()
        }

        /// Polls, routes, fires what is due, and delivers, as a new run of the agent.
        func look(with rules: String? = nil) async throws {
            let shelf = try await bench.shelf(rules ?? self.rules, sources: [source])
            _ = try await Engine(
                bench.surroundings, shelf: shelf, sources: [(source, .minutely)], actions: { [action] _ in action }
            )
            .runOnce()
        }

        /// Lets time pass, with a look each minute.
        func wait(_ minutes: Int, with rules: String? = nil) async throws {
            for _ in 0..<minutes {
                await bench.clock.advance(by: .seconds(60))
                try await look(with: rules)
            }
        }

        /// Changes a task, and looks.
        func put(_ id: String, _ title: String = "printer on fire", priority: Int = 1, state: Int = 1) async throws {
            source.put(task(id, title, ["priority": .int(Int64(priority)), "state": .int(Int64(state))]))
            try await look()
        }

        func remove(_ id: String) async throws {
            source.remove(TaskKey(id))
            try await look()
        }

        var texts: [String] { action.texts }
    }

    // MARK: for

    private static let urgent = """
        rule: r
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 10m
        do: [{log: "${{ event.type }} ${{ task.id }} ${{ task.title }} ${{ string(since) }} ${{ key }}"}]
        """

    @Test func `a rule with for runs once its condition has held so long, for the task as it is then`() async throws {
        let office = try await Office(Self.urgent)
        try await office.put("a")
        try await office.wait(5)
        try await office.put("a", "printer burnt down")
        try await office.wait(4)
        #expect(office.texts == [])
        try await office.wait(30)
        #expect(office.texts == ["task_created a printer burnt down 2026-01-05T09:00:00Z a"])
    }

    @Test func `a condition that ceases ends the wait, and it begins anew when the condition holds again`() async throws {
        let office = try await Office(Self.urgent)
        try await office.put("a")
        try await office.wait(5)
        try await office.put("a", priority: 2)
        try await office.wait(10)
        #expect(office.texts == [])
        try await office.put("a")
        try await office.wait(9)
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts.count == 1)
        // It ran; it runs again only after the condition was once not true.
        try await office.put("a", "again")
        try await office.wait(20)
        #expect(office.texts.count == 1)
        try await office.put("a", priority: 3)
        try await office.put("a")
        try await office.wait(10)
        #expect(office.texts.count == 2)
    }

    @Test func `a task that leaves ends the wait`() async throws {
        let office = try await Office(Self.urgent, [task("other", "x", ["priority": 3])])
        try await office.put("a")
        try await office.wait(3)
        try await office.remove("a")
        try await office.wait(20)
        #expect(office.texts == [])
        #expect(try await office.bench.store.nextTimer() == nil)
    }

    @Test func `what came due while nobody looked is judged on the tasks after the first look`() async throws {
        let office = try await Office(Self.urgent)
        try await office.put("a")
        try await office.put("b")
        await office.bench.clock.advance(by: .days(2))
        office.source.put(task("b", "printer on fire", ["priority": 4, "state": 1]))
        try await office.look()
        #expect(office.texts.map { $0.prefix(14) } == ["task_created a"])
    }

    // MARK: count

    private static let burst = """
        rule: r
        on: task_created
        count: {at_least: 3, within: 10m, by: task.state}
        do: [{log: "${{ key }}: ${{ events.map(e, e.task.id).join(' ') }}"}]
        """

    @Test func `a rule with count runs when so many came within the time, and uses them up`() async throws {
        let office = try await Office(Self.burst)
        for id in ["a", "b"] { try await office.put(id) }
        try await office.put("x", state: 2)
        #expect(office.texts == [])
        try await office.wait(1)
        for id in ["c", "d", "e"] { try await office.put(id) }
        #expect(office.texts == ["1: a b c"])
        try await office.put("f")
        #expect(office.texts == ["1: a b c", "1: d e f"])
    }

    @Test func `a span of ten minutes ends before the tenth minute`() async throws {
        let office = try await Office(Self.burst)
        for id in ["a", "b"] { try await office.put(id) }
        try await office.wait(10)
        try await office.put("c")
        #expect(office.texts == [])
        try await office.put("d")
        try await office.wait(9)
        try await office.put("e")
        #expect(office.texts == ["1: c d e"])
    }

    @Test func `a distinct value counts once, by its latest event`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            count: {at_least: 2, within: 10m, distinct: task.id}
            do: [{log: "${{ events.map(e, e.task.title).join(' ') }} ${{ key == null }}"}]
            """
        let office = try await Office(rule)
        try await office.put("a", "one")
        try await office.wait(6)
        try await office.put("a", "two")
        try await office.wait(6)
        #expect(office.texts == [])
        try await office.put("b", "three")
        #expect(office.texts == ["two three true"])
    }

    // MARK: group

    private static func group(_ text: String) -> String {
        """
        rule: r
        on: task_created
        group: {\(text)}
        do: [{log: "${{ key == null ? '' : key + ': ' }}${{ events.map(e, e.task.id).join(' ') }}, last ${{ task.id }} ${{ task.title }}"}]
        """
    }

    @Test func `a group flushes once its first event has waited, and tells the latest task as it is then`() async throws {
        let office = try await Office(Self.group("by: task.state, wait: 3m"))
        try await office.put("a")
        try await office.put("x", state: 2)
        try await office.wait(2)
        try await office.put("b")
        try await office.put("b", "renamed")
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts == ["1: a b, last b renamed", "2: x, last x printer on fire"])
        try await office.wait(30)
        #expect(office.texts.count == 2)
    }

    @Test func `two flushes of a group keep their distance`() async throws {
        let office = try await Office(Self.group("every: 5m"))
        try await office.put("a")
        try await office.look()
        #expect(office.texts == ["a, last a printer on fire"])
        try await office.put("b")
        try await office.wait(2)
        try await office.put("c")
        try await office.wait(2)
        #expect(office.texts.count == 1)
        try await office.wait(1)
        #expect(office.texts.dropFirst() == ["b c, last c printer on fire"])
        // With nothing waiting and the time over, the next event flushes at once again.
        try await office.wait(6)
        try await office.put("d")
        try await office.look()
        #expect(office.texts.count == 3)
    }

    @Test func `a full group flushes at once`() async throws {
        let office = try await Office(Self.group("wait: 1h, max: 3"))
        for id in ["a", "b", "c", "d"] { try await office.put(id) }
        #expect(office.texts == ["a b c, last c printer on fire"])
        try await office.wait(59)
        #expect(office.texts.count == 1)
        try await office.wait(1)
        #expect(office.texts.dropFirst() == ["d, last d printer on fire"])
    }

    // MARK: each

    private static func each(_ more: String) -> String {
        """
        rule: r
        on: {every: 5m}
        each: tasks.filter(t, t.priority == 1)
        \(more)
        do: [{log: "${{ task.id }} ${{ string(event.time) }}"}]
        """
    }

    @Test func `a due schedule runs the rule for each element, which once and the condition see`() async throws {
        let office = try await Office(Self.each("when: task.state == 1\nonce: task.id"))
        try await office.put("a")
        try await office.put("b", priority: 2)
        try await office.put("c", state: 2)
        try await office.wait(5)
        #expect(office.texts == ["a 2026-01-05T09:05:00Z"])
        try await office.put("c")
        try await office.wait(5)
        #expect(office.texts.dropFirst() == ["c 2026-01-05T09:10:00Z"])
    }

    @Test func `each and for together wait for each element that stays in the list`() async throws {
        let office = try await Office(Self.each("for: 12m"))
        try await office.put("a")
        try await office.put("b")
        try await office.wait(6)
        try await office.put("b", priority: 2)
        try await office.wait(10)
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts == ["a 2026-01-05T09:05:00Z"])
        try await office.wait(60)
        #expect(office.texts.count == 1)
    }

    // MARK: Together

    @Test func `for, count, group, throttle and once stand together in their order`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.priority == 1
            for: 2m
            count: {at_least: 2, within: 10m, by: task.state}
            group: {wait: 3m}
            throttle: {every: 1h}
            once: events[0].task.id
            do: [{log: "${{ events.map(e, e.task.id).join(' ') }}"}]
            """
        let office = try await Office(rule)
        for id in ["a", "b", "c", "d"] { try await office.put(id) }
        try await office.wait(4)
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts == ["a b c d"])
        for id in ["e", "f"] { try await office.put(id) }
        try await office.wait(20)
        #expect(office.texts.count == 1)
        #expect(try await office.bench.store.decisions(DecisionQuery(verdicts: [.throttled], limit: 10)).count == 1)
    }
}

/// Reloads, restarts and ties of rules that wait.
@Suite(.timeLimit(.minutes(5))) struct `Rules that wait and change` {
    private func rule(_ more: String, log: String = "x") -> String {
        "rule: r\non: [task_created, task_changed]\n\(more)\ndo: [{log: \"\(log) ${{ task.id }}\"}]"
    }

    @Test func `a changed do keeps waits, a changed condition begins them anew, a removed rule ends them`() async throws {
        let first = rule("when: task.priority == 1\nfor: 10m")
        let office = try await `Rules that wait`.Office(first)
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
        let office = try await `Rules that wait`.Office(text(1, "a"))
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
        let office = try await `Rules that wait`.Office(
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
        let office = try await `Rules that wait`.Office(waiting, [task("a", "printer on fire", ["priority": 1])])
        try await office.wait(9)
        #expect(office.texts == [])
        try await office.wait(1)
        #expect(office.texts == ["true a"])
    }

    @Test func `a wait that is over at the moment of an event comes before the event`() async throws {
        let office = try await `Rules that wait`.Office(rule("when: task.priority == 1\nfor: 10m"))
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
        let office = try await `Rules that wait`.Office(rule("when: task.priority == 1\nfor: 400d", log: "${{ string(now) }}"))
        try await office.bench.clock.jump(to: #require(Timestamp(rfc3339: "2027-12-11T09:00:00Z")))
        try await office.put("a")
        #expect(try await office.bench.store.nextTimer() == Timestamp(rfc3339: "2029-01-14T09:00:00Z"))
    }

    @Test func `a rule that goes into shadow mode and back begins its waits and groups anew`() async throws {
        for part in ["when: task.priority == 1\nfor: 10m", "group: {wait: 10m}"] {
            let office = try await `Rules that wait`.Office(rule(part))
            try await office.put("a")
            try await office.wait(12, with: rule(part + "\nmode: shadow"))
            try await office.wait(12, with: rule(part))
            #expect(office.texts == [])
            try await office.put("b")
            try await office.wait(11, with: rule(part))
            #expect(office.texts == ["x b"])
        }
    }

    @Test func `a group tells a task that left as it was last seen, and since when it has gathered`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            when: task.title != "y"
            group: {wait: 5m}
            do: [{log: "${{ task.title }} ${{ string(since) }}"}]
            """
        let office = try await `Rules that wait`.Office(rule, [task("other", "y")])
        try await office.put("a", "x")
        try await office.put("a", "y")
        try await office.remove("a")
        try await office.wait(5)
        #expect(office.texts == ["y 2026-01-05T09:00:00Z"])
    }

    @Test func `a group behind for gathers from the moment at which the wait was over`() async throws {
        let office = try await `Rules that wait`.Office(rule("for: 5m\ngroup: {wait: 5m}", log: "${{ string(since) }}"))
        try await office.put("a")
        try await office.wait(10)
        #expect(office.texts == ["2026-01-05T09:05:00Z a"])
    }

    @Test func `a task that is twice in the list of each runs the rule once`() async throws {
        let office = try await `Rules that wait`.Office(
            "rule: r\non: {every: 5m}\neach: tasks + tasks\ndo: [{log: \"${{ task.id }}\"}]", [task("a")])
        try await office.wait(5)
        #expect(office.texts == ["a"])
    }

    @Test func `the status has what each rule waits for, has counted and has gathered`() async throws {
        let rules = ["for: 10m", "count: {at_least: 3, within: 1h}", "group: {by: task.priority, wait: 5m}"].enumerated().map {
            "rule: r\($0)\non: [task_created, task_changed]\n\($1)\ndo: [{log: x}]"
        }
        let office = try await `Rules that wait`.Office(rules.joined(separator: "\n---\n"))
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
        let office = try await `Rules that wait`.Office(rule("when: task.priority == 1\nfor: 60d", log: "${{ event.type }}"))
        try await office.put("a")
        try await office.put("b", priority: 2)
        await office.bench.clock.advance(by: .days(60))
        _ = try await office.bench.store.prune(Retention(), at: office.bench.now)
        try await office.look()
        #expect(office.texts == ["task_created a"])
    }
}
