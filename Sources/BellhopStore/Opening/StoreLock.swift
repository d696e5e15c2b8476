import BellhopCore
import Glibc
import Synchronization

/// The right to write a store, which one process at a time has.
///
/// A class over a lock, so that letting go of it, or releasing it from any task, lets go of the right; the end of the process does
/// so too, however it comes. Those who only look at the store do without.
final class StoreLock: Sendable {
    private let held: Mutex<Int32?>

    /// Takes the lock beside the store at `path`; throws `.busy`, naming the process that has it.
    init(path: String) throws(StoreError) {
        let lock = path + ".lock"
        let descriptor = Glibc.open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFile.cannotOpen(path, errno) }
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
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }  // only a courtesy to whoever is refused
        held = Mutex(descriptor)
    }

    deinit { release() }

    func release() {
        held.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }

    private static func holder(_ descriptor: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        let digits = bytes[..<count].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }
}
