import BellhopCore
import BellhopFiles
import Synchronization

/// The store in a SQLite file, in write-ahead mode; every commit is on disk before the caller continues.
///
/// A class, because it owns unique things: the connections, the queue of writers and the lock on the file. One connection writes,
/// in transactions that callers share; a few others read beside it.
final class SQLiteStore: Sendable {
    let path: String
    let connections: Connections
    let writing: GroupCommit
    private let lock: StoreLock?
    private let isReadOnly: Bool
    /// Nil outside tests.
    private let faults: StatementFaults?
    /// The executor of the writing thread; nil for a store in memory, which needs none.
    let executor: (any TaskExecutor)?
    /// The scopes that this process uses; they are not pruned, however old they are, and however far its clock jumps.
    let scopesInUse = Mutex<Set<Scope.ID>>([])
    let cache = Mutex(TaskCache())

    private init(
        path: String, connections: Connections, log: WriteAheadLog? = nil, lock: StoreLock?, isReadOnly: Bool,
        faults: StatementFaults?
    ) {
        self.path = path
        self.connections = connections
        self.lock = lock
        self.isReadOnly = isReadOnly
        // Nil for a store in memory.
        let file = lock == nil ? nil : FileIdentity(of: path)
        self.faults = faults
        executor = lock == nil ? nil : connections.executor
        writing = GroupCommit(connections, log: log, faults: faults) { [path, file] in
            if let file, FileIdentity(of: path) != file { throw Self.lost(path) }
        }
    }

    /// - Parameter room: the free bytes on the disk; by default those that the system states.
    static func open(
        path: String, migrator: Migrator = Migrator(), faults: StatementFaults? = nil, room: (@Sendable () -> UInt64)? = nil
    ) throws(StoreError) -> SQLiteStore {
        try StoreFile.requireFile(path)
        let lock = try StoreLock(path: path)
        try StoreFile.prepare(path)
        try lock.take(path)
        return try translating(path) {
            if StoreFile.isHalfCreated(path) { try Database(path: path, .writing).execute("SELECT count(*) FROM sqlite_master") }
            // Check before writing, so that the file of another program stays unchanged.
            if !StoreFile.isEmpty(path) {
                let database = try Database(path: path, .reading)
                let state = try migrator.state(of: Session(database), path: path)
                if case .older(let version) = state, version > 0 { try migrator.copy(database, at: path, version: version) }
            }
            try StoreFile.makePrivate(path)
            let database = try Database(path: path, .writing)
            // With less than FULL a commit may be lost when the power fails.
            try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216")
            try database.execute(SQL.cacheSize)
            let session = Session(database)
            if case .older(let version) = try migrator.state(of: session, path: path) {
                try migrator.migrate(session, from: version)
            }
            let log = WriteAheadLog(room: room ?? { StoreFile.room(path) })
            log.watch(database)
            return SQLiteStore(
                path: path, connections: Connections(database, path: path, hasReaders: true), log: log, lock: lock,
                isReadOnly: false, faults: faults)
        }
    }

    static func openForReading(path: String) throws(StoreError) -> SQLiteStore {
        try StoreFile.require(path)
        return try translating(path) {
            let (database, state) = try readable(path)
            guard state == .current else {
                throw StoreError(
                    .damaged, "The store \(path) was made by an older Bellhop: start the agent once, which upgrades it.")
            }
            let connections = Connections(database, path: path, hasReaders: false)
            return SQLiteStore(path: path, connections: connections, lock: nil, isReadOnly: true, faults: nil)
        }
    }

    /// Opens the file for reading, even on a read-only disk. There SQLite cannot create the file that it needs beside the database. It needs
    /// none if the database does not change: if no agent runs and there is no write-ahead log.
    private static func readable(_ path: String) throws -> (database: Database, state: Migrator.State) {
        do {
            let database = try Database(path: path, .reading)
            return (database, try Migrator().state(of: Session(database), path: path))
        } catch let error as SQLiteError where error.concernsDisk && !StoreFile.canCreateBeside(path) {
            guard !StoreFile.hasLog(path), !StoreLock.isTaken(path) else { throw error }
            let database = try Database(path: path, .readingUnchanged)
            return (database, try Migrator().state(of: Session(database), path: path))
        }
    }

    static func inMemory(faults: StatementFaults? = nil) throws(StoreError) -> SQLiteStore {
        try translating("in memory") {
            let database = try Database(path: ":memory:", .writing)
            try Migrator().migrate(Session(database), from: 0)
            let connections = Connections(database, path: ":memory:", hasReaders: false)
            return SQLiteStore(path: "in memory", connections: connections, lock: nil, isReadOnly: false, faults: faults)
        }
    }

    func giveBackMemory() async {
        cache.withLock { $0.forgetUnneeded() }
        await connections.giveBackMemory()
    }

    func close() async throws(StoreError) {
        if !isReadOnly { await writing.close() }
        connections.close()
        lock?.release()
    }

    // Access.

    /// Runs work in a transaction of the writer; its changes are on disk when this returns.
    func write<Value: Sendable>(
        stored: @escaping @Sendable (Value) -> Void = { _ in }, _ work: @escaping @Sendable (Session) throws -> Value
    ) async throws(StoreError) -> Value { try get(try await attempt(stored: stored, work)) }

    /// Runs work like ``write(stored:_:)``, but returns an error of the work unchanged.
    func attempt<Value: Sendable>(
        stored: @escaping @Sendable (Value) -> Void = { _ in }, _ work: @escaping @Sendable (Session) throws -> Value
    ) async throws(StoreError) -> Result<Value, any Error> {
        if isReadOnly { throw StoreError(.other, "The store \(path) was opened for reading only.") }
        return await writing.write(stored: stored, work)
    }

    private static func lost(_ path: String) -> StoreError {
        StoreError(
            .lost,
            "The store \(path) was deleted or replaced while it was in use, so nothing can be saved now: restore the file, "
                + "or restart the agent, which creates a new one if there is none.")
    }

    /// Runs work on a reader. Cancelling the caller has no effect: half a read is useless.
    func read<Value: Sendable>(
        _ kind: Connections.ReadKind = .short, _ work: @escaping @Sendable (Session) throws -> Value
    ) async throws(StoreError) -> Value {
        let failing = faults.flatMap { $0.countsReads ? $0 : nil }
        if kind == .here, let result = connections.readHere({ try work(Session($0, faults: failing)) }) {
            return try get(result)
        }
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            connections.read(kind) {
                try work(Session($0, faults: failing))
            } then: {
                continuation.resume(returning: $0)
            }
        }
        return try get(result)
    }

    func get<Value>(_ result: Result<Value, any Error>) throws(StoreError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw StoreError(error, path: path)
        }
    }

    private static func translating<Value>(_ path: String, _ work: () throws -> Value) throws(StoreError) -> Value {
        do { return try work() } catch { throw StoreError(error, path: path) }
    }
}
