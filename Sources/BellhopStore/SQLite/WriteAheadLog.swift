import CSQLite
import Synchronization

/// The write-ahead log of a store, as full as SQLite says it is after each commit; it is folded into the database when it is long.
///
/// SQLite would fold it within the commit that made it long, whose callers wait meanwhile although what they wrote is on disk; here
/// they are told first. A class over a lock, because SQLite tells its length to an address that must stay.
final class WriteAheadLog: Sendable {
    private let pages = Mutex<Int32>(0)
    /// So long, pages that many commits write to go to the database once for all of them.
    private static let long: Int32 = 4000

    /// Takes the place of SQLite's own folding on this connection, which must end before this does.
    func watch(_ database: Database) {
        sqlite3_wal_hook(
            database.handle,
            { log, _, _, pages in
                guard let log else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(log).takeUnretainedValue().pages.withLock { $0 = pages }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Folds a long log into the database, as far as readers let it. Where it cannot be done now, it is after the next commit.
    func fold(_ database: Database) {
        guard pages.withLock({ $0 >= Self.long }) else { return }
        sqlite3_wal_checkpoint_v2(database.handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }
}
