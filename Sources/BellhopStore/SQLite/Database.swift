import CSQLite

/// One connection to a SQLite database, with the statements it has prepared.
///
/// A class, because it owns the connection. One thread uses it at a time: it has no lock of its own (`SQLITE_OPEN_NOMUTEX`).
final class Database {
    let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    enum Access {
        case reading
        case writing
    }

    /// Opens the file at `path`; `:memory:` is a database that ends with its connection.
    init(path: String, _ access: Access) throws {
        let flags = access == .reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let handle = opened else {
            // Even if opening fails there is a connection, which holds the error.
            defer { sqlite3_close(opened) }
            throw SQLiteError(code: code, message: String(cString: opened.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)))
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, 5000)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// The statement with this text, prepared on first use.
    func statement(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let statement = prepared else { throw failure() }
        statements[sql] = statement
        return statement
    }

    /// Whether a transaction is open. If the disk is full, SQLite itself ends it.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// The connection's latest error.
    func failure() -> SQLiteError {
        SQLiteError(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }

    /// Runs work that only reads, in one transaction, so that all of it sees the same state of the database.
    func reading<Value>(_ work: (Database) throws -> Value) throws -> Value {
        try execute("BEGIN DEFERRED")
        do {
            let value = try work(self)
            try execute("COMMIT")
            return value
        } catch {
            // The first error is the one to throw; if the rollback fails too, SQLite has already rolled back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// Copies the whole database, as it is now, into another one.
    func copy(to other: Database) throws {
        guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else { throw other.failure() }
        let code = sqlite3_backup_step(backup, -1)
        guard sqlite3_backup_finish(backup) == SQLITE_OK, code == SQLITE_DONE else { throw other.failure() }
    }
}

/// Why SQLite failed.
struct SQLiteError: Error, Sendable, Hashable {
    /// The extended result code (https://sqlite.org/rescode.html).
    var code: Int32
    var message: String

    static let closed = SQLiteError(code: SQLITE_MISUSE, message: "it is closed")

    /// The primary result code, which the extended one refines.
    var primaryCode: Int32 { code & 0xff }
}
