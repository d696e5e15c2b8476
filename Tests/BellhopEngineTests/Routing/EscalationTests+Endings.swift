import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

/// Escalations with pagers, in shadow mode, over reloads and with store failures.
extension `Escalations` {
    // MARK: Pagers

    private static let paging = """
        rule: r
        on: task_created
        when: task.priority == 1
        do: [{notify: {to: [chat, pager], title: "new ${{ task.id }}", thread: "t-${{ task.id }}"}}]
        until: answered
        escalate:
          - {after: 10m, do: [{notify: {to: pager, title: late}}]}
          - {after: 20m, do: [{notify: {to: pager, title: kept, thread: other, resolve: false}}]}
        """

    @Test func `an answer closes what the run and the steps opened at pagers, unless resolve says no`() async throws {
        let agent = try await TestAgent(Self.paging)
        try await agent.put("a", thenWait: 20)
        // The receivers of one step have no order.
        #expect(agent.texts.prefix(2).sorted() == ["chat: new a", "pager: new a"])
        #expect(agent.texts.dropFirst(2) == ["pager: late", "pager: kept"])
        let late = try #require(agent.action.performed.first { $0.delivery.text == "pager: late" }).delivery
        try await agent.comment("a")
        // Lanes do not wait for each other.
        #expect(agent.texts.dropFirst(4).sorted() == ["pager closes t-a", "pager closes \(late.id.text)"].sorted())
        let ends = agent.action.performed.suffix(2).map(\.delivery)
        #expect(Set(ends.map(\.lane)) == ["conversation/pager/t-a", late.lane])
        try await agent.comment("a", "again")
        #expect(agent.texts.count == 6)
    }

    @Test func `an alert that its escalation closes is sent by itself, though other messages are coalesced`() async throws {
        let agent = try await TestAgent(Self.paging)
        try await agent.put("a", thenWait: 20)
        let sent = agent.action.performed.map(\.delivery)
        let late = try #require(sent.first { $0.text == "pager: late" })
        #expect(late.arguments.conversation == late.id.text && !late.coalesces)
        #expect(late.lane != "conversation/pager/\(late.id.text)")
    }

    @Test func `an answer within seven days after the last step closes the page, a later one does not`() async throws {
        for (days, closes) in [(6, 2), (7, 0)] {
            let agent = try await TestAgent(Self.paging)
            try await agent.put("a", thenWait: 20)
            await agent.bench.clock.advance(by: .days(days))
            try await agent.comment("a")
            #expect(agent.texts.count == 4 + closes)
        }
    }

    @Test func `an answer closes the pages also if the last step came more than seven days late`() async throws {
        let agent = try await TestAgent(Self.paging)
        try await agent.put("a", thenWait: 12)
        await agent.bench.clock.advance(by: .days(8))
        try await agent.runOnce()
        #expect(agent.texts.count == 4 && agent.texts.last == "pager: kept")
        try await agent.comment("a")
        #expect(agent.texts.count == 6)
    }

    @Test func `an escalation that ends with its task closes the page, one that ends by a condition does not`() async throws {
        let agent = try await TestAgent(Self.paging, [task("other", "x", ["priority": 3])])
        try await agent.put("a")
        try await agent.remove("a")
        #expect(agent.texts.last == "pager closes t-a")
        let other = try await TestAgent(Self.paging.replacing("until: answered", with: "until: true"))
        try await other.put("a")
        #expect(try await other.texts(after: 10).sorted() == ["chat: new a", "pager: new a"])
        try await other.comment("a")
        #expect(other.texts.count == 2)
    }

    @Test func `a run in shadow mode closes nothing that a live run has opened`() async throws {
        let rule = """
            rule: r
            on: [task_created, task_changed]
            do:
              - notify: {to: pager, title: new, thread: "t-${{ task.id }}"}
                if: event.type == "task_created"
              - notify: {to: pager, title: over, thread: "t-${{ task.id }}", resolve: true}
                if: event.type == "task_changed"
            until: task.state == 9
            escalate: {after: 10h, do: [{log: late}]}
            """
        let agent = try await TestAgent(rule, [task("other", "x", ["priority": 3])])
        try await agent.put("a")
        agent.source.put(task("a", "renamed", ["priority": 1, "state": 2]))
        try await agent.runOnce(with: rule + "\nmode: shadow")
        #expect(agent.texts == ["pager: new"])
        try await agent.remove("a")
        #expect(agent.texts == ["pager: new", "pager closes t-a"])
    }

