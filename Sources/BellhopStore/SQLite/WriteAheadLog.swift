import CSQLite
import Synchronization

/// A store's write-ahead log. SQLite reports its length after each commit; a long log is checkpointed, that is copied into the database.
///
/// SQLite itself would do this within the commit that makes the log long, while callers wait although their data is on disk. Here
/// the callers get their results first. A class over a lock, because SQLite's hook needs a stable address.
///
/// On a disk with little room, the log stays short, and the database may only grow as far as the log still fits into it and beside it.
/// Otherwise the log alone would fill the disk, and nothing could ever be deleted: that, too, is written to the log first.
final class WriteAheadLog: Sendable {
    private struct State {
        var pages: Int32 = 0
        var limitsGrowth = false
    }

    private let state = Mutex(State())
    /// The free bytes on the disk.
    private let room: @Sendable () -> UInt64
    /// Long enough that pages written by many commits go to the database only once.
    private static let long: Int32 = 4000
    /// The length at which a log is checkpointed on a disk with little room.
    private static let short: Int32 = 64
    /// With fewer free bytes a disk has little room.
    private static let littleRoom: UInt64 = 64 << 20
    /// The free bytes that are left for the log.
    private static let reserve: UInt64 = 512 << 10
    private static let pageSize: UInt64 = 4096
    /// SQLite's own limit of a database.
    private static let mostPages: UInt64 = 1_073_741_823

    init(room: @escaping @Sendable () -> UInt64) { self.room = room }

    /// Replaces SQLite's automatic checkpoints on this connection, which must be closed before this object is freed.
    func watch(_ database: Database) {
        sqlite3_wal_hook(
            database.handle,
            { log, _, _, pages in
                guard let log else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(log).takeUnretainedValue().state.withLock { $0.pages = pages }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
        limitGrowth(of: database)
    }

    /// Copies a long log into the database, as far as readers allow. If it cannot be done now, the next commit tries again.
    /// - Parameter isFull: whether the commit found the disk full: then the log is copied however short it is, which makes room in it.
    func checkpoint(_ database: Database, isFull: Bool = false) {
        let pages = state.withLock { $0.pages }
        guard isFull || pages >= Self.short else { return }
        guard isFull || pages >= Self.long || room() < Self.littleRoom else { return }
        sqlite3_wal_checkpoint_v2(database.handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        limitGrowth(of: database)
    }

    private func limitGrowth(of database: Database) {
        let free = room()
        let hasLittleRoom = free < Self.littleRoom
        // The number of pages is unknown only if the database cannot be read, which its next use reports.
        guard hasLittleRoom || state.withLock({ $0.limitsGrowth }), let pages = try? Session(database).int("PRAGMA page_count")
        else { return }
        // New pages are on the disk twice: in the log, and then in the database.
        let growth = free > Self.reserve ? (free - Self.reserve) / Self.pageSize / 2 : 0
        let most = hasLittleRoom ? UInt64(max(pages, 1)) + growth : Self.mostPages
        guard (try? database.execute("PRAGMA max_page_count = \(most)")) != nil else { return }
        state.withLock { $0.limitsGrowth = hasLittleRoom }
    }
}
