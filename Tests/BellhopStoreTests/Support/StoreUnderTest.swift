import BellhopCore
import BellhopTesting
import CSQLite
import Testing

@testable import BellhopStore

/// The kinds of store that every conformance test runs on.
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

/// A new store and what a test needs with it.
struct Bench {
    let store: SQLiteStore
    let faults: StatementFaults
    let folder: TemporaryFolder?
    let clock = TestClock()

    var now: Timestamp { clock.now }
    func after(_ seconds: Int) -> Timestamp { clock.now + .seconds(seconds) }

    /// All rows of all tables, as text.
    func dump() async throws -> String {
        try await store.read { session in
            var tables: [String] = []
            var names = try session.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            while try names.next() { tables.append(names.text(0)) }
            var text = ""
            for table in tables {
                let rows = try session.database.statement("SELECT * FROM \(table) ORDER BY 1")
                defer { sqlite3_reset(rows) }
                while sqlite3_step(rows) == SQLITE_ROW {
                    let values = (0..<sqlite3_column_count(rows)).map { column in
                        let bytes = UnsafeRawBufferPointer(
                            start: sqlite3_column_blob(rows, column), count: Int(sqlite3_column_bytes(rows, column)))
                        return sqlite3_column_type(rows, column) == SQLITE_BLOB
                            ? bytes.map { String($0, radix: 16) }.joined() : String(decoding: bytes, as: UTF8.self)
                    }
                    text += "\(table): \(values.joined(separator: " | "))\n"
                }
            }
            return text
        }
    }

    /// The states of all deliveries, in the order of creation.
    func states() async throws -> [DeliveryState] {
        try await store.deliveries(DeliveryQuery(limit: 1000)).map(\.state)
    }

    func claim(_ limit: Int = 10, excluding: Set<String> = [], for seconds: Int = 60) async throws -> [Claim] {
        try await store.claim(limit: limit, excluding: excluding, until: after(seconds), at: now)
    }

    /// Makes the stored content of a delivery unreadable.
    func spoil(_ id: Delivery.ID) async throws {
        try await store.write { session in
            var statement = try session.prepare("UPDATE delivery SET body = '{}' WHERE name = :name")
            try statement.bind(":name", key: id.text)
            try statement.run()
        }
    }

    /// Records the outcome of a claim.
    @discardableResult
    func finish(_ claim: Claim, _ next: RetryPolicy.Next, uncertain: Bool = false, events: [Event] = []) async throws -> Bool {
        let finish = Finish(
            id: claim.delivery.id, lease: claim.lease, at: now, next: next, uncertain: uncertain, events: events)
        return try await store.finish([finish])[0]
    }
}

extension TestClock {
    /// Advances without yielding: in store tests no task sleeps on this clock.
    func pass(_ seconds: Int) async { await advance(by: .seconds(seconds)) }
}
