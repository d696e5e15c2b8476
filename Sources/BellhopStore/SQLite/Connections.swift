import BellhopCore
import Dispatch
import Synchronization

/// The connections to a database: one that writes, and a few that read beside it. A database in memory has one for both.
///
/// A class, because it owns them. Work runs on its connection's queue, so that cancelling a task does not stop it.
final class Connections: Sendable {
    typealias Access = Result<Database, any Error>

    enum ReadKind: Sendable {
        /// A few rows, on the caller's own thread if a connection is free.
        case here
        /// The agent's own work.
        case short
        /// Many rows: short reads do not wait for it.
        case long
        /// A long read that ``endReadsForPeople()`` ends. Reads of other kinds do not wait for it.
        case forPeople

        var isLong: Bool { self == .long || self == .forPeople }
    }

    /// A connection, and the only queue on which it is used.
    ///
    /// Unchecked, because the compiler cannot see that only the queue touches the connection.
    private final class Connection: @unchecked Sendable {
        private var database: Database?
        let queue: DispatchQueue

        init(_ database: Database, label: String) {
            self.database = database
            queue = DispatchQueue(label: label)
        }

        private var access: Access { database.map { .success($0) } ?? .failure(SQLiteError.closed) }

        func run(_ work: @escaping @Sendable (Access) -> Void) { queue.async { [self] in work(access) } }

        func run(after delay: DispatchTimeInterval, _ work: @escaping @Sendable (Access) -> Void) {
            queue.asyncAfter(deadline: .now() + delay) { [self] in work(access) }
        }

        /// Runs work on the caller's own thread, after all queued work; at once if the connection is free.
        func runHere(_ work: (Access) -> Void) { queue.sync { work(access) } }

        /// Closes the connection once its queue is empty.
        func close() { queue.sync { database = nil } }
    }

    private struct Reading: Sendable {
        let kind: ReadKind
        let run: @Sendable (Access) -> Void
    }

    private struct Readers {
        var free: [Connection] = []
        var all: [Connection] = []
        /// The number of readers, including those that are being opened.
        var count = 0
        /// How many of them do long reads.
        var long = 0
        var forPeople = 0
        var waiting: [Reading] = []
        var waitingLong: [Reading] = []
        var isClosed = false

        func admits(_ kind: ReadKind) -> Bool {
            !kind.isLong || long < maxLong && (kind != .forPeople || forPeople < maxForPeople)
        }

        /// Counts a read that begins (1) or has ended (-1).
        mutating func note(_ kind: ReadKind, _ change: Int) {
            if kind.isLong { long += change }
            if kind == .forPeople { forPeople += change }
        }

        /// The next read for a reader that has become free.
        mutating func next() -> Reading? {
            if !waiting.isEmpty { return waiting.removeFirst() }
            guard let place = waitingLong.firstIndex(where: { admits($0.kind) }) else { return nil }
            let reading = waitingLong.remove(at: place)
            note(reading.kind, 1)
            return reading
        }

        mutating func takeWaiting() -> [Reading] {
            defer { (waiting, waitingLong) = ([], []) }
            return waiting + waitingLong
        }
    }

    /// When and where a read runs.
    private enum Placement {
        case now(Connection)
        case onNewConnection
        case later
        /// The connections are closed.
        case never
    }

    private static let maxReaders = 4
    /// Long reads leave a reader free for the agent's own reads.
    private static let maxLong = 3
    /// Reads for people leave one free for the status, by which a supervisor sees that the agent is alive.
    private static let maxForPeople = 2

    private let path: String
    private let writer: Connection
    private let hasReaders: Bool
    private let readers = Mutex(Readers())
    private let endOfReadsForPeople = StopFlag()

    /// - Parameter hasReaders: whether other connections may read while the first one writes; only a file in write-ahead mode allows it.
    init(_ first: Database, path: String, hasReaders: Bool) {
        self.path = path
        self.hasReaders = hasReaders
        writer = Connection(first, label: "bellhop.store.writer")
    }

    /// Runs tasks on the thread of the connection that writes, between its transactions.
    var executor: any TaskExecutor { BorrowedThread { [writer] in writer.queue.async(execute: $0) } }

