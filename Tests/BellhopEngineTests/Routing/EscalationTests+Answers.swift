import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

/// What ends an escalation: an answer, or `until`.
extension `Escalations` {
    @Test func `a change by a person ends the escalation at once`() async throws {
        let agent = try await TestAgent(Self.rule())
        try await agent.put("a", thenWait: 5)
        try await agent.put("a", "taken")
        #expect(try await agent.bench.store.nextTimer() == nil)
        #expect(try await verdicts(agent) == ["answered: task_changed"])
        #expect(try await agent.texts(after: 60) == ["new a"])
    }

    @Test func `a comment by a person ends the escalation, our own comment does not`() async throws {
        let agent = try await TestAgent(Self.rule())
        try await agent.put("a")
        try await agent.put("b")
        try await agent.bench.comment(on: "a", hop: 0)
        try await agent.comment("a", "hello", byUs: true)
        try await agent.comment("b")
        try await agent.wait(15)
        #expect(agent.texts.filter { $0.hasPrefix("remind") } == ["remind a printer on fire"])
        #expect(try await verdicts(agent) == ["answered: task_commented"])
    }

    @Test func `a change caused by our own write does not count as an answer`() async throws {
        let agent = try await TestAgent(Self.rule())
        func put(_ title: String, by user: String, _ updates: Int64) async throws {
            let fields: JSON.Object = ["priority": 1, "sys_updated_by": .string(user), "sys_mod_count": .int(updates)]
            agent.source.put(task("a", title, fields))
            try await agent.runOnce()
        }
        try await put("new", by: "bob", 0)
        try await agent.bench.comment(on: "a", hop: 0)
        try await put("a business rule changed it", by: "ada", 1)
        #expect(try await agent.texts(after: 15).dropFirst() == ["remind a a business rule changed it"])
    }

    @Test func `an answer at the moment of a step does not prevent the step`() async throws {
        let agent = try await TestAgent(Self.rule())
        try await agent.put("a", thenWait: 14)
        await agent.bench.clock.advance(by: .seconds(60))
        try await agent.comment("a")
        #expect(try await agent.texts(after: 60) == ["new a", "remind a printer on fire"])
    }

    @Test func `the event that ends an escalation may begin another`() async throws {
        let agent = try await TestAgent(Self.rule().replacing("once: task.id", with: ""))
        try await agent.put("a", thenWait: 10)
        try await agent.put("a", "changed")
        #expect(try await agent.texts(after: 14) == ["new a", "new a"])
        #expect(try await agent.texts(after: 1).last == "remind a changed")
    }

    @Test func `a task that leaves ends its escalation, and does not resume it when it returns`() async throws {
        let agent = try await TestAgent(Self.rule(), [task("other", "x", ["priority": 3])])
        try await agent.put("a")
        try await agent.remove("a")
        #expect(try await verdicts(agent) == ["ended: the task has left"])
        try await agent.put("a")
        #expect(try await agent.texts(after: 60) == ["new a"])
    }

    // MARK: Answers beside our own writes

    @Test func `our own update is no answer, but a person's change in the same poll as our comment is`() async throws {
        let agent = try await TestAgent(Self.rule("until: answered"))
        func put(state: Int64, by user: String, _ updates: Int64) async throws {
            let fields: JSON.Object = [
                "priority": 1, "state": .int(state), "sys_updated_by": .string(user), "sys_mod_count": .int(updates),
            ]
            agent.source.put(task("a", "printer on fire", fields))
            try await agent.runOnce()
        }
        try await put(state: 1, by: "bob", 0)
        await agent.bench.clock.advance(by: .seconds(60))
        try await agent.bench.update("a", ["state": 2], hop: 0)
        try await put(state: 2, by: "ada", 1)
        #expect(try await agent.bench.store.nextTimer() != nil)
        await agent.bench.clock.advance(by: .seconds(60))
        try await agent.bench.comment(on: "a", hop: 0)
        try await put(state: 3, by: "bob", 3)
        #expect(try await agent.bench.store.nextTimer() == nil)
        #expect(try await agent.texts(after: 60) == ["new a"])
    }

    @Test func `a person's comment in the same poll as our own is an answer`() async throws {
        let agent = try await TestAgent(Self.rule("until: answered"))
        try await agent.put("a")
        await agent.bench.clock.advance(by: .seconds(60))
        try await agent.bench.comment(on: "a", hop: 0)
        agent.source.edit { [now = agent.bench.now] state in
            for (id, text, authorship) in [("j1", "hello", TaskComment.Authorship.ours), ("j2", "I am on it.", .others)] {
                state.comments.append(
                    TaskComment(id: id, task: "a", text: text, author: id, kind: "comments", time: now, authorship: authorship))
            }
        }
        try await agent.runOnce()
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    // MARK: until

    @Test func `a condition that is false at the next step ends the escalation for good`() async throws {
        let rule = Self.rule().replacing("task.priority == 1", with: "task.priority == 1 && !tasks.exists(t, t.title == 'storm')")
        let agent = try await TestAgent(rule)
        try await agent.put("a", thenWait: 5)
        try await agent.put("storm", "storm", priority: 3)
        #expect(try await agent.bench.store.nextTimer() != nil)
        try await agent.wait(10)
        #expect(try await verdicts(agent) == ["ended: `when` does not hold any more"])
        try await agent.remove("storm")
        #expect(try await agent.texts(after: 60) == ["new a"])
    }

    @Test func `an until in the rule replaces the default and is evaluated at each step`() async throws {
        let agent = try await TestAgent(Self.rule("until: task.state == 6"))
        try await agent.put("a")
        try await agent.put("a", "changed", priority: 3)
        try await agent.comment("a")
        try await agent.put("a", "changed", priority: 3, state: 6)
        try await agent.put("a", "changed", priority: 3, state: 1)
        #expect(try await agent.texts(after: 15) == ["new a", "remind a changed"])
        try await agent.put("a", "changed", priority: 3, state: 6, thenWait: 15)
        #expect(try await verdicts(agent) == ["ended: `until` holds"])
        #expect(agent.texts.count == 2)
    }

    @Test func `an until with answered is evaluated at each answer and at the steps after it`() async throws {
        let agent = try await TestAgent(Self.rule("until: answered && task.state == 2"))
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.comment("a")
        try await agent.put("b", state: 2)
        #expect(try await verdicts(agent) == ["answered: task_changed"])
        #expect(try await agent.texts(after: 15).dropFirst(2) == ["remind a printer on fire"])
        try await agent.bench.update("a", ["state": 2], hop: 0)
        try await agent.put("a", state: 2)
        #expect(try await verdicts(agent).count == 1)
        try await agent.wait(15)
        #expect(try await verdicts(agent).last == "answered: `until` holds")
        #expect(agent.texts.count == 3)
    }

    @Test func `an until that fails or is unknown does not end the escalation, and a failure is counted`() async throws {
        let agent = try await TestAgent(Self.rule("until: 1 / (task.priority - 1) > 0 || task.state > 5"))
        try await agent.put("a")
        #expect(try await agent.texts(after: 15).count == 2)
        let status = try await agent.bench.store.status().rules.first { $0.rule == "r" }
        #expect(status?.errors == 1 && status?.lastError?.hasPrefix("`until` failed") == true)
    }
}
