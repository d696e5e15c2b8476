import BellhopCore
import Glibc
import Synchronization

/// The lock of the one process that may write a store. Reading needs no lock.
///
/// A class over a mutex, so that any task can release it. The end of the object or of the process releases it too.
final class StoreLock: Sendable {
    private let held: Mutex<[Int32]>

    /// Takes the lock beside the store at `path`; throws `.busy`, naming the process that has it.
    init(path: String) throws(StoreError) {
        let lock = path + ".lock"
        // Follows no link: root would give the file at its end away.
        let descriptor = Glibc.open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw StoreFile.cannotOpen(access(lock, F_OK) == 0 ? lock : path, code)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let (code, holder) = (errno, Self.holder(descriptor))
            close(descriptor)
            guard code == EWOULDBLOCK else { throw StoreFile.cannotOpen(lock, code) }
            throw StoreError(
                .busy,
                "Another agent\(holder.map { " (process \($0))" } ?? "") holds the store \(path): stop it first, or give this one another store."
            )
        }
        fchmod(descriptor, 0o600)
        StoreFile.giveAway(descriptor, toOwnerOf: path)
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }  // shown to other processes that are refused
        held = Mutex([descriptor])
    }

    /// Locks the file itself as well: it may have other names, and the lock file may be deleted.
    ///
    /// Held until `release`, after the database is closed: closing a file releases all locks that SQLite has on it (fcntl(2)).
    func take(_ path: String) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFile.cannotOpen(path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw StoreFile.cannotOpen(path, code) }
            throw StoreError(
                .busy, "Another agent holds the store \(path) under another name: stop it first, or give this one another store.")
        }
        held.withLock { $0.append(descriptor) }
    }

    /// Whether an agent has the store now.
    static func isTaken(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
        flock(descriptor, LOCK_UN)
        return false
    }

    /// The process that may write the store now; nil if there is none, or if its lock file cannot be read.
    static func process(holding path: String) -> Int32? {
        let lock = path + ".lock"
        let descriptor = Glibc.open(lock, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // The lock of a process that has ended is not tried: that would refuse an agent that starts at the same moment.
        guard let process = holder(descriptor).flatMap({ Int32($0) }), kill(process, 0) == 0 || errno == EPERM, isTaken(lock)
        else {
            return nil
        }
        return process
    }

    deinit { release() }

    func release() {
        held.withLock { descriptors in
            for descriptor in descriptors {
                // Closing alone would leave the lock to a child process that was just being started and inherited the open file.
                flock(descriptor, LOCK_UN)
                close(descriptor)
            }
            descriptors = []
        }
    }

    private static func holder(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        let digits = bytes[..<count].prefix { $0.isASCIIDigit }
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }
}
