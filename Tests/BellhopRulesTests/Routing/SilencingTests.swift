import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct `Silenced and shadow deliveries` {
    private static func book(_ rest: String) throws -> RuleBook {
        try Fixture.book("rule: r\non: [task_created, source_failing]\n\(rest)")
    }

    private static let both = """
        do:
          - notify: {to: ops, title: "${{ rule }}"}
          - comment: {task: a1, text: thanks}
        """

    private static func silence(_ when: String? = nil, rules: [String] = [], writes: Bool = false) -> Silence {
        Silence(id: "s1", when: when, rules: rules, starts: Fixture.start, ends: Fixture.start + .seconds(60), writes: writes)
    }

    private func states(
        _ book: RuleBook, _ silence: Silence, _ event: Event = Fixture.event(.taskCreated, Fixture.task()), at seconds: Int = 0
    ) -> [Delivery.InitialState] {
        let silences = book.silences([silence])
        #expect(silences.refused.isEmpty)
        let stored = StoredEvent(sequence: 1, event: event)
        return book.decide([stored], silences: silences, at: Fixture.start + .seconds(seconds)).deliveries.map(\.initial)
    }

    @Test func `a silence keeps messages back and lets writes through, and a silence of writes keeps both back`() throws {
        #expect(states(try Self.book(Self.both), Self.silence()) == [.silenced(by: "s1"), .available])
        #expect(states(try Self.book(Self.both), Self.silence(writes: true)) == [.silenced(by: "s1"), .silenced(by: "s1")])
    }

    @Test func `a silence keeps nothing back from its end on`() throws {
        let book = try Self.book(Self.both)
        #expect(states(book, Self.silence(), at: 59)[0] == .silenced(by: "s1"))
        #expect(states(book, Self.silence(), at: 60)[0] == .available)
    }

    @Test(arguments: [
        ("task.number == 'INC1'", true), ("task.number == 'INC2'", false),
        ("source == 'my-work' && event.type == 'task_created'", true),
        // Unknown, because the task has no such value.
        ("task.priority < 3", false),
        // Only `my-work` declares it.
        ("task.urgency == null", true),
    ])
    func `the condition of a silence reads the names of the run`(_ when: String, _ isSilenced: Bool) throws {
        let event = Fixture.event(.taskCreated, Fixture.task(number: "INC1", fields: ["priority": .null]))
        #expect(states(try Self.book(Self.both), Self.silence(when), event)[0] == (isSilenced ? .silenced(by: "s1") : .available))
    }

    @Test func `a message without a task is not silenced by a condition about tasks`() throws {
        let book = try Self.book("do: [{notify: {to: ops, title: down}}]")
        let event = Fixture.event(.sourceFailing, nil)
        #expect(states(book, Self.silence("task.number != 'INC1'"), event) == [.available])
        #expect(states(book, Self.silence(), event) == [.silenced(by: "s1")])
    }

    @Test func `a silence with a wrong condition is refused with a diagnostic, and keeps nothing back`() throws {
        let book = try Self.book(Self.both)
        let silences = book.silences([Self.silence("task.numbr == 'x'")])
        #expect(silences.refused["s1"]?.all.map(\.code) == ["unknown-field"])
        #expect(silences.entries.isEmpty)
        let wrong = [
            ("tasks.size() > 3", "not-known-yet"), ("snapshot(\"incidents\").size() > 3", "not-known-yet"),
            ("", "empty-expression"), ("1 + 1", "wrong-type"),
        ]
        for (when, code) in wrong {
            #expect(SilenceBook.problems(of: when, context: Fixture.context()).all.first?.code == code, "\(when)")
        }
    }

    @Test func `a step does not wait for a silenced step with on_error: stop`() throws {
        let book = try Self.book(
            """
            do:
              - notify: {to: ops, title: a}
                on_error: stop
              - log: b
            """)
        let event = StoredEvent(sequence: 1, event: Fixture.event(.taskCreated, Fixture.task()))
        let routing = book.decide([event], silences: book.silences([Self.silence()]))
        #expect(routing.deliveries.map(\.initial) == [.silenced(by: "s1"), .available])
        #expect(routing.deliveries[1].after == [])
    }

    @Test func `a silenced run counts for throttle and once, but not for the budget`() throws {
        let book = try Self.book("once: task.id\nthrottle: {every: 1h}\n" + Self.both)
        let event = StoredEvent(sequence: 1, event: Fixture.event(.taskCreated, Fixture.task()))
        let routing = book.decide([event], silences: book.silences([Self.silence(writes: true)]))
        #expect(routing.state.map(\.key.kind) == [.once, .throttle])
    }

    @Test func `a silence never keeps back the message about itself`() throws {
        let book = try Fixture.book("rule: r\non: silence_started\ndo: [{notify: {to: ops, title: silence}}]")
        let silence = Self.silence()
        #expect(states(book, silence, .silenceStarted(silence, at: Fixture.start)) == [.available])
        var other = silence
        other.id = "s2"
        #expect(states(book, silence, .silenceStarted(other, at: Fixture.start)) == [.silenced(by: "s1")])
    }

    // MARK: Canary

    @Test func `a canary is live for its tasks, and in shadow mode for the others and without a task`() throws {
        let book = try Self.book("mode: {canary: 10%}\ndo: [{notify: {to: ops, title: x}}]")
        #expect(book.rules[0].mode == .canary(Canary(percent: 10)))
        let events = (1...200).map { Fixture.event(.taskCreated, Fixture.task("t\($0)"), id: "e\($0)") }
        let routing = book.route(events)
        let live = (1...200).map { Canary(percent: 10).includes("t\($0)", of: "r") }
        #expect(routing.deliveries.map(\.initial) == live.map { $0 ? .available : .shadow })
        #expect(live.contains(true))
        #expect(book.route([Fixture.event(.sourceFailing, nil)]).deliveries.map(\.initial) == [.shadow])
    }

    @Test func `a shadow run of a canary never stops a live one`() throws {
        let book = try Self.book("mode: {canary: 50%}\nthrottle: {every: 1h}\ndo: [{notify: {to: ops, title: x}}]")
        let names = (1...50).map { "t\($0)" }
        let live = try #require(names.first { Canary(percent: 50).includes($0, of: "r") })
        let shadow = try #require(names.first { !Canary(percent: 50).includes($0, of: "r") })
        let routing = book.route([
            Fixture.event(.taskCreated, Fixture.task(shadow), id: "e1"),
            Fixture.event(.taskCreated, Fixture.task(live), id: "e2"),
        ])
        #expect(routing.deliveries.map(\.initial) == [.shadow, .available])
    }

    @Test(arguments: [
        ("0%", "`canary` must be from 1% to 99%, not 0%"), ("100%", "`canary` must be from 1% to 99%, not 100%"),
        ("10", "`10` is not a share of the tasks"), ("a tenth", "`a tenth` is not a share of the tasks"),
        ("1.5%", "`1.5%` is not a share of the tasks"),
    ])
    func `an invalid share is refused with a sentence`(_ text: String, _ message: String) throws {
        let rule = "rule: r\non: task_created\nmode: {canary: \(text)}\ndo: [{log: x}]"
        let error = #expect(throws: Diagnostics.self) { try Fixture.book(rule) }
        #expect(error?.all.map(\.message) == [message])
    }
}
