import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Rules with a schedule, which are given the events of their sources since the run before, over a store and polls in virtual time.
@Suite(.timeLimit(.minutes(5))) struct `Digests` {
    private static func digest(_ more: String = "") -> String {
        """
        rule: digest
        on: {every: 10m}
        \(more)
        do: [{log: "${{ events.map(e, e.type + ' ' + (e.task == null ? '' : e.task.id)).join(', ') }}; ${{ events_more }} more"}]
        """
    }

    @Test func `a digest gives each event to exactly one run, in the order of the bus`() async throws {
        let agent = try await TestAgent(Self.digest(), [task("old")])
        try await agent.put("a")
        try await agent.put("a", priority: 2, thenWait: 10)
        try await agent.put("b")
        try await agent.remove("a")
        #expect(
            try await agent.texts(after: 20) == [
                "task_created a, task_changed a; 0 more", "task_created b, task_removed a; 0 more", "; 0 more",
            ])
    }

    @Test func `changes during downtime are given to the digest after the first poll`() async throws {
        let agent = try await TestAgent(Self.digest())
        try await agent.put("a")
        await agent.bench.clock.advance(by: .days(3))
        agent.source.put(task("b", "x", ["priority": 1, "state": 1]))
        try await agent.runOnce()
        #expect(agent.texts == ["task_created a, task_created b; 0 more"])
        #expect(try await agent.texts(after: 10).dropFirst() == ["; 0 more"])
    }

    @Test func `a digest that is stopped leaves its events to the next one`() async throws {
        let agent = try await TestAgent(Self.digest("when: size(events) + events_more > 2"))
        try await agent.put("a")
        try await agent.put("b")
        #expect(try await agent.texts(after: 10) == [])
        try await agent.put("c")
        #expect(try await agent.texts(after: 10) == ["task_created a, task_created b, task_created c; 0 more"])
        let throttled = try await TestAgent(Self.digest("throttle: {every: 25m}"))
        try await throttled.wait(10)
        try await throttled.put("a")
        #expect(try await throttled.texts(after: 30) == ["; 0 more", "task_created a; 0 more"])
    }

    @Test func `a run for each missed time gives each event once`() async throws {
        let rule = Self.digest().replacing("{every: 10m}", with: "{every: 10m, missed: all}")
        let agent = try await TestAgent(rule)
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(1800))
        try await agent.runOnce()
        #expect(agent.texts == ["task_created a; 0 more", "; 0 more", "; 0 more"])
    }

    @Test func `the first digest has the events since the rule first read events`() async throws {
        let agent = try await TestAgent(logRule(on: "task_removed"))
        try await agent.put("before")
        let silent = "rule: digest\non: {every: 10m}\ndo: [{log: tick}]"
        try await agent.wait(10, with: silent)
        try await agent.put("between", "x")
        try await agent.runOnce(with: Self.digest())
        agent.source.put(task("after", "x", ["priority": 1, "state": 1]))
        #expect(try await agent.texts(after: 10, with: Self.digest()).last == "task_created after; 0 more")
        // A changed `do` keeps the place.
        agent.source.put(task("later", "x", ["priority": 1, "state": 1]))
        try await agent.wait(5, with: Self.digest())
        #expect(
            try await agent.texts(after: 5, with: Self.digest() + "\ndescription: changed").last == "task_created later; 0 more")
    }

    @Test func `a digest has at most 1,000 events, the latest, and counts the others`() async throws {
        let rule = """
            rule: digest
            on: {every: 10m}
            do: [{log: "${{ size(events) }} of ${{ size(events) + events_more }}, ${{ events[0].task.id }} to ${{ events[999].task.id }}"}]
            """
        let agent = try await TestAgent(rule)
        let events = (0..<1003).map { number in
            Event(
                id: Event.ID("e\(number)"), type: .taskCreated, source: agent.source.name, subject: "t\(number)",
                time: agent.bench.now, data: ["task": task("t\(number)").json(source: agent.source.name)])
        }
        try await agent.bench.store.append(events)
        #expect(try await agent.texts(after: 10).first == "1000 of 1003, t3 to t1002")
    }

    @Test func `whichever statement fails, a digest gives each event once`() async throws {
        // Each of the writes of a run fails once: the run is decided again, or comes after the next start.
        for failing in 1...12 {
            let agent = try await TestAgent(Self.digest())
            try await agent.put("a")
            await agent.bench.clock.advance(by: .seconds(600))
            agent.bench.fail(statement: failing)
            _ = try? await agent.runOnce()
            agent.bench.stopFailing()
            try await agent.put("b", thenWait: 10)
            let listed = agent.texts.joined(separator: ", ")
            #expect(listed.ranges(of: "task_created a").count == 1, "statement \(failing): \(listed)")
            #expect(listed.ranges(of: "task_created b").count == 1, "statement \(failing): \(listed)")
        }
    }

    @Test func `a paused digest misses the events of its pause`() async throws {
        let agent = try await TestAgent(Self.digest())
        try await agent.put("a")
        _ = try await agent.bench.store.pause(Pause(.rule("digest"), since: agent.bench.now, reason: ""))
        try await agent.put("b", thenWait: 20)
        _ = try await agent.bench.store.resume(.rule("digest"), at: agent.bench.now)
        try await agent.runOnce()
        try await agent.put("c")
        #expect(try await agent.texts(after: 10) == ["; 0 more", "task_created c; 0 more"])
    }
}
