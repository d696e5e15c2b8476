import BellhopCore
import CSQLite

extension StoreError {
    /// Describes a failure for the user whose store is at `path`.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as DamagedValue where error.isNewer:
            self.init(.newer, "The store \(path) was written by a newer Bellhop (\(error.problem)): use that version.")
        case let error as DamagedValue:
            self.init(
                .damaged,
                "The store \(path) is damaged (\(error.problem)): stop the agent and restore a copy, or move the file away to start anew."
            )
        case let error as SQLiteError: self.init(error, path: path)
        default: self.init(.other, "The store \(path) failed: \(error).")
        }
    }

    private init(_ error: SQLiteError, path: String) {
        let reason = error.message
        switch error.primaryCode {
        case SQLITE_FULL: self.init(fullDiskWith: path)
        case SQLITE_IOERR where StoreFile.isOnFullDisk(path):
            // SQLite does not find out why it failed to create a file that it maps into memory.
            self.init(fullDiskWith: path)
        case SQLITE_READONLY where StoreFile.isHalfCreated(path):
            self.init(.damaged, "The store \(path) was not completely created: start the agent, which completes it.")
        case SQLITE_CANTOPEN where Self.hasUnreadableLog(path), SQLITE_READONLY where Self.hasUnreadableLog(path):
            self.init(
                .full,
                "The store \(path) has changes in its log `-wal`, which cannot be read on a read-only disk: copy the store with its `-wal` "
                    + "to another folder, or make the disk writable.")
        case SQLITE_IOERR, SQLITE_READONLY, SQLITE_PERM:
            self.init(
                .full,
                "The store \(path) cannot be written or read (\(reason)): check the disk and the permissions of the file and its folder."
            )
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "Another program holds the store \(path): close it, or try again later.")
        case SQLITE_INTERRUPT:
            self.init(.busy, "Reading the store \(path) was ended, because the agent stops: try again.")
        case SQLITE_CORRUPT:
            self.init(
                .damaged,
                "The store \(path) is damaged (\(reason)): stop the agent and restore a copy, or move the file away to start anew."
            )
        case SQLITE_ERROR where reason.hasPrefix("no such table") || reason.hasPrefix("no such column"):
            self.init(
                .damaged,
                "The store \(path) lacks a table or column of Bellhop (\(reason)): stop the agent and restore a copy, or move the file away to start anew."
            )
        case SQLITE_NOTADB:
            self.init(.damaged, "The file \(path) is not a Bellhop store: name another file under `store` in bellhop.yaml.")
        case SQLITE_CANTOPEN, SQLITE_AUTH:
            self.init(
                .cannotOpen, "The store \(path) cannot be opened (\(reason)): check that its folder is there and can be written.")
        default: self.init(.other, "The store \(path) failed: \(reason).")
        }
    }

    private static func hasUnreadableLog(_ path: String) -> Bool {
        StoreFile.hasLog(path) && !StoreFile.canCreateBeside(path)
    }

    private init(fullDiskWith path: String) {
        self.init(.full, "The disk with the store \(path) is full: make room; no stored data is lost.")
    }
}
