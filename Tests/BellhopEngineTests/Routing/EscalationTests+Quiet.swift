import BellhopCore
import Synchronization
import Testing

/// Escalations with held pages, and more escalations than a rule may have. The clock starts at nine on a Monday.
extension `Escalations` {
    private static func quiet(_ hours: String, page: String = "title: \"new ${{ task.id }}\", thread: \"t-${{ task.id }}\"")
        -> String
    {
        """
        rule: r
        on: task_created
        when: task.priority == 1
        quiet: {hours: "\(hours)"}
        do: [{notify: {to: pager, \(page)}}]
        until: answered
        escalate: {after: 10m, do: [{notify: {to: pager, title: late, thread: "t-${{ task.id }}"}}]}
        """
    }

    @Test func `an answer drops a page that is still held, and closes nothing`() async throws {
        let agent = try await TestAgent(Self.quiet("09:00-09:30"))
        try await agent.put("a", thenWait: 15)
        try await agent.comment("a")
        #expect(try await agent.texts(after: 20) == [])
        let records = try await agent.bench.deliveries()
        #expect(records.map(\.state) == [.dropped, .dropped])
        #expect(records.allSatisfy { $0.failure?.message.contains("escalation") == true })
        #expect(try await agent.bench.store.nextRelease() == nil)
    }

    @Test func `an answer after the release of a held page closes it, with or without a thread`() async throws {
        let agent = try await TestAgent(Self.quiet("09:00-09:05"))
        try await agent.put("a")
        #expect(try await agent.texts(after: 6) == ["pager: new a"])
        try await agent.comment("a")
        #expect(agent.texts == ["pager: new a", "pager closes t-a"])

        let own = try await TestAgent(Self.quiet("09:00-09:05", page: "title: \"new ${{ task.id }}\""))
        for id in ["a", "b"] { try await own.put(id) }
        #expect(try await own.texts(after: 6).sorted() == ["pager: new a", "pager: new b"])
        let page = try #require(own.action.performed.first { $0.delivery.text == "pager: new a" }).delivery
        try await own.comment("a")
        #expect(own.texts.dropFirst(2) == ["pager closes \(page.id.text)"])
    }

    @Test func `an answer closes a sent page and drops a later one of its thread that is still held`() async throws {
        let agent = try await TestAgent(Self.quiet("09:05-09:30"))
        try await agent.put("a", thenWait: 12)
        #expect(try await agent.bench.deliveries(.quiet).count == 1)
        try await agent.comment("a")
        #expect(try await agent.texts(after: 20) == ["pager: new a", "pager closes t-a"])
    }

    /// A rule whose pages a quiet time holds until half past nine, and one with these lines that runs when a task is commented.
    private static func held(to receivers: String = "pager", over lines: String) -> String {
        """
        rule: page
        on: task_created
        quiet: {hours: "09:00-09:30"}
        do: [{notify: {to: \(receivers), title: "new ${{ task.id }}", thread: "t-${{ task.id }}"}}]
        ---
        rule: over
        on: task_commented
        \(lines)
        """
    }

    private static let closing = #"do: [{notify: {to: pager, title: over, thread: "t-${{ task.id }}", resolve: true}}]"#

    @Test func `a message that closes its conversation at a pager drops those of it that are still held, of any rule`()
        async throws
    {
        let agent = try await TestAgent(
            Self.held(to: "[pager, chat]", over: Self.closing.replacing("to: pager", with: "to: [pager, chat]")))
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.comment("a")
        let dropped = try await agent.bench.deliveries(.dropped)
        #expect(dropped.map(\.delivery.id.receiver) == ["pager"])
        #expect(dropped.compactMap(\.failure?.message) == [Failure.settled.message])
        let texts = try await agent.texts(after: 40)
        #expect(texts.contains("pager closes t-a") && texts.contains("pager: new b") && !texts.contains("pager: new a"))
    }

    @Test(arguments: [("hold", ["pager closes t-a"]), ("drop", [])] as [(String, [String])])
    func `a message that closes its conversation at a pager drops one that is held for longer, even if it is kept back itself`(
        _ then: String, _ texts: [String]
    ) async throws {
        let agent = try await TestAgent(
            Self.held(over: "quiet: {hours: \"09:00-09:10\", then: \(then)}\n" + Self.closing))
        try await agent.put("a")
        try await agent.comment("a")
        #expect(try await agent.bench.deliveries(.dropped).contains { $0.delivery.id.rule == "page" })
        #expect(try await agent.texts(after: 40) == texts)
    }