    /// Runs work on the connection that writes, after the work before it.
    func write(_ work: @escaping @Sendable (Access) -> Void) { writer.run(work) }

    func write(after delay: DispatchTimeInterval, _ work: @escaping @Sendable (Access) -> Void) { writer.run(after: delay, work) }

    /// Runs work on a connection that reads; the work sees the database as of one moment.
    func read<Value: Sendable>(
        _ kind: ReadKind, _ work: @escaping @Sendable (Database) throws -> Value,
        then: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let end = kind == .forPeople ? endOfReadsForPeople : nil
        let reading = Reading(kind: kind) { access in then(Result { try access.get().reading(until: end, work) }) }
        guard hasReaders else { return writer.run(reading.run) }
        switch place(reading) {
        case .now(let connection): run(reading, on: connection)
        case .later: break
        case .never: reading.run(.failure(SQLiteError.closed))
        case .onNewConnection:
            do {
                let connection = Connection(try Database(path: path, .reading), label: "bellhop.store.reader")
                let isClosed = readers.withLock { readers in
                    if !readers.isClosed { readers.all.append(connection) }
                    return readers.isClosed
                }
                if isClosed {
                    connection.close()
                    reading.run(.failure(SQLiteError.closed))
                } else {
                    run(reading, on: connection)
                }
            } catch {
                let stranded = readers.withLock { readers in
                    readers.count -= 1
                    readers.note(reading.kind, -1)
                    // Without a reader that becomes free, nothing would end their wait.
                    return readers.count == 0 ? readers.takeWaiting() : []
                }
                for reading in [reading] + stranded { reading.run(.failure(error)) }
            }
        }
    }

    /// Runs short work on the caller's own thread if a reader is free, which is faster than waking another thread; otherwise returns nil.
    func readHere<Value>(_ work: (Database) throws -> Value) -> Result<Value, any Error>? {
        guard hasReaders, let connection = readers.withLock({ $0.isClosed ? nil : $0.free.popLast() }) else { return nil }
        var result: Result<Value, any Error>?
        connection.runHere { access in result = Result { try access.get().reading(work) } }
        release(connection, after: .here)
        return result
    }

    /// Releases the page cache of every connection, after its queued work.
    func giveBackMemory() async {
        for connection in readers.withLock(\.all) + [writer] {
            await withCheckedContinuation { continuation in
                connection.run { access in
                    if case .success(let database) = access { database.giveBackMemory() }
                    continuation.resume()
                }
            }
        }
    }

    private func place(_ reading: Reading) -> Placement {
        readers.withLock { readers in
            if readers.isClosed { return .never }
            guard readers.admits(reading.kind), !readers.free.isEmpty || readers.count < Self.maxReaders else {
                if reading.kind.isLong { readers.waitingLong.append(reading) } else { readers.waiting.append(reading) }
                return .later
            }
            readers.note(reading.kind, 1)
            if let connection = readers.free.popLast() { return .now(connection) }
            readers.count += 1
            return .onNewConnection
        }
    }

    private func run(_ reading: Reading, on connection: Connection) {
        connection.run { [self] access in
            reading.run(access)
            release(connection, after: reading.kind)
        }
    }

    /// Gives a connection to the next waiting read, or marks it as free.
    private func release(_ connection: Connection, after kind: ReadKind) {
        let next: Reading? = readers.withLock { readers in
            readers.note(kind, -1)
            if let next = readers.next() { return next }
            readers.free.append(connection)
            return nil
        }
        if let next { run(next, on: connection) }
    }

    /// Ends the reads for people that take long, also those that begin later.
    func endReadsForPeople() { endOfReadsForPeople.raise() }

    /// Closes all connections once their work is done; waiting reads fail. The writer is closed last, which moves the
    /// write-ahead log into the file.
    func close() {
        let (connections, waiting) = readers.withLock { readers in
            readers.isClosed = true
            return (readers.all, readers.takeWaiting())
        }
        for connection in connections { connection.close() }
        for reading in waiting { reading.run(.failure(SQLiteError.closed)) }
        writer.close()
    }
}
