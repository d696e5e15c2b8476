import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Routing each event through every rule exactly once (T2).
@Suite(.timeLimit(.minutes(5))) struct `Routing events` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private func created(_ numbers: Range<Int>) -> [Event] { numbers.map { .created($0, at: TestClock().now) } }

    private let two = logRule(on: "task_created", as: "one") + "\n---\n" + logRule(on: "task_created", as: "two")

    private func texts(_ bench: Bench) async throws -> [String] { try await bench.deliveries().map(\.delivery.text) }

    private func expected(_ numbers: Range<Int>, _ rules: String...) -> [String] {
        numbers.flatMap { number in rules.map { "\($0): task_created t\(number)" } }
    }

    @Test func `every event is routed through every rule once, however small the batches`() async throws {
        let shelf = try await bench.shelf(two)
        try await bench.store.append(created(0..<7))
        #expect(try await Router(bench.context, shelf: shelf, batch: 2).routePending() == 7)
        #expect(try await texts(bench) == expected(0..<7, "one", "two"))
        #expect(try await Router(bench.context, shelf: shelf).routePending() == 0)
        #expect(try await texts(bench).count == 14)
    }

    @Test func `routing is retried while the store fails, until everything is routed`() async throws {
        let shelf = try await bench.shelf(two)
        bench.store.fail { $0 == .route ? .before : nil }
        let routing = Task { await Router(bench.context, shelf: shelf).run() }
        try await bench.store.append(created(0..<3))
        bench.context.bells.router.ring()
        try await bench.clock.waitForSleepers(1)
        await bench.clock.advance(by: .seconds(5))
        #expect(try await texts(bench) == [])
        try await bench.clock.waitForSleepers(1)
        bench.store.stopFailing()
        await bench.clock.advance(by: .seconds(2))
        try await waitUntil { try await bench.deliveries().count >= 6 }
        await routing.stop()
        #expect(try await texts(bench) == expected(0..<3, "one", "two"))
    }

    @Test func `a rule added later gets only later events, also after a restart`() async throws {
        var shelf = try await bench.shelf(logRule(on: "task_created", as: "one"))
        try await bench.store.append(created(0..<2))
        shelf = try await bench.shelf(two)
        try await bench.store.append(created(2..<4))
        shelf = try await bench.shelf(two)
        try await Router(bench.context, shelf: shelf).routePending()
        #expect(try await texts(bench) == expected(0..<2, "one") + expected(2..<4, "one", "two"))
    }

    @Test func `changed rules take effect between two batches`() async throws {
        let shelf = try await bench.shelf(logRule(on: "task_created", as: "one"))
        try await bench.route(created(0..<2), by: shelf)
        try await shelf.install(try RuleBook.test(logRule(on: "task_created", as: "two")), in: bench.context)
        try await bench.route(created(2..<4), by: shelf)
        #expect(try await texts(bench) == expected(0..<2, "one") + expected(2..<4, "two"))
    }

    @Test func `without rules no event is marked as routed`() async throws {
        try await bench.store.append(created(0..<2))
        #expect(try await Router(bench.context, shelf: RuleShelf()).routePending() == 0)
        #expect(try await bench.store.unrouted(limit: 9).count == 2)
    }

    @Test func `rules installed between the reading and the routing of events route these events`() async throws {
        let shelf = try await bench.shelf(logRule(on: "task_created", as: "one"))
        let (book, events) = (try RuleBook.test(two), created(0..<1))
        bench.store.interrupt(.unrouted) {
            try? await shelf.install(book, in: bench.context)
            _ = try? await bench.store.append(events)
        }
        #expect(try await Router(bench.context, shelf: shelf).routePending() == 1)
        #expect(try await texts(bench) == expected(0..<1, "one", "two"))
    }

    @Test(arguments: [FaultyStore.Call.register, .formerRules, .pauses])
    func `rules that were registered before the store failed route the next event`(_ call: FaultyStore.Call) async throws {
        let shelf = try await bench.shelf(logRule(on: "task_created", as: "one"))
        let book = try RuleBook.test(two)
        bench.store.failOnce(call, .after)
        await #expect(throws: StoreError.self) { try await shelf.install(book, in: bench.context) }
        #expect(shelf.book?.rules.map(\.name) == ["one"])
        try await bench.route(created(0..<1), by: shelf)
        #expect(try await texts(bench) == expected(0..<1, "one", "two"))
    }

    @Test func `once, throttle and the budget of writes are remembered over restarts`() async throws {
        let rules =
            logRule(on: "task_created", as: "once", more: "once: '\"x\"'") + "\n---\n"
            + logRule(on: "task_created", as: "throttled", more: "throttle: {every: 1h}") + "\n---\n"
                + """
                rule: limited
                on: task_created
                limit: 1/h
                do: [{comment: "hello ${{ event.type }}"}]
                """
        var first = created(0..<3)
        for place in first.indices { first[place].data["task"] = task("a").json(source: "my-work") }
        for event in first {
            let shelf = try await bench.shelf(rules, sources: [bench.source()])
            try await bench.route([event], by: shelf)
        }
        let made = try await bench.deliveries()
        #expect(
            made.map { "\($0.delivery.id.rule) \($0.state.rawValue)" }.sorted() == [
                "limited available", "limited dead", "limited dead", "once available", "throttled available",
            ])
        #expect(try await bench.eventLines().count { $0.hasPrefix("delivery_dead") } == 2)
        await bench.clock.advance(by: .seconds(3601))
        let shelf = try await bench.shelf(rules, sources: [bench.source()])
        try await bench.route(created(5..<6), by: shelf)
        #expect(try await bench.deliveries().count { $0.delivery.id.rule == "throttled" } == 2)
        #expect(try await bench.deliveries().count { $0.delivery.id.rule == "once" } == 1)
    }

    @Test func `a batch is decided again if a rule's state has changed in the meantime`() async throws {
        let rules =
            logRule(on: "task_created", as: "one", more: "once: '\"x\"'") + "\n---\n" + logRule(on: "task_created", as: "two")
        let shelf = try await bench.shelf(rules)
        try await bench.store.append(created(0..<1))
        bench.store.storeBeforeNextRouting([
            Routing(state: [StateWrite(StateKey(rule: "one", kind: .once, key: "x"), .set(true, expires: nil))])
        ])
        #expect(try await Router(bench.context, shelf: shelf).routePending() == 1)
        #expect(try await texts(bench) == expected(0..<1, "two"))
        #expect(bench.recorder.count("router.routed") == 1)
    }

    @Test func `a batch whose state changes at each of five attempts fails, and is routed later`() async throws {
        let shelf = try await bench.shelf(logRule(on: "task_created", as: "one", more: "throttle: {every: 1h}"))
        try await bench.store.append(created(0..<1))
        let key = StateKey(rule: "one", kind: .throttle, key: "")
        bench.store.storeBeforeNextRouting((1...5).map { Routing(state: [StateWrite(key, .set(.int($0), expires: nil))]) })
        let router = Router(bench.context, shelf: shelf)
        let error = await #expect(throws: StoreError.self) { try await router.routePending() }
        #expect(
            error?.message
                == "A batch of events was decided 5 times, and each time the state of its rules had changed meanwhile.")
        #expect(try await texts(bench) == [])
        #expect(try await router.routePending() == 1)
        #expect(try await texts(bench) == expected(0..<1, "one"))
    }

    @Test func `a key with other bytes is another key, although its letters look the same`() async throws {
        let (all, one) = ("${{ events.map(e, e.task.id).join(' ') }}", "${{ task.id }}")
        let parts = [
            ("throttle: {every: 1h, by: task.title}", one), ("count: {at_least: 2, within: 1h, by: task.title}", all),
            ("group: {by: task.title, wait: 1m}", all), ("for: {time: 1m, by: task.title}", one),
        ]
        let rules = parts.enumerated().map { "rule: r\($0)\non: task_created\n\($1.0)\ndo: [{log: \"\($0) \($1.1)\"}]" }
        let agent = try await TestAgent(rules.joined(separator: "\n---\n"))
        // One letter, and a letter followed by its accent: equal texts for Swift.
        let (composed, separate) = ("Caf\u{E9}", "Cafe\u{301}")
        try await agent.put("a", composed)
        agent.source.put(task("b", separate))
        agent.source.put(task("c", composed))
        try await agent.runOnce()
        #expect(try await agent.texts(after: 1).sorted() == ["0 a", "0 b", "1 a c", "2 a c", "2 b", "3 a", "3 b"])
    }

    @Test func `rules that trigger each other stop after five hops`() async throws {
        func seen(_ title: String, by user: String, _ updates: Int) -> Snapshot {
            task("a", title, ["sys_updated_by": .string(user), "sys_mod_count": .int(Int64(updates))])
        }
        let source = bench.source([seen("new", by: "bob", 0)])
        let shelf = try await bench.shelf("rule: echo\non: task_changed\ndo: [{comment: again}]", sources: [source])
        let action = ScriptedAction()
        // Each comment changes the task, as with an unfortunate business rule on the instance.
        var poller = try await bench.polled(source)
        let dispatcher = Dispatcher(bench.context, actions: { _ in action })
        for turn in 0..<9 {
            await bench.clock.advance(by: .seconds(60))
            let count = min(turn, action.count)
            source.put(seen("title \(count)", by: "ada", count + 1))
            if turn == 0 { source.put(seen("the world's own change", by: "bob", 1)) }
            _ = try await poller.pollOnce()
            try await Router(bench.context, shelf: shelf).routePending()
            try await dispatcher.dispatchPending()
        }
        #expect(action.count == 5)
        #expect(try await bench.store.events(EventQuery(types: [.taskChanged])).map(\.event.hop) == [0, 1, 2, 3, 4, 5])
        #expect(bench.recorder.count("rule.failed") == 1)
    }
}
