import CSQLite

/// The yardstick for the store: plain SQLite with the store's durability.
///
/// A class, because it owns a connection.
final class PlainSQLite {
    /// A value of a row.
    enum Value {
        case null
        case int(Int64)
        case text([UInt8])
        case blob([UInt8])
    }

    private var connection: OpaquePointer?

    init(_ path: String) throws {
        try check(sqlite3_open(path, &connection))
        try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768")
    }

    deinit { sqlite3_close(connection) }

    func execute(_ sql: String) throws { try check(sqlite3_exec(connection, sql, nil, nil, nil)) }

    /// The statements that create these tables and their indexes.
    func schema(of tables: [String]) throws -> [String] {
        let names = tables.map { "'\($0)'" }.joined(separator: ", ")
        return try rows("SELECT sql FROM sqlite_schema WHERE tbl_name IN (\(names)) AND sql IS NOT NULL").compactMap { row in
            if case .text(let bytes) = row[0] { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
    }

    func rows(_ sql: String) throws -> [[Value]] {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(connection, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        var rows: [[Value]] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.append((0..<sqlite3_column_count(statement)).map { value(statement, $0) })
        }
        return rows
    }

    /// Inserts rows in the open transaction.
    func insert(_ rows: ArraySlice<[Value]>, into table: String) throws {
        guard let width = rows.first?.count else { return }
        let marks = Array(repeating: "?", count: width).joined(separator: ", ")
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(connection, "INSERT INTO \(table) VALUES (\(marks))", -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        for row in rows {
            for (place, value) in row.enumerated() { bind(value, statement, Int32(place + 1)) }
            guard sqlite3_step(statement) == SQLITE_DONE else { throw failure }
            sqlite3_reset(statement)
        }
    }

    /// Runs a statement with one number for its only parameter, for each number, in the open transaction.
    func run(_ sql: String, for numbers: Range<Int64>) throws {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
        defer { sqlite3_finalize(statement) }
        for number in numbers {
            sqlite3_bind_int64(statement, 1, number)
            guard sqlite3_step(statement) == SQLITE_DONE else { throw failure }
            sqlite3_reset(statement)
        }
    }

    private func value(_ statement: OpaquePointer?, _ column: Int32) -> Value {
        let type = sqlite3_column_type(statement, column)
        if type == SQLITE_NULL { return .null }
        if type == SQLITE_INTEGER { return .int(sqlite3_column_int64(statement, column)) }
        let start = sqlite3_column_blob(statement, column)
        let bytes = [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        return type == SQLITE_BLOB ? .blob(bytes) : .text(bytes)
    }

    /// Binds a value; SQLite copies it, so the array may be freed.
    private func bind(_ value: Value, _ statement: OpaquePointer?, _ place: Int32) {
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)  // SQLITE_TRANSIENT, a macro that Swift does not see
        switch value {
        case .null: sqlite3_bind_null(statement, place)
        case .int(let number): sqlite3_bind_int64(statement, place, number)
        case .text(let bytes):
            _ = bytes.withUnsafeBytes { bytes in
                sqlite3_bind_text(
                    statement, place, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), copied)
            }
        case .blob(let bytes):
            _ = bytes.withUnsafeBytes { sqlite3_bind_blob(statement, place, $0.baseAddress, Int32($0.count), copied) }
        }
    }

    private var failure: BenchError { BenchError("SQLite: \(String(cString: sqlite3_errmsg(connection)))") }

    private func check(_ code: Int32) throws { if code != SQLITE_OK { throw failure } }
}
