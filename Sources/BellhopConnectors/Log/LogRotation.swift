import BellhopCore
import Glibc

/// When a log file is rotated, and how many rotated files are kept: `pages.log.1` is the latest.
public struct LogRotation: Sendable, Hashable {
    /// In bytes. Only a single longer line makes a file larger.
    public var size: Int
    public var keep: Int

    public init(size: Int = 10_000_000, keep: Int = 5) {
        self.size = size
        self.keep = keep
    }

    /// Frees the path for a new file.
    func rotate(_ path: String) throws(Failure) {
        if keep < 1 {
            guard unlink(path) == 0 || errno == ENOENT else { throw Self.trouble(path, "cannot be rotated") }
            return
        }
        for number in stride(from: keep, to: 0, by: -1) {
            let older = "\(path).\(number)"
            let newer = number == 1 ? path : "\(path).\(number - 1)"
            guard rename(newer, older) == 0 || errno == ENOENT else { throw Self.trouble(path, "cannot be rotated") }
        }
    }

    /// Describes `errno` for a file. A person can fix all of these, so it is retried.
    static func trouble(_ path: String, _ what: String) -> Failure {
        let code = errno
        let reason: String
        switch code {
        case ENOSPC: reason = "the disk is full; make room, and the line will be written"
        case EDQUOT: reason = "the quota of this user is used up"
        case EACCES, EPERM: reason = "this user may not write there"
        case EROFS: reason = "the disk is mounted read-only"
        case EISDIR: reason = "it is a folder"
        case ELOOP: reason = "it is a broken link"
        case ENXIO: reason = "this pipe has no reader"
        default: reason = String(cString: strerror(code))
        }
        return Failure(.fileSystem, .retry(after: nil), "The log file \(DisplayText.line(path)) \(what): \(reason).")
    }
}

/// The folders above a file of Bellhop's own.
public enum ParentFolders {
    /// Makes the missing folders, for their owner only. False if a folder cannot be made; `errno` has the reason.
    public static func make(above path: String) -> Bool {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return true }
        let folder = String(path[..<slash])
        if mkdir(folder, 0o700) == 0 || errno == EEXIST { return true }
        guard errno == ENOENT, make(above: folder) else { return false }
        return mkdir(folder, 0o700) == 0 || errno == EEXIST
    }
}
