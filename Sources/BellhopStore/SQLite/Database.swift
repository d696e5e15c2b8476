import BellhopCore
import CSQLite

/// One connection to a SQLite database, with the statements it has prepared.
///
/// A class, because it owns the connection. One thread uses it at a time: it has no lock of its own (`SQLITE_OPEN_NOMUTEX`).
final class Database {
    let handle: OpaquePointer
    /// The prepared statements with long texts, by the address of the text, which each statement keeps alive. Hashing a long text at
    /// each use would take more time than many statements do: `store.deliveries` takes 2 % more instructions.
    private var byAddress: [UnsafeRawPointer: Statement] = [:]
    private var byText: [String: Statement] = [:]

    enum Access {
        case reading
        /// For a file that no process changes meanwhile. Creates no file beside it.
        case readingUnchanged
        case writing
    }

    /// Opens the file at `path`; `:memory:` is a database that ends with its connection.
    init(path: String, _ access: Access) throws {
        let (name, flags) =
            switch access {
            case .reading: (path, SQLITE_OPEN_READONLY)
            case .readingUnchanged: (Self.immutableURI(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            case .writing: (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            }
        Self.configure
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let handle = opened else {
            // Even if opening fails there is a connection, which holds the error.
            defer { sqlite3_close(opened) }
            throw SQLiteError(code: code, message: String(cString: opened.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)))
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, 5000)
        try defineNameKey()
        try definePacked()
        if access == .writing { try defineAuditHash() }
    }

    /// Turns off SQLite's memory statistics, once in this process: nothing reads them, and their lock at each allocation took 4 % of the
    /// time of 100,000 runs.
    private static let configure: Void = {
        let code = bellhop_sqlite_keep_no_memory_statistics()
        assert(code == SQLITE_OK, "SQLite was used before it was configured.")
    }()

    /// The path as a URI that declares the file immutable.
    private static func immutableURI(_ path: String) -> String {
        let escaped = path.unicodeScalars.map {
            "%?#".unicodeScalars.contains($0) ? "%" + String($0.value, radix: 16) : String($0)
        }
        return "file:\(escaped.joined())?immutable=1"
    }

    deinit {
        for statement in byAddress.values { sqlite3_finalize(statement.handle) }
        for statement in byText.values { sqlite3_finalize(statement.handle) }
        sqlite3_close(handle)
    }

    /// Defines the SQL function `name_key`: the short key by which an index finds the rows of a rule, a kind and a key.
    /// It must never change, because its results are stored.
    private func defineNameKey() throws {
        try define("name_key", arguments: 3) { context, count, values in
            var builder = FingerprintBuilder()
            for place in 0..<Int(count) {
                let text = sqlite3_value_text(values?[place])
                builder.add(
                    String(
                        decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(values?[place]))),
                        as: UTF8.self))
            }
            sqlite3_result_int64(context, builder.fingerprint.indexKey)
        }
    }

    /// Defines the SQL function `packed`: the 16 bytes of a name that is stored as 32 hexadecimal digits, as a column of names holds it.
    private func definePacked() throws {
        try define("packed", arguments: 1) { context, _, values in
            guard let values, let text = sqlite3_value_text(values[0]), let name = Fingerprint(hex: String(cString: text))
            else { return sqlite3_result_null(context) }
            let words = (name.high.bigEndian, name.low.bigEndian)
            withUnsafeBytes(of: words) { sqlite3_result_blob(context, $0.baseAddress, 16, Prepared.copied) }
        }
    }

    /// The size of the connection's page cache.
    var cachedBytes: Int {
        var (bytes, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &bytes, &highest, 0)
        return Int(bytes)
    }

    /// Releases the memory of cached pages that are not in use.
    func giveBackMemory() { sqlite3_db_release_memory(handle) }

    /// Defines the SQL function `audit_hash`, see ``BellhopCore/AuditRow/hash(after:number:entry:)``.
    private func defineAuditHash() throws {
        try define("audit_hash", arguments: 3) { context, _, values in
            guard let values, let previous = sqlite3_value_text(values[0]), let entry = sqlite3_value_text(values[2]) else {
                return sqlite3_result_null(context)
            }
            let hash = AuditRow.hash(
                after: String(cString: previous), number: sqlite3_value_int64(values[1]), entry: String(cString: entry))
            sqlite3_result_text(context, hash, -1, Prepared.copied)
        }
    }

    private func define(
        _ name: String, arguments: Int32,
        _ function: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
    ) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(handle, name, arguments, flags, nil, function, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure() }
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// The statement with this text, prepared on first use.
    func statement(_ sql: String) throws -> Statement {
        // A shorter text may be stored inside the string value, without an address.
        let address = sql.utf8.count < 32 ? nil : sql.utf8.withContiguousStorageIfAvailable { UnsafeRawPointer($0.baseAddress) }
        if let address = address ?? nil {
            if let statement = byAddress[address] { return statement }
            let statement = try prepare(sql)
            byAddress[address] = statement
            return statement
        }
        if let statement = byText[sql] { return statement }
        let statement = try prepare(sql)
        byText[sql] = statement
        return statement
    }

    private func prepare(_ sql: String) throws -> Statement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw failure() }
        return Statement(sql: sql, handle: prepared)
    }

    /// A prepared statement.
    ///
    /// A class, because each use of the statement may add positions of its parameters.
    final class Statement {
        let sql: String
        let handle: OpaquePointer
        /// The positions of its parameters, in the order in which they are bound.
        var places: [Int32] = []

        fileprivate init(sql: String, handle: OpaquePointer) {
            self.sql = sql
            self.handle = handle
        }
    }

    /// Whether a transaction is open. If the disk is full, SQLite itself ends it.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// The connection's latest error.
    func failure() -> SQLiteError {
        SQLiteError(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }

    /// Runs work that only reads, in one transaction, so that all of it sees the same state of the database.
    ///
    /// - Parameter end: makes statements that take long fail once it is raised (`SQLITE_INTERRUPT`).
    func reading<Value>(until end: StopFlag? = nil, _ work: (Database) throws -> Value) throws -> Value {
        try execute("BEGIN DEFERRED")
        do {
            let value = try interrupting(at: end, work)
            try execute("COMMIT")
            return value
        } catch {
            // The first error is the one to throw; if the rollback fails too, SQLite has already rolled back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    private func interrupting<Value>(at end: StopFlag?, _ work: (Database) throws -> Value) throws -> Value {
        guard let end else { return try work(self) }
        sqlite3_progress_handler(
            handle, 1000, { Unmanaged<StopFlag>.fromOpaque($0!).takeUnretainedValue().isRaised ? 1 : 0 },
            Unmanaged.passUnretained(end).toOpaque())
        defer { withExtendedLifetime(end) { sqlite3_progress_handler(handle, 0, nil, nil) } }
        return try work(self)
    }

    /// Copies the present state of the whole database into another one.
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

    /// Whether another program holds the file.
    var isBusy: Bool { primaryCode == SQLITE_BUSY }

    /// Whether the disk is full, or the database may not grow.
    var isFull: Bool { primaryCode == SQLITE_FULL }

    /// Whether a file could not be opened or written.
    var concernsDisk: Bool {
        [SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_PERM].contains(primaryCode)
    }
}
