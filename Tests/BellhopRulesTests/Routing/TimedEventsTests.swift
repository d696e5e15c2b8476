import BellhopCore
import BellhopRules
import Testing

/// The events that wait until the timers due at their moment have fired.
@Suite struct `Events that concern timers` {
    private static func event(_ type: EventType, _ source: String) -> Event {
        Event(
            id: Event.ID(type: type, facts: source), type: type, source: source, subject: source, time: Fixture.start,
            data: ["task": Fixture.task("a").json(source: source)])
    }

    private static func rule(_ text: String) throws -> RuleBook { try Fixture.book("rule: r\n\(text)\ndo: [{log: x}]") }

    @Test(arguments: [
        ("on: task_created\nfrom: incidents\nfor: 5m", ["incidents"]),
        ("on: task_created\nfrom: incidents\ngroup: {wait: 5m}", ["incidents"]),
        ("on: {none: task_commented, after: task_created, within: 4h, by: task.id}\nfrom: incidents", ["incidents"]),
        ("on: task_created\nfrom: incidents\nescalate: [{after: 5m, do: [{log: y}]}]", ["incidents"]),
        ("on: {every: 5m}\nfrom: incidents\neach: tasks", ["incidents"]),
        ("on: {every: 5m}\nfrom: incidents", []),
        ("on: task_created\nfrom: incidents", []),
        ("on: task_created\nfor: 5m", ["incidents", "my-work"]),
        ("on: task_created\nfor: 5m\nenabled: false", []),
    ])
    func `an event of a task concerns timers if a rule with timers follows or reads its source`(
        _ text: String, _ sources: [String]
    ) throws {
        let book = try Self.rule(text)
        for type in [EventType.taskCreated, .taskChanged, .taskRemoved] {
            #expect(["incidents", "my-work"].filter { book.concernsTimers(Self.event(type, $0)) } == sources)
        }
    }

    @Test func `events that a rule does not see do not concern its timers`() throws {
        let book = try Self.rule("on: task_created\nfrom: incidents\ngroup: {wait: 5m}")
        #expect(!book.concernsTimers(Self.event(.scheduleDue, "other")))
        #expect(!book.concernsTimers(Self.event(.deliveryDead, "incidents")))
        #expect(!book.concernsTimers(Self.event(.sourceFailing, "incidents")))
        #expect(try !Self.rule("on: task_created\nfor: 5m").concernsTimers(Self.event(.sessionExpired, "incidents")))
        #expect(try Self.rule("on: source_failing\ngroup: {wait: 5m}").concernsTimers(Self.event(.sourceFailing, "incidents")))
    }

    @Test func `an event without a task concerns a rule whose wait has another key than the task`() throws {
        let book = try Self.rule("on: task_created\nfrom: incidents\nfor: {time: 5m, by: source}")
        #expect(book.concernsTimers(Self.event(.sessionExpired, "incidents")))
        #expect(!book.concernsTimers(Self.event(.sessionExpired, "my-work")))
    }
}