    private static let closing =
        String(paging.split(separator: "escalate:")[0]) + """
            escalate:
              - {after: 10m, do: [{notify: {to: pager, title: over, thread: "t-${{ task.id }}", resolve: true}}]}
            """

    @Test func `a step that closes a conversation leaves nothing to close`() async throws {
        let agent = try await TestAgent(Self.closing)
        try await agent.put("a")
        #expect(try await agent.texts(after: 10).last == "pager closes t-a")
        try await agent.comment("a")
        #expect(agent.texts.count == 3)
    }

    @Test func `a step that is made in shadow mode closes nothing that a live run has opened`() async throws {
        let agent = try await TestAgent(Self.closing)
        try await agent.put("a")
        #expect(try await agent.texts(after: 10, with: Self.closing + "\nmode: shadow").count == 2)
        try await agent.comment("a")
        #expect(agent.texts.suffix(1) == ["pager closes t-a"])
    }

    @Test func `an answer that fulfils a condition with answered closes the page`() async throws {
        let rule = Self.paging.replacing("until: answered", with: "until: answered && task.state == 6")
        let agent = try await TestAgent(rule)
        try await agent.put("a")
        try await agent.comment("a")
        #expect(agent.texts.count == 2)
        try await agent.put("a", state: 6)
        #expect(agent.texts.last == "pager closes t-a")
    }

    @Test func `an alert that a step closes and opens again is closed at the end`() async throws {
        let steps = """
            escalate:
              - after: 10m
                do:
                  - {notify: {to: pager, title: over, thread: "t-${{ task.id }}", resolve: true}}
                  - {notify: {to: pager, title: again, thread: "t-${{ task.id }}"}}
            """
        let agent = try await TestAgent(String(Self.paging.split(separator: "escalate:")[0]) + steps)
        try await agent.put("a", thenWait: 10)
        try await agent.comment("a")
        #expect(agent.texts.suffix(3) == ["pager closes t-a", "pager: again", "pager closes t-a"])
    }

    // MARK: Shadow

    @Test func `in shadow mode the steps and the end of an escalation are only recorded`() async throws {
        let agent = try await TestAgent(Self.paging + "\nmode: shadow")
        try await agent.put("a", thenWait: 20)
        try await agent.comment("a")
        #expect(agent.texts == [])
        let states = try await agent.bench.store.deliveries(DeliveryQuery(limit: 100)).map(\.state)
        #expect(states.count == 6 && Set(states) == [.shadow])
    }

    @Test func `an escalation in shadow mode does not stop a live run`() async throws {
        let rule = Self.paging.replacing("task_created", with: "[task_created, task_changed]")
            .replacing("until: answered", with: "until: task.state == 6")
        let agent = try await TestAgent(rule)
        try await agent.runOnce(with: rule + "\nmode: shadow")
        agent.source.put(task("a", "x", ["priority": 1]))
        try await agent.runOnce(with: rule + "\nmode: shadow")
        agent.source.put(task("a", "y", ["priority": 1]))
        await agent.bench.clock.advance(by: .seconds(300))
        #expect(try await agent.texts(after: 10).sorted() == ["chat: new a", "pager: new a"])
        #expect(try await agent.texts(after: 1).last == "pager: late")
        // A rule in shadow mode pages no one.
        #expect(try await agent.texts(after: 20, with: rule + "\nmode: shadow").count == 3)
    }

    // MARK: Reloads

    @Test func `a running escalation keeps its steps when the rule changes, and later ones use the new steps`() async throws {
        let let_ = "let: {greeting: \"'hello'\"}"
        let before = Self.rule(let_, steps: "  - {after: 10m, do: [{log: \"${{ greeting }} ${{ task.id }}\"}]}")
        let after = Self.rule(
            let_.replacing("hello", with: "welcome"), steps: "  - {after: 5m, do: [{log: \"${{ greeting }} ${{ task.id }}\"}]}")
        let agent = try await TestAgent(before)
        try await agent.put("a")
        try await agent.runOnce(with: after)
        agent.source.put(task("b", "x", ["priority": 1]))
        #expect(try await agent.texts(after: 20, with: after) == ["new a", "new b", "welcome b", "hello a"])
    }

