import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// Events that rules emit, on the bus exactly once.
@Suite(.timeLimit(.minutes(5))) struct `Emitting events` {
    private static let rules = """
        rule: tell
        on: task_created
        do: [{emit: {type: ping, data: {task: "${{ task.id }}"}}}]
        ---
        rule: hear
        on: ping
        do: [{log: "${{ event.data.task }} from ${{ event.source }}"}]
        """

    private static let behindAStep = rules.replacing("do: [{emit", with: "do: [{log: first, on_error: stop}, {emit")

    private func created(_ numbers: Range<Int>) -> [Event] {
        numbers.map { number in
            Event(
                .taskCreated(task("t\(number)"), in: "my-work"), facts: String(number), source: "my-work",
                subject: "https://acme.example/t\(number)", at: TestClock().now)
        }
    }

    private func pings(_ bench: Bench) async throws -> [Event] {
        try await bench.store.events(EventQuery(types: [EventType("ping")], limit: 1000)).map(\.event)
    }

    private func heard(_ bench: Bench) async throws -> [String] {
        try await bench.deliveries().filter { $0.delivery.id.rule == "hear" }.map(\.delivery.text)
    }

    @Test func `an emitted event is routed after its cause, and the receipt of its delivery names it`() async throws {
        let bench = try Bench()
        let shelf = try await bench.shelf(Self.rules)
        try await bench.route(created(0..<2), by: shelf)
        let pings = try await pings(bench)
        #expect(pings.map(\.cause) == created(0..<2).map(\.id))
        #expect(pings.map(\.hop) == [1, 1])
        #expect(try await heard(bench) == ["t0 from tell", "t1 from tell"])
        let records = try await bench.deliveries(.done)
        #expect(records.map(\.delivery.id.rule) == ["tell", "tell"])
        let names = pings.map { "event ping \($0.id.text.prefix(12))" }
        #expect(records.map { $0.receipt?.summary } == names)
    }

    @Test func `whichever statement fails, an emitted event is stored with its run or not at all, and once`() async throws {
        for count in 1...100 {
            let bench = try Bench()
            let shelf = try await bench.shelf(Self.rules)
            try await bench.store.append(created(0..<3))
            let router = Router(bench.context, shelf: shelf)
            bench.fail(statement: count)
            do {
                try await router.routePending()
                #expect(!bench.stopFailing())
                #expect(count > 5)
                return
            } catch {
                bench.stopFailing()
                let made = try await bench.deliveries().filter { $0.delivery.id.rule == "tell" }.count
                #expect(try await pings(bench).count == made, "statement \(count) separated events from their runs")
            }
            try await router.routePending()
            #expect(try await pings(bench).map(\.cause) == created(0..<3).map(\.id), "statement \(count)")
            #expect(try await heard(bench) == ["t0 from tell", "t1 from tell", "t2 from tell"], "statement \(count)")
        }
        #expect(Bool(false), "no run completed without a failing statement")
    }

    @Test(arguments: [FaultyStore.Call.unrouted, .state, .route], FaultyStore.Moment.all)
    func `a process that dies while routing routes exactly once after its restart`(
        _ call: FaultyStore.Call, _ moment: FaultyStore.Moment
    ) async throws {
        let bench = try Bench()
        let rules = Self.rules + "\n---\n" + logRule(on: "ping", as: "once-each", more: "once: event.id")
        let shelf = try await bench.shelf(rules)
        try await bench.store.append(created(0..<3))
        bench.store.failOnce(call, moment)
        await #expect(throws: StoreError.self) { try await Router(bench.context, shelf: shelf).routePending() }
        try await Router(bench.restarted, shelf: try await bench.shelf(rules)).routePending()
        #expect(try await pings(bench).count == 3)
        #expect(try await heard(bench) == ["t0 from tell", "t1 from tell", "t2 from tell"])
        #expect(try await bench.deliveries().count == 9)
    }

    @Test(arguments: [FaultyStore.Call.append, .finish], FaultyStore.Moment.all)
    func `an event behind a step is emitted once, wherever the store fails`(
        _ call: FaultyStore.Call, _ moment: FaultyStore.Moment
    ) async throws {
        let bench = try Bench()
        let shelf = try await bench.shelf(Self.behindAStep)
        try await bench.route(created(0..<1), by: shelf)
        #expect(try await pings(bench).isEmpty)
        let intake = Intake(bench.context)
        let action = ScriptedAction { delivery, attempt throws(Failure) in
            guard delivery.action == "emit", let event = delivery.emittedEvent(at: attempt.now) else { return Receipt("done") }
            do throws(StoreError) {
                try await intake.emit([event])
            } catch {
                throw Failure(.fileSystem, .retry(after: nil), "\(error)")
            }
            bench.store.stopFailing()
            return Delivery.receipt(for: event)
        }
        bench.store.failOnce(call, moment)
        let loop = bench.dispatching(action)
        await bench.run(until: bench.now + .seconds(3600))
        await loop.stop()
        try await Router(bench.context, shelf: shelf).routePending()
        #expect(try await pings(bench).count == 1)
        #expect(try await heard(bench) == ["t0 from tell"])
        #expect(try await bench.deliveries().filter { $0.delivery.action == "emit" }.map(\.state) == [.done])
    }
}
