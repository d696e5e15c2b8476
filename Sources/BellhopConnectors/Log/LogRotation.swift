import BellhopCore
import BellhopFiles
import Glibc

/// When a log file is rotated, and how many rotated files are kept: `pages.log.1` is the latest.
public struct LogRotation: Sendable, Hashable {
    /// In bytes. A file is larger only if a single line is.
    public var size: Int
    public var keep: Int

    public init(size: Int = 10_000_000, keep: Int = 5) {
        self.size = size
        self.keep = keep
    }

    /// Frees the path for a new file.
    func rotate(_ path: String) throws(Failure) {
        if keep < 1 {
            guard unlink(path) == 0 || errno == ENOENT else { throw Self.failure(path, "cannot be rotated") }
            return
        }
        for number in stride(from: keep, to: 0, by: -1) {
            let older = "\(path).\(number)"
            let newer = number == 1 ? path : "\(path).\(number - 1)"
            guard rename(newer, older) == 0 || errno == ENOENT else { throw Self.failure(path, "cannot be rotated") }
        }
    }

    /// The failure of a system call. It is retried, because a person can fix all of these errors.
    static func failure(_ path: String, _ what: String, _ error: SystemError = SystemError()) -> Failure {
        let reason =
            switch error.code {
            case ENOSPC: "the disk is full; make room, and the line will be written"
            case EDQUOT: "the quota of this user is used up"
            case EACCES, EPERM: "this user may not write there"
            case EROFS: "the disk is mounted read-only"
            case EISDIR: "it is a folder"
            case ELOOP: "it is a broken link"
            case ENXIO: "this pipe has no reader"
            default: error.text
            }
        return Failure(.fileSystem, .retry(after: nil), "The log file \(DisplayText.line(path)) \(what): \(reason).")
    }
}
