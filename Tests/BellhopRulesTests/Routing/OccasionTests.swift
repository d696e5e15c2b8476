import BellhopCore
import CEL
import Testing

@testable import BellhopRules

/// Runs for occasions that are not events.
@Suite struct `Occasions` {
    private static let due = Fixture.start - .seconds(1)

    /// A timer of the first rule that came due.
    private static func timer(_ key: String = "k", task: Snapshot? = nil) -> RunContext {
        RunContext(
            rule: 0, occasion: .timer(RuleTimer.ID(rule: "r", kind: .schedule, key: key), due: due), source: "my-work",
            subject: task.map { "acme/\($0.key.text)" } ?? "my-work", key: key, task: task)
    }

    /// The routing of these runs of the first rule.
    private static func route(_ rules: String, _ contexts: [RunContext]) throws -> Routing {
        let book = try Fixture.book(rules)
        return book.decide(book.match(contexts), state: [:], tasks: [:], at: Fixture.start)
    }

    @Test func `a run without an event makes deliveries, a fallback message and an event for a dead delivery`() throws {
        let rule = """
            rule: r
            on: login_event
            do:
              - log: "${{ source }}"
              - notify: {to: ops, title: "${{ 1 / int('0') }}"}
              - webhook: {url: "https://example.com/${{ 1 / int('0') }}"}
            """
        let routing = try Self.route(rule, [Self.timer()])
        #expect(routing.routed.isEmpty)
        #expect(
            routing.deliveries.map(\.line) == [
                #"r/0 log → log: {"level":"info","text":"my-work"}"#,
                "r/1 notify → ops: " + Message.fallback(rule: "r", task: nil, error: "division by zero").markdown,
                "r/2 webhook → webhook: {} (dead, unrenderable: division by zero)",
            ])
        for delivery in routing.deliveries {
            #expect(delivery.id.occasion.text == "timer/schedule/r/\(Self.due.microseconds)/k")
            #expect(delivery.lane == "r/\(delivery.id.receiver)/my-work")
            #expect(delivery.hop == 0 && delivery.task == nil)
        }
        #expect(routing.events.map(\.subject) == ["delivery/\(routing.deliveries[2].id.text)"])
        #expect(routing.events.map(\.hop) == [1])
        #expect(routing.tallies.map(\.runs) == [1] && routing.tallies.map(\.errors) == [2])
    }

    @Test func `a run without an event can have a task of its own and write to it`() throws {
        let rule = """
            rule: r
            on: task_changed
            when: task.priority == 1 && !changed("state")
            do: [{comment: "${{ task.number }} ${{ before == null }} ${{ changes.state == null }}"}]
            """
        let (urgent, other) = (Fixture.task(fields: ["priority": 1]), Fixture.task("b2", fields: ["priority": 2]))
        let routing = try Self.route(rule, [Self.timer(task: urgent), Self.timer(task: other)])
        #expect(
            routing.deliveries.map(\.line) == [#"r/0 comment → snow: {"text":"INC0010021 true true","visibility":"internal"}"#])
        let delivery = try #require(routing.deliveries.first)
        #expect(delivery.lane == "task/snow/a1")
        #expect(delivery.task?.subject == "acme/a1" && delivery.task?.source == "my-work")
        #expect(routing.state.map(\.key) == [StateKey(rule: "", kind: .budget, key: "snow/a1", element: "1")])
    }

    @Test func `no context of a full batch is lost`() throws {
        let large = Fixture.task(title: String(repeating: "x", count: 200_000))
        let contexts = (1...30).map { Self.timer("\($0)", task: large) }
        let routing = try Self.route("rule: r\non: task_changed\ndo: [{log: \"${{ task.title }}\"}]", contexts)
        #expect(Set(routing.deliveries.map(\.id)).count == contexts.count)
    }

    @Test func `once and throttle also apply to a run without an event`() throws {
        let tasks = [Fixture.task(), Fixture.task(), Fixture.task("b2")]
        let once = try Self.route("rule: r\non: task_changed\nonce: task.id\ndo: [{log: x}]", tasks.map { Self.timer(task: $0) })
        #expect(once.deliveries.count == 2)
        let throttled = try Self.route(
            "rule: r\non: task_changed\nthrottle: {every: 1h}\ndo: [{log: x}]", tasks.map { Self.timer(task: $0) })
        #expect(throttled.deliveries.count == 1)
    }

    @Test func `a run for several events has the highest of their hops`() throws {
        var context = Self.timer()
        context.events = [(3, Fixture.task()), (5, Fixture.task()), (1, Fixture.task("b2"))].enumerated().map { number, event in
            StoredEvent(sequence: Int64(number + 1), event: Fixture.event(.taskCreated, event.1, id: "e\(number)", hop: event.0))
        }
        context.event = 2
        let logged = try Self.route("rule: r\non: task_created\ndo: [{log: \"${{ task.id }} ${{ event.id }}\"}]", [context])
        #expect(logged.deliveries.map(\.line) == [#"r/0 log → log: {"level":"info","text":"b2 e2"}"#])
        #expect(logged.deliveries.map(\.hop) == [5])
        let writing = try Self.route("rule: r\non: task_created\ndo: [{comment: x}]", [context])
        #expect(writing.deliveries.isEmpty)
        #expect(writing.tallies.first?.lastError?.hasPrefix("stopped: 5 writes by rules led to this event") == true)
    }

    @Test func `in a run without an event, the names of event parts are null`() throws {
        let book = try Fixture.book("rule: r\non: task_created\ndo: [{log: x}]")
        let batch = [StoredEvent(sequence: 1, event: Fixture.event())]
        let frame = RunFrame(book.facts, events: batch)
        frame.move(to: Self.timer())
        for reader in [SlotReader.event, .task, .before, .comment, .change("state"), .changeEnd("state", "to")] {
            #expect(frame.read(reader) == .null)
        }
        #expect(frame.read(.changes) == .map(Value.Map(ChangedFields([:]) { _, _ in .null })))
        #expect(frame.read(.source) == .string("my-work"))
        #expect(frame.reference == nil)
        // A task of the run's own is the whole `task`, not only its fields.
        frame.move(to: Self.timer(task: Fixture.task()))
        guard case .object(let task)? = frame.read(.task) else {
            Issue.record("there is no task")
            return
        }
        #expect(task.value(named: "id") == .string("a1"))
        // The next run of the batch reads its own event.
        frame.move(to: 0)
        #expect(frame.event == batch[0].event)
        #expect(frame.reference?.key == TaskKey("a1"))
    }

    @Test func `different occasions have different names`() {
        let (event, due) = (Event.ID("e"), Fixture.start)
        func timer(_ rule: String, _ key: String, after seconds: Int = 0) -> Occasion {
            .timer(RuleTimer.ID(rule: rule, kind: .schedule, key: key), due: due + .seconds(seconds))
        }
        let occasions: [Occasion] = [
            .event(event), .replay(of: event, at: due), .element(of: event, key: "a/b"), timer("r", ""), timer("r", "a"),
            timer("r", "a/1"), timer("q", "a"), timer("r", "a", after: 1),
        ]
        #expect(Set(occasions.map(\.id)).count == occasions.count)
    }
}