    @Test func `an escalation continues after escalate is removed from its rule, and an answer still ends it`() async throws {
        let agent = try await TestAgent(Self.rule())
        let without = String(Self.rule().split(separator: "escalate:")[0])
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.runOnce(with: without)
        agent.source.put(task("b", "taken", ["priority": 1]))
        #expect(try await agent.texts(after: 16, with: without) == ["new a", "new b", "remind a printer on fire"])
    }

    @Test func `removing or disabling a rule ends its escalations and closes nothing`() async throws {
        let other = "rule: other\non: task_created\ndo: [{log: z}]"
        for next in [other, Self.paging + "\nenabled: false"] {
            let agent = try await TestAgent(Self.paging)
            try await agent.put("a")
            try await agent.runOnce(with: next)
            let key = StateKey(rule: "", kind: .escalation, key: "my-work/a")
            #expect(try await agent.bench.store.state(for: [key]).isEmpty)
            #expect(try await agent.bench.store.nextTimer() == nil)
            try await agent.comment("a")
            try await agent.wait(30)
            // Two receivers of one run: either may be first.
            #expect(agent.texts.sorted() == ["chat: new a", "pager: new a"])
        }
    }

    @Test func `an escalation in working time keeps its steps until the last of them, though its rule changes`() async throws {
        func rule(_ text: String) -> String {
            Self.rule(steps: "  - {after: {time: 100d, calendar: office}, do: [{log: \(text)}]}")
        }
        let agent = try await TestAgent(rule("late"))
        try await agent.put("a")
        let due = try #require(try await agent.bench.store.nextTimer())
        // What is no longer needed is deleted with the first of these passes.
        for days in [3, 0] {
            await agent.bench.clock.advance(to: due - .days(days))
            try await agent.runOnce(with: rule("other"))
        }
        #expect(agent.texts == ["new a", "late"])
    }

    @Test func `steps that no longer fit the configuration end the escalation with an error`() async throws {
        let agent = try await TestAgent(Self.paging)
        try await agent.put("a")
        let rows = try await agent.bench.store.formerRules()
        let (version, row) = try #require(rows["r"]?.first)
        var text = row
        text["text"] = "{rule: r, on: task_created, from: nowhere, escalate: [{after: 10m, do: [{log: x}]}]}"
        let key = StateKey(rule: "r", kind: .steps, key: version)
        try await agent.bench.store.route(Routing(state: [StateWrite(key, .set(text, expires: nil))]))
        let changed = Self.paging.replacing("title: late", with: "title: later")
        #expect(try await agent.texts(after: 15, with: changed).sorted() == ["chat: new a", "pager: new a"])
        let errors = try await agent.bench.store.decisions(DecisionQuery(verdicts: [.stepFailed], limit: 10))
        #expect(errors.map(\.error) == ["the steps of an escalation no longer fit bellhop.yaml, so it has ended"])
        #expect(try await agent.bench.store.nextTimer() == nil)
    }

    // MARK: Failures

    @Test func `whichever statement fails, each step and the end of an escalation are delivered once`() async throws {
        for statement in 1...60 {
            let (bench, source) = try Bench.with()
            let shelf = try await bench.shelf(Self.paging, sources: [source])
            var poller = try await bench.polled(source)
            var failed = false
            func pass(_ poller: inout Poller) async throws {
                _ = try await poller.pollOnce()
                for isFaulty in [true, false] {
                    if isFaulty { bench.fail(statement: statement) }
                    let timers = TimerLoop(bench.context, shelf: shelf)
                    _ = try? await Router(bench.context, shelf: shelf, timers: timers).routePending()
                    _ = try? await timers.fireDue()
                    if isFaulty { failed = bench.stopFailing() || failed }
                }
            }
            source.put(task("a", "x", ["priority": 1]))
            try await pass(&poller)
            for _ in 0..<2 {
                await bench.clock.advance(by: .seconds(600))
                try await pass(&poller)
            }
            source.edit { state in
                state.comments = [
                    TaskComment(
                        id: "j", task: "a", text: "mine", author: "abel.tuter", kind: "comments", time: bench.now,
                        authorship: .others)
                ]
            }
            try await pass(&poller)
            let made = try await bench.deliveries().map(\.delivery.text)
            #expect(
                made.prefix(5) == ["chat: new a", "pager: new a", "pager: late", "pager: kept", "pager closes t-a"],
                "statement \(statement)")
            #expect(made.count == 6)
            if !failed { return #expect(statement > 10) }
        }
        Issue.record("more statements than expected")
    }
}
