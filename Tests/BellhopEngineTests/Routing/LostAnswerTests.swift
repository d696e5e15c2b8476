import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

/// The store stores a routing, but its answer is lost: the loops must find the stored changes themselves.
@Suite(.timeLimit(.minutes(5))) struct `A lost answer of the store` {
    private struct Loops {
        let bench: Bench
        let source: ScriptedSource
        private let running: Task<Void, Never>

        init(_ rules: String) async throws {
            bench = try Bench()
            source = bench.source()
            let shelf = try await bench.shelf(rules, sources: [source])
            let timers = TimerLoop(bench.context, shelf: shelf)
            let router = Router(bench.context, shelf: shelf, timers: timers)
            running = Task {
                await withDiscardingTaskGroup { group in
                    group.addTask { await timers.run() }
                    group.addTask { await router.run() }
                }
            }
            _ = try await bench.polled(source)
            await bench.settle()
        }

        /// Polls a new task, and loses the answer to the routing of its event.
        func create(_ id: String) async throws {
            bench.store.failOnce(.route, .after)
            source.put(task(id))
            _ = try await bench.polled(source)
            await bench.settle()
        }

        func end() async { await running.stop() }
    }

    @Test func `a held message is sent when its quiet time ends, although the answer of its routing was lost`() async throws {
        let loops = try await Loops(
            """
            rule: r
            on: task_created
            quiet: {hours: "09:00-10:00"}
            do: [{notify: {to: chat, title: x}}]
            """)
        let begin = loops.bench.now
        try await loops.create("a")
        await loops.bench.run(until: begin + .seconds(3599))
        #expect(try await loops.bench.deliveries(.available).isEmpty)
        await loops.bench.run(until: begin + .seconds(3600))
        #expect(try await loops.bench.deliveries(.available).count == 1)
        await loops.end()
    }

    @Test func `a wait ends on time, although the answer of the routing that began it was lost`() async throws {
        let loops = try await Loops("rule: r\non: task_created\nfor: 90s\ndo: [{log: x}]")
        let begin = loops.bench.now
        try await loops.create("a")
        await loops.bench.run(until: begin + .seconds(90))
        #expect(try await loops.bench.deliveries().map(\.delivery.createdAt) == [begin + .seconds(90)])
        await loops.end()
    }

    @Test func `the event of a timer is routed at once, although the answer of its routing was lost`() async throws {
        let loops = try await Loops("rule: r\non: {every: 1h}\ndo: [{log: x}]")
        loops.bench.store.failOnce(.route, .after)
        await loops.bench.run(until: loops.bench.now + .seconds(3603))
        #expect(try await loops.bench.deliveries().count == 1)
        await loops.end()
    }

    @Test func `a rule that is paused for too many keys gets no more events, although the answer of the routing was lost`()
        async throws
    {
        let (bench, source) = try Bench.with()
        let shelf = try await bench.shelf(
            "rule: r\non: task_created\nonce: task.id\ndo: [{log: \"${{ task.id }}\"}]", sources: [source], maxKeys: 1)
        let router = Router(bench.context, shelf: shelf)
        func create(_ id: String) async throws {
            try await bench.store.append([
                Event(
                    id: Event.ID(type: .taskCreated, facts: id), type: .taskCreated, source: source.name,
                    subject: "https://acme.example/\(id)", time: bench.now, data: ["task": task(id).json(source: source.name)])
            ])
        }
        try await create("a")
        try await router.routePending()
        bench.store.failOnce(.route, .after)
        try await create("b")
        await #expect(throws: StoreError.self) { try await router.routePending() }
        #expect(try await bench.store.pauses().map(\.subject) == [.rule("r")])
        let count = try await bench.deliveries().count
        try await create("c")
        try await router.routePending()
        #expect(try await bench.deliveries().count == count)
    }
}