    @Test func `an acknowledgement drops the pages of its thread that are still held`() async throws {
        let agent = try await TestAgent(
            Self.held(over: #"do: [{acknowledge: {to: pager, thread: "t-${{ task.id }}"}}]"#))
        for id in ["a", "b"] { try await agent.put(id) }
        try await agent.comment("a")
        #expect(try await agent.bench.deliveries(.dropped).map(\.failure?.message) == [Failure.settled.message])
        #expect(try await agent.texts(after: 40) == ["pager acknowledges t-a", "pager: new b"])
    }

    @Test func `a page that waits for a step with on_error stop is dropped by an answer, and by an acknowledgement`() async throws
    {
        let page = """
            rule: r
            on: task_created
            do:
              - {comment: calling, on_error: stop}
              - {notify: {to: pager, title: new, thread: "t-${{ task.id }}"}}
            """
        let escalation = "\nuntil: answered\nescalate: {after: 10h, do: [{log: late}]}"
        let acknowledging = """

            ---
            rule: over
            on: task_commented
            do: [{acknowledge: {to: pager, thread: "t-${{ task.id }}"}}]
            """
        let cases: [(rules: String, texts: [String])] = [
            (page + escalation, []), (page + acknowledging, ["pager acknowledges t-a"]),
        ]
        for (rules, texts) in cases {
            let agent = try await TestAgent(rules)
            let isBroken = Mutex(true)
            agent.action.script { delivery, _ throws(Failure) in
                if delivery.action == "comment", isBroken.withLock({ $0 }) { throw Failure(.gateway, .retry(after: nil), "502") }
                return Receipt("done")
            }
            try await agent.put("a")
            #expect(try await agent.bench.deliveries(.waiting).count == 1)
            try await agent.comment("a")
            #expect(try await agent.bench.deliveries(.dropped).map(\.delivery.text) == ["pager: new"])
            isBroken.withLock { $0 = false }
            #expect(try await agent.texts(after: 60).filter { $0 != "calling" } == texts)
            #expect(try await agent.bench.deliveries(.done).contains { $0.delivery.action == "comment" })
        }
    }

    @Test func `a held message does not close an alert that was opened after it was made, and is reported as dropped`()
        async throws
    {
        let rules = """
            rule: page
            on: [task_created, task_commented]
            do: [{notify: {to: pager, title: "${{ event.type }}", thread: "t-${{ task.id }}"}}]
            ---
            rule: over
            on: task_changed
            quiet: {hours: "09:00-09:30"}
            do: [{notify: {to: pager, title: over, thread: "t-${{ task.id }}", resolve: true}}]
            """
        let agent = try await TestAgent(rules)
        try await agent.put("a")
        try await agent.put("a", "another title")
        #expect(try await agent.bench.deliveries(.quiet).count == 1)
        try await agent.comment("a")
        #expect(try await agent.texts(after: 40) == ["pager: task_created", "pager: task_commented"])
        #expect(try await agent.bench.deliveries(.dropped).map(\.failure?.message) == [Failure.outdated.message])
        #expect(agent.bench.recorder.count("delivery.dropped") == 1)
    }

    @Test func `a rule with too many escalations is paused, with a signal`() async throws {
        let rule = Self.quiet("22:00-23:00")
        let agent = try await TestAgent(rule)
        func create(_ id: String) async throws {
            agent.source.put(task(id, "x", ["priority": 1]))
            try await agent.runOnce(with: rule, maxKeys: 2)
        }
        for id in ["a", "b"] { try await create(id) }
        agent.source.remove("a")
        for id in ["c", "d", "e"] { try await create(id) }
        #expect(agent.bench.recorder.losses == [KeyLoss(rule: "r", dropped: 0, most: 2, isStopped: true)])
        #expect(agent.texts.filter { $0.contains("new") } == ["a", "b", "c", "d"].map { "pager: new \($0)" })
        let pauses = try await agent.bench.store.pauses()
        #expect(pauses.map(\.reason) == ["it has 3 escalations, and may remember 2: `retention: {keys: …}` in bellhop.yaml"])
    }
}
