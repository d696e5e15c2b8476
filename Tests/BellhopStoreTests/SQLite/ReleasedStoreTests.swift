import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopStore

/// Opening a store of each released schema: `Fixtures/schema-N.db`.
///
/// Until schema 1 is released, each change of its text needs a new file, written by this command:
///
///     BELLHOP_RECORD=1 swift test --filter ReleasedStoreTests
///
/// The file of a released schema never changes.
@Suite(.serialized) struct ReleasedStoreTests {
    private static let fixtures = Repository.root.appending(path: "Tests/BellhopStoreTests/Fixtures")

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A copy of the store of this version, which the test may change.
    private func released(_ version: Int64) async throws -> String {
        let name = "schema-\(version).db"
        let (fixture, path) = (Self.fixtures.appending(path: name), folder.file(name))
        if version == Schema.version, ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil { try await record(fixture) }
        try FileManager.default.copyItem(atPath: fixture.path, toPath: path)
        return path
    }

    /// Writes a store with a row in each table, with small pages, because every table and index has at least one.
    private func record(_ fixture: URL) async throws {
        let store = try SQLiteStore.open(path: folder.file("full.db"))
        try await StoreContents.fill(store)
        try await store.close()
        if FileManager.default.fileExists(atPath: fixture.path) { try FileManager.default.removeItem(at: fixture) }
        let database = try Database(path: folder.file("full.db"), .writing)
        try database.execute("PRAGMA page_size = 512; VACUUM INTO '\(fixture.path)'")
    }

    private func rows(_ sql: String, _ database: Database) throws -> [String] {
        var statement = try Session(database).prepare(sql)
        var rows: [String] = []
        while try statement.next() { rows.append(statement.text(0)) }
        return rows
    }

    @Test(arguments: 1...Schema.version)
    func `a store of a released version is read like one written today`(_ version: Int64) async throws {
        let store = try SQLiteStore.open(path: try await released(version))
        let today = try SQLiteStore.inMemory()
        try await StoreContents.fill(today)
        #expect(try await StoreContents(of: store) == StoreContents(of: today))
        try await store.close()
    }

    @Test func `the newest fixture has this program's schema and a row in each table`() async throws {
        let fixture = try Database(path: try await released(Schema.version), .reading)
        let today = try Database(path: ":memory:", .writing)
        try Migrator().migrate(Session(today), from: 0)
        let schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
        #expect(
            try rows(schema, fixture) == rows(schema, today), "Record it with BELLHOP_RECORD=1, if this schema is not released.")
        for table in try rows("SELECT name FROM sqlite_schema WHERE type = 'table'", fixture) {
            #expect(try Session(fixture).int("SELECT count(*) FROM \(table)") > 0, "\(table)")
        }
    }
}
