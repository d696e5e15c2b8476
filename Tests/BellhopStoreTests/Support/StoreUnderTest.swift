import BellhopCore
import BellhopTesting
import GRDB
import Testing

@testable import BellhopStore

/// A kind of store that every promise is tested on.
enum StoreUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case inMemory = "SQLite in memory"
    case onDisk = "SQLite on disk"

    var testDescription: String { rawValue }

    func make() throws -> Bench {
        let faults = StatementFaults()
        switch self {
        case .inMemory:
            return Bench(store: try SQLiteStore.inMemory(faults: faults), faults: faults, folder: nil)
        case .onDisk:
            let folder = try TemporaryFolder()
            let store = try SQLiteStore.open(path: folder.file("bellhop.db"), migrator: Migrator(), faults: faults)
            return Bench(store: store, faults: faults, folder: folder)
        }
    }
}

/// A new store with what a test needs beside it.
struct Bench {
    let store: SQLiteStore
    let faults: StatementFaults
    let folder: TemporaryFolder?
    let clock = TestClock()

    var now: Timestamp { clock.now }
    func after(_ seconds: Int) -> Timestamp { clock.now + .seconds(seconds) }

    /// All rows of all tables, as text.
    func dump() throws -> String {
        try store.database.read { database in
            var text = ""
            let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            for table in tables {
                for row in try Row.fetchAll(database, sql: "SELECT * FROM \(table) ORDER BY 1") {
                    text += "\(table): \(row.databaseValues.map(\.description).joined(separator: " | "))\n"
                }
            }
            return text
        }
    }

    /// The states of all deliveries, in the order they were made.
    func states() async throws -> [DeliveryState] {
        try await store.deliveries(DeliveryQuery(limit: 1000)).map(\.state)
    }

    func claim(_ limit: Int = 10, excluding: Set<String> = [], for seconds: Int = 60) async throws -> [Claim] {
        try await store.claim(limit: limit, excluding: excluding, until: after(seconds), at: now)
    }

    /// Makes what is to be sent unreadable.
    func spoil(_ id: Delivery.ID) async throws {
        try await store.write { session in
            var statement = try session.prepare("UPDATE delivery SET body = '{}' WHERE name = :name")
            try statement.bind(":name", key: id.text)
            try statement.run()
        }
    }

    /// Ends a claim.
    @discardableResult
    func finish(_ claim: Claim, _ next: RetryPolicy.Next, uncertain: Bool = false, events: [Event] = []) async throws -> Bool {
        let finish = Finish(
            id: claim.delivery.id, lease: claim.lease, at: now, next: next, uncertain: uncertain, events: events)
        return try await store.finish([finish])[0]
    }
}

extension TestClock {
    /// Moves on without letting anyone run: nobody sleeps by the clock of a store's test.
    func pass(_ seconds: Int) async { await advance(by: .seconds(seconds)) }
}
