import BellhopCore
import BellhopTesting
import CSQLite
import Synchronization
import Testing

@testable import BellhopStore

/// A new store on SQLite that tests can inspect and damage.
struct SQLiteUnderTest {
    let sqlite: SQLiteStore
    private let faults = StatementFaults()
    private let folder: TemporaryFolder?

    var store: any Store { sqlite }

    init(_ kind: StoreUnderTest = .inMemory) throws {
        switch kind {
        case .inMemory:
            folder = nil
            sqlite = try SQLiteStore.inMemory(faults: faults)
        case .onDisk:
            let folder = try TemporaryFolder()
            self.folder = folder
            sqlite = try SQLiteStore.open(path: folder.file("bellhop.db"), faults: faults)
        }
    }

    /// All that is stored, as text.
    func dump() async throws -> String {
        try await sqlite.read { session in
            var tables: [String] = []
            var names = try session.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            while try names.next() { tables.append(names.text(0)) }
            var text = ""
            for table in tables {
                let rows = try session.database.statement("SELECT * FROM \(table) ORDER BY 1").handle
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

    /// Makes the data of these events unreadable.
    func corruptEvents(_ places: [Int64]) async throws {
        try await sqlite.write { session in
            for place in places { try session.run("UPDATE event SET data = '{\"task\":' WHERE sequence = \(place)") }
        }
    }

    /// Makes the content of a delivery unreadable.
    func corrupt(_ delivery: Delivery.ID) async throws { try await setBody(of: delivery, to: "{}") }

    func setBody(of delivery: Delivery.ID, to body: String) async throws {
        try await sqlite.write { session in
            var statement = try session.prepare("UPDATE delivery SET body = :body WHERE name = :name")
            try statement.bind(":body", body)
            try statement.bind(":name", key: delivery.text)
            try statement.run()
        }
    }

    /// Forgets which scopes were opened, like the next process.
    func forgetOpenScopes() { sqlite.scopesInUse.withLock { $0 = [] } }

    /// Makes the n-th statement from now fail, once. Statements that only read count if `includingReads` is true.
    func fail(statement count: Int, includingReads: Bool) { faults.fail(statement: count, includingReads: includingReads) }

    func fail(statement count: Int, with code: Int32) { faults.fail(statement: count, with: code) }

    /// Ends this; whether a statement failed.
    @discardableResult
    func stopFailing() -> Bool { faults.stop().failed }
}

extension TemporaryFolder { func file(_ name: String) -> String { path + "/" + name } }
