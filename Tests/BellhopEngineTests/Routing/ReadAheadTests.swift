import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite struct `Facts read ahead for timers` {
    private static let now = TestClock().now

    private static func book() throws -> RuleBook {
        try RuleBook.test(
            "rule: held\non: task_created\nfor: 5m\ndo: [{log: x}]",
            sources: [ScriptedSource("my-work", instance: "https://acme.example", clock: TestClock())])
    }

    private static func timer(_ key: String, kind: RuleTimer.Kind = .hold) -> RuleTimer {
        RuleTimer(.init(rule: "held", kind: kind, key: key), due: now)
    }

    private static func event(_ type: EventType) -> StoredEvent {
        StoredEvent(
            sequence: 1,
            event: Event(
                id: Event.ID(type: type, facts: "1"), type: type, source: "my-work", subject: "https://acme.example/a", time: now,
                data: ["task": task("a").json(source: "my-work")]))
    }

    private static func ahead(_ keys: [String]) -> ReadAhead {
        let ahead = ReadAhead()
        ahead.keep(ReadAhead.Facts(timers: Set(keys.map { timer($0) }), facts: RoutingFacts()))
        return ahead
    }

    @Test func `facts read ahead serve the timers for which they were read, and only once`() throws {
        let book = try Self.book()
        let ahead = Self.ahead(["a", "b", "c"])
        let batch = book.match([Self.timer("a"), Self.timer("b")])
        #expect(ahead.take(for: batch, by: book) != nil)
        #expect(ahead.take(for: batch, by: book) == nil)
    }

    @Test(arguments: [("d", .hold), ("a", .existing), ("", .existing)] as [(String, RuleTimer.Kind)])
    func `a timer that was set meanwhile discards the facts`(_ key: String, _ kind: RuleTimer.Kind) throws {
        let book = try Self.book()
        let ahead = Self.ahead(["a", "b"])
        #expect(ahead.take(for: book.match([Self.timer("a"), Self.timer(key, kind: kind)]), by: book) == nil)
        #expect(ahead.take(for: book.match([Self.timer("a")]), by: book) == nil)
    }

    @Test(arguments: [EventType.taskChanged, .sessionExpired])
    func `an event that can matter to timers discards the facts, another event does not`(_ type: EventType) throws {
        let book = try Self.book()
        let ahead = Self.ahead(["a"])
        #expect(ahead.take(for: book.match([Self.event(type)], since: [:]), by: book) == nil)
        #expect((ahead.take(for: book.match([Self.timer("a")]), by: book) != nil) == (type == .sessionExpired))
    }
}
