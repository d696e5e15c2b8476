public import BellhopCore
import GRDB
import Synchronization

/// The store in a SQLite file, in write-ahead mode with every commit on disk before it is answered.
///
/// A class, because it owns unique things: the connections, the queue of writers and the lock on the file. One connection writes,
/// in transactions that callers share; a few others read beside it.
public final class SQLiteStore: Sendable {
    let path: String
    let database: any DatabaseWriter
    let writing: GroupCommit
    private let lock: StoreLock?
    private let isReadOnly: Bool
    /// Nil outside tests.
    private let faults: StatementFaults?
    /// The file that was opened; nil for a store in memory.
    private let file: StoreFile.Identity?
    /// Locked while a read is handed over: a closed connection must not be touched.
    private let isClosed = Mutex(false)
    /// The scopes that this process polls; they are kept even if the clock jumps.
    let opened = Mutex<Set<Scope.ID>>([])

    private init(
        path: String, database: any DatabaseWriter, log: WriteAheadLog? = nil, lock: StoreLock?, isReadOnly: Bool,
        faults: StatementFaults?
    ) {
        self.path = path
        self.database = database
        self.lock = lock
        self.isReadOnly = isReadOnly
        file = lock == nil ? nil : StoreFile.identity(of: path)
        self.faults = faults
        writing = GroupCommit(database, log: log, faults: faults)
    }

    /// Opens the store at `path` for the agent. Creates it if there is none. Upgrades an older version's store after copying it
    /// to `PATH.schema-N`. Waits for the disk.
    ///
    /// - Throws: `.busy` when another process has it, `.newer`, `.damaged`, `.cannotOpen`, `.full`.
    public static func open(path: String) throws(StoreError) -> SQLiteStore {
        try open(path: path, migrator: Migrator(), faults: nil)
    }

    static func open(path: String, migrator: Migrator, faults: StatementFaults?) throws(StoreError) -> SQLiteStore {
        let lock = try StoreLock(path: path)
        try StoreFile.prepare(path)
        try lock.take(path)
        return try translating(path) {
            // Before anything is written, so that a foreign file stays unchanged.
            if !StoreFile.isEmpty(path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration(isReadOnly: true))
                let standing = try queue.unsafeRead { try migrator.standing(of: Session($0), path: path) }
                if case .older(let version) = standing, version > 0 { try migrator.copy(queue, at: path, version: version) }
                try queue.close()
            }
            let pool = try DatabasePool(path: path, configuration: configuration(isReadOnly: false))
            let log = WriteAheadLog()
            try pool.writeWithoutTransaction { database in
                // After opening: opening a pool sets NORMAL, which can lose a commit when the power fails.
                try database.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216")
                log.watch(database)
                try database.execute(sql: SQL.usualCache)
                let session = Session(database)
                if case .older(let version) = try migrator.standing(of: session, path: path) {
                    try migrator.migrate(session, from: version)
                }
            }
            return SQLiteStore(path: path, database: pool, log: log, lock: lock, isReadOnly: false, faults: faults)
        }
    }

    /// Opens the store at `path` for reading, whether an agent runs or not. Only the queries under *Looking* in ``Store``, notes
    /// and other reads work.
    public static func openForReading(path: String) throws(StoreError) -> SQLiteStore {
        try StoreFile.require(path)
        return try translating(path) {
            let queue = try DatabaseQueue(path: path, configuration: configuration(isReadOnly: true))
            try queue.unsafeRead { database in
                guard try Migrator().standing(of: Session(database), path: path) == .current else {
                    throw StoreError(
                        .damaged,
                        "The store \(path) was made by an older Bellhop: start the agent once, which brings it up to date.")
                }
            }
            return SQLiteStore(path: path, database: queue, lock: nil, isReadOnly: true, faults: nil)
        }
    }

    /// A store in memory, for tests and trials.
    public static func inMemory() throws(StoreError) -> SQLiteStore { try inMemory(faults: nil) }

    static func inMemory(faults: StatementFaults?) throws(StoreError) -> SQLiteStore {
        try translating("in memory") {
            let queue = try DatabaseQueue(configuration: configuration(isReadOnly: false))
            try queue.writeWithoutTransaction { try Migrator().migrate(Session($0), from: 0) }
            return SQLiteStore(path: "in memory", database: queue, lock: nil, isReadOnly: false, faults: faults)
        }
    }

    /// Finishes pending writes and releases the file and its lock. The store cannot be used afterwards.
    public func close() async throws(StoreError) {
        if !isReadOnly { await writing.close() }
        isClosed.withLock { $0 = true }
        // Readers first: only the last connection to close, if it is the writer, can fold the write-ahead log into the file.
        (database as? DatabasePool)?.invalidateReadOnlyConnections()
        try Self.translating(path) { try database.close() }
        lock?.release()
    }

    // Access.

    /// Runs work in a transaction of the writer; on disk when this returns.
    func write<Value: Sendable>(_ work: @escaping @Sendable (Session) throws -> Value) async throws(StoreError) -> Value {
        if isReadOnly { throw StoreError(.other, "The store \(path) was opened for reading only.") }
        try requirePlace()
        let result = await writing.write(work)
        if case .failure = result { try requirePlace() }
        return try Self.get(result, path)
    }

    /// Checks that the path still names the opened file: writes to a deleted file are lost.
    private func requirePlace() throws(StoreError) {
        guard let file, StoreFile.identity(of: path) != file else { return }
        throw StoreError(
            .lost,
            "The store \(path) was deleted or replaced while it was in use, so nothing can be saved now: put it back, "
                + "or restart the agent, which creates a new one if there is none.")
    }

    /// Runs work on a reader. Cancelling the caller has no effect: reads are quick, and half a read is useless.
    func read<Value: Sendable>(_ work: @escaping @Sendable (Session) throws -> Value) async throws(StoreError) -> Value {
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            isClosed.withLock { isClosed in
                guard !isClosed else {
                    let error = DatabaseError(resultCode: .SQLITE_MISUSE, message: "it is closed")
                    return continuation.resume(returning: .failure(error))
                }
                let failing = faults.flatMap { $0.countsReadings ? $0 : nil }
                database.asyncRead { access in
                    continuation.resume(
                        returning: access.flatMap { database in Result { try work(Session(database, faults: failing)) } })
                }
            }
        }
        return try Self.get(result, path)
    }

    private static func get<Value>(_ result: Result<Value, any Error>, _ path: String) throws(StoreError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw StoreError(error, path: path)
        }
    }

    private static func translating<Value>(_ path: String, _ work: () throws -> Value) throws(StoreError) -> Value {
        do { return try work() } catch { throw StoreError(error, path: path) }
    }

    private static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.label = "bellhop.store"
        configuration.readonly = isReadOnly
        configuration.foreignKeysEnabled = false  // none are declared
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(5)
        return configuration
    }
}
