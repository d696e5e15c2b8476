import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopAgent

/// `event: task`: tasks that another system sends.
@Suite struct `Tasks sent by other systems` {
    private let clock = TestClock()

    private func tasks(_ type: String) throws -> SentTasks {
        let settings: JSON.Object = [
            "id": "key", "title": "name", "fields": ["version": ["path": "at", "type": .string(type)]], "updated": "version",
        ]
        return SentTasks("tickets", try ItemReading.sent(Settings(settings), source: "tickets"))
    }

    private func titles(_ context: EngineContext) async throws -> [String] {
        let scope = SentTasks.scope("tickets").id
        return try await context.store.tasks(in: [scope])[scope, default: []].map(\.title)
    }

    private static let versions: [(String, JSON, JSON, JSON)] = [
        ("int", 9, 10, 11), ("double", 1.5, 2, 2.5),
        ("timestamp", "2026-01-05T09:59:59.9+01:00", "2026-01-05T09:00:00Z", "2026-01-05T09:00:00.1Z"),
    ]

    @Test(arguments: versions)
    func `an older state of a task is ignored, and a state of the same age or newer is stored`(
        _ type: String, _ older: JSON, _ known: JSON, _ newer: JSON
    ) async throws {
        let context = EngineContext(store: try Stores.inMemory(), clock: clock, signals: Signals([]))
        let tasks = try tasks(type)
        func send(_ items: [(String, String, JSON)]) async throws {
            try await tasks.take(items.map { ["key": .string($0.0), "name": .string($0.1), "at": $0.2] }, in: context)
        }
        try await send([("a", "open", known), ("b", "open", known)])
        try await send([("a", "replayed", older), ("b", "closed", newer)])
        #expect(try await titles(context) == ["open", "closed"])
        try await send([("a", "replayed", older)])
        try await send([("a", "corrected", known)])
        #expect(try await titles(context) == ["corrected", "closed"])
        // A newer time alone is not a change.
        try await send([("a", "corrected", newer)])
        let events = try await context.store.events(EventQuery()).map(\.event.type)
        #expect(events == [.taskCreated, .taskCreated, .taskChanged, .taskChanged])
    }

    @Test func `what is read from another path has not changed, but the others may have`() async throws {
        let context = EngineContext(store: try Stores.inMemory(), clock: clock, signals: Signals([]))
        func send(_ title: String, _ second: JSON, path: JSON, as name: JSON = "name") async throws {
            let settings: JSON.Object = ["id": "key", "title": name, "fields": ["level": ["path": path, "type": "int"]]]
            let tasks = SentTasks("tickets", try ItemReading.sent(Settings(settings), source: "tickets"))
            try await tasks.take([["key": "a", "name": .string(title), "first": 1, "second": second]], in: context)
        }
        try await send("open", 5, path: "first")
        try await send("closed", 5, path: "second")
        try await send("closed", 6, path: "second")
        try await send("closed", 7, path: "second", as: "first")
        try await send("closed", 8, path: "second", as: "first")
        let events = try await context.store.events(EventQuery()).map(\.event)
        #expect(events.compactMap(\.changesInWords) == ["title: open → closed", "level: 5 → 6", "level: 6 → 7", "level: 7 → 8"])
    }

    @Test func `a version read from another path, or by another type, is not compared with the earlier one`() async throws {
        let context = EngineContext(store: try Stores.inMemory(), clock: clock, signals: Signals([]))
        func sent(by path: String) throws -> SentTasks {
            let settings: JSON.Object = [
                "id": "key", "title": "name", "fields": ["version": ["path": .string(path), "type": "int"]], "updated": "version",
            ]
            return SentTasks("tickets", try ItemReading.sent(Settings(settings), source: "tickets"))
        }
        func send(_ title: String, _ count: JSON, to tasks: SentTasks) async throws {
            try await tasks.take([["key": "a", "name": .string(title), "millis": 1_000_000, "count": count]], in: context)
        }
        try await send("open", 7, to: try sent(by: "millis"))
        let tasks = try sent(by: "count")
        try await send("closed", 8, to: tasks)
        #expect(try await titles(context) == ["closed"])
        try await send("replayed", 7, to: tasks)
        #expect(try await titles(context) == ["closed"])
        try await send("replayed", 7, to: try sent(by: "count"))
        #expect(try await titles(context) == ["closed"])
    }

    @Test func `a task with an invalid time of update is refused`() async throws {
        let context = EngineContext(store: try Stores.inMemory(), clock: clock, signals: Signals([]))
        let failure = await #expect(throws: Failure.self) {
            try await tasks("timestamp").take([["key": "a", "name": "x", "at": "yesterday"]], in: context)
        }
        #expect(failure?.remedy == .giveUp && failure?.message.contains("`at`") == true)
        #expect(try await titles(context) == [])
    }
}
