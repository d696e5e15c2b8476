import CSQLite
import Synchronization

/// A store's write-ahead log. SQLite reports its length after each commit; a long log is checkpointed, that is copied into the database.
///
/// SQLite itself would do this within the commit that makes the log long, while callers wait although their data is on disk. Here
/// the callers get their results first. A class over a lock, because SQLite's hook needs a stable address.
final class WriteAheadLog: Sendable {
    private let pages = Mutex<Int32>(0)
    /// Long enough that pages written by many commits go to the database only once.
    private static let long: Int32 = 4000

    /// Replaces SQLite's automatic checkpoints on this connection, which must be closed before this object is freed.
    func watch(_ database: Database) {
        sqlite3_wal_hook(
            database.handle,
            { log, _, _, pages in
                guard let log else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(log).takeUnretainedValue().pages.withLock { $0 = pages }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Copies a long log into the database, as far as readers allow. If it cannot be done now, the next commit tries again.
    func checkpoint(_ database: Database) {
        guard pages.withLock({ $0 >= Self.long }) else { return }
        sqlite3_wal_checkpoint_v2(database.handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
}
