import BellhopCore
import BellhopFiles
import Glibc

/// The store as a file: its permissions, its existence, its folder.
enum StoreFile {
    /// Creates the file if there is none; only its owner may read it.
    static func prepare(_ path: String) throws(StoreError) {
        let isNew = access(path, F_OK) != 0
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw cannotOpen(path, errno) }
        defer { close(descriptor) }
        guard isNew else { return }
        giveAway(descriptor, toOwnerOf: PathText.folder(of: actual(path)))
        try syncFolder(of: path)
    }

    /// Lets only the owner read the store and the files that SQLite puts beside it. Called once the file is known to be a store: the file of
    /// another program keeps its mode.
    static func makePrivate(_ path: String) throws(StoreError) {
        guard chmod(path, 0o600) == 0 else { throw cannotOpen(path, errno) }
        for beside in ["-wal", "-shm"].map({ actual(path) + $0 }) where access(beside, F_OK) == 0 {
            guard chmod(beside, 0o600) == 0 else { throw cannotOpen(beside, errno) }
        }
    }

    /// Refuses a folder, a pipe or a device. Opening a pipe may wait forever.
    static func requireFile(_ path: String) throws(StoreError) {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else { return }
        if facts.st_mode & S_IFMT == S_IFDIR { throw cannotOpen(path, EISDIR) }
        throw StoreError(.cannotOpen, "The store \(path) is a pipe or a device: `store` must name a file.")
    }

    /// If root makes a file, gives it the owner and the group of what is at a path, or else of its folder, as SQLite does with its files:
    /// the agent must be able to open it later.
    static func giveAway(_ descriptor: Int32, toOwnerOf path: String) {
        var facts = stat()
        guard geteuid() == 0, stat(path, &facts) == 0 || stat(PathText.folder(of: path), &facts) == 0 else { return }
        fchown(descriptor, facts.st_uid, facts.st_gid)
    }

    /// The path without links. SQLite puts its files beside the file itself, not beside a link to it.
    private static func actual(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    /// Checks that the file exists and can be read.
    static func require(_ path: String) throws(StoreError) {
        try requireFile(path)
        guard access(path, R_OK) == 0 else {
            let code = errno
            guard code == ENOENT else { throw cannotOpen(path, code) }
            throw StoreError(
                .cannotOpen, "There is no store \(path) yet, because no agent has run here: `bellhop run` creates it.")
        }
    }

    static func isEmpty(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_size == 0
    }

    /// Whether a process was killed while it created the file, and left a rollback journal. SQLite rolls back only on a connection that
    /// may write. Once created, a store has a write-ahead log instead.
    static func isHalfCreated(_ path: String) -> Bool { access(actual(path) + "-journal", F_OK) == 0 }

    /// Whether changes wait in a write-ahead log beside the file.
    static func hasLog(_ path: String) -> Bool {
        var facts = stat()
        return stat(actual(path) + "-wal", &facts) == 0 && facts.st_size > 0
    }

    /// Whether SQLite can create the file beside the store that it needs for reading (`-shm`).
    static func canCreateBeside(_ path: String) -> Bool {
        access(PathText.folder(of: actual(path)), W_OK) == 0 && !isOnFullDisk(path)
    }

    static func cannotOpen(_ path: String, _ code: Int32) -> StoreError {
        switch code {
        case ENOENT, ENOTDIR:
            return StoreError(
                .cannotOpen,
                "The folder \(PathText.folder(of: path)) of the store \(path) does not exist: make it, or change `store`.")
        case EACCES, EPERM, EROFS:
            return StoreError(
                .cannotOpen,
                "The store \(path) cannot be opened (\(SystemError(code).text)): run this as the user who runs the agent, and let that user read and write the store and its folder."
            )
        case EISDIR: return StoreError(.cannotOpen, "The store \(path) is a folder: `store` must name a file.")
        case ENOSPC, EDQUOT: return StoreError(.full, "The disk for the store \(path) is full: make room.")
        default: return StoreError(.cannotOpen, "The store \(path) cannot be opened: \(SystemError(code).text).")
        }
    }

    /// Whether the disk has less than 64 KiB of free space.
    static func isOnFullDisk(_ path: String) -> Bool { room(path) < 65536 }

    /// The free bytes on the disk; the largest number if they are unknown.
    static func room(_ path: String) -> UInt64 {
        var facts = statvfs()
        guard statvfs(PathText.folder(of: actual(path)), &facts) == 0 else { return .max }
        return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
    }

    /// Syncs the folder, so that a new file's name is on disk.
    static func syncFolder(of path: String) throws(StoreError) {
        do throws(SystemError) { try Folder.sync(PathText.folder(of: actual(path))) } catch { throw cannotOpen(path, error.code) }
    }
}
