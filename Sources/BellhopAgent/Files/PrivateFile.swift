import BellhopCore
import BellhopFiles
import Glibc

/// Reads and writes files that only their owner may read.
public enum PrivateFile {
    public struct FileError: Error, Sendable {
        /// One sentence: what happened, where, and what to do.
        public var message: String
        /// `errno`, if a system call failed.
        var code: Int32 = 0
        /// True if writing failed.
        var isWriting = false
    }

    /// The most bytes that are read of a private file, and by default of others.
    static let largest = 1 << 20

    /// The file's bytes; nil if there is no such file. Throws if others than its owner may read or write it.
    static func read(_ path: String, limit: Int = largest) throws(FileError) -> [UInt8]? {
        try read(path, limit: limit, isPrivate: true)
    }

    /// The file's bytes, without a check of its permissions; nil if there is no such file.
    static func readAny(_ path: String, limit: Int = largest) throws(FileError) -> [UInt8]? {
        try read(path, limit: limit, isPrivate: false)
    }

    private static func read(_ path: String, limit: Int, isPrivate: Bool) throws(FileError) -> [UInt8]? {
        // Open private files without blocking: opening a pipe without a writer would block forever.
        let file = open(path, O_RDONLY | O_CLOEXEC | (isPrivate ? O_NONBLOCK : 0))
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw error("cannot read \(path)")
        }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw error("cannot look at \(path)") }
        if isPrivate, facts.st_mode & S_IFMT != S_IFREG {
            let what = facts.st_mode & S_IFMT == S_IFDIR ? "a folder" : "a pipe or a device"
            throw FileError(message: "\(path) is \(what) and not a file: move it away, or name a file.")
        }
        guard !isPrivate || facts.st_mode & 0o077 == 0 else {
            throw FileError(message: "\(path) can be read by others than its owner, so it is not used: run `chmod 600 \(path)`.")
        }
        let bytes = try rethrowing(as: { FileError("cannot read \(path)", $0) }) { () throws(SystemError) in
            try Descriptor.read(file, atMost: limit + 1)
        }
        guard bytes.count <= limit else {
            throw FileError(message: "\(path) is larger than \(limit) bytes, the most that Bellhop reads.")
        }
        return bytes
    }

    /// Replaces the file atomically, even if the system crashes. Allows one writer at a time (``exclusively(_:_:)``).
    ///
    /// The draft is always a new file. An existing one is unlinked and never written to: it may have another link,
    /// another program may hold it open, or its mode may let others read it.
    ///
    /// As far as this user may, the file keeps its owner and its group, whose agent reads it. A new file gets those of its folder.
    /// - Parameters:
    ///   - mode: the file's permissions.
    ///   - isNew: whether an existing file is an error (`EEXIST`).
    static func write(
        _ bytes: [UInt8], to path: String, mode: mode_t = 0o600, isNew: Bool = false
    ) throws(FileError) {
        let draft = path + ".new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw writingError("cannot write \(draft)") }
        giveAway(file, toOwnerOf: path)
        if mode != 0o600 { fchmod(file, mode) }
        do throws(SystemError) {
            defer { close(file) }
            try Descriptor.write(bytes, to: file)
            try Descriptor.sync(file)
        } catch {
            unlink(draft)
            throw FileError("cannot write \(draft)", error, isWriting: true)
        }
        guard (isNew ? link(draft, path) : rename(draft, path)) == 0 else {
            let refusal = writingError(isNew ? "cannot make \(path)" : "cannot replace \(path)")
            unlink(draft)
            throw refusal
        }
        if isNew { unlink(draft) }
        // The new name is on disk only once its folder is synced.
        try? Folder.sync(PathText.folder(of: path))
    }

    /// Makes the parent folders of a path, for their owner only.
    static func makeFolder(above path: String) throws(FileError) {
        try rethrowing(as: { FileError("cannot make the folder of \(path)", $0, isWriting: true) }) { () throws(SystemError) in
            try Folder.makeAll(PathText.folder(of: path))
        }
    }

    /// Gives a file the owner and the group of what is at a path, or else of its folder, as far as this user may.
    private static func giveAway(_ file: Int32, toOwnerOf path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 || stat(PathText.folder(of: path), &facts) == 0 else { return }
        if fchown(file, facts.st_uid, facts.st_gid) == 0 { return }
        // Only root gives files away; others may choose a group of their own.
        _ = fchown(file, uid_t.max, facts.st_gid)
    }

    /// Runs `work` under a lock for this path that all processes of Bellhop respect.
    ///
    /// A new lock belongs to the owner of the file, or of the folder if there is no file: after a command of root, the agent takes it, too.
    static func exclusively<Value>(_ path: String, _ work: () throws(FileError) -> Value) throws(FileError) -> Value {
        let (name, flags) = (path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
        // Only a new file is given away: an existing one may be a link to a file of another user.
        var lock = open(name, flags | O_EXCL, 0o600)
        if lock >= 0 {
            giveAway(lock, toOwnerOf: path)
        } else if errno == EEXIST {
            lock = open(name, flags, 0o600)
        }
        guard lock >= 0 else { throw writingError("cannot lock \(path)") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw writingError("cannot lock \(path)") }
        }
        return try work()
    }

    private static func writingError(_ what: String) -> FileError { FileError(what, SystemError(), isWriting: true) }

    private static func error(_ what: String) -> FileError { FileError(what, SystemError()) }
}

extension PrivateFile.FileError {
    init(_ what: String, _ error: SystemError, isWriting: Bool = false) {
        self.init(message: "Bellhop \(what): \(error.text).", code: error.code, isWriting: isWriting)
    }
}

/// A folder that only this user may enter, in a place where others may make folders too.
enum PrivateFolder {
    typealias FileError = PrivateFile.FileError

    /// Makes the folder if it is missing, and requires that it belongs to this user.
    static func make(_ path: String) throws(FileError) {
        try rethrowing(as: { FileError(message: "The folder \(path) cannot be made: \($0.text).") }) { () throws(SystemError) in
            try Folder.make(path, mode: 0o700)
        }
        guard try isOurs(path) else { throw FileError(message: "The folder \(path) was removed while it was made; try again.") }
    }

    /// Whether the folder exists. Throws if it is another user's, a link, or open to others.
    static func isOurs(_ path: String) throws(FileError) -> Bool {
        var facts = stat()
        // Links are not followed: another user could have made one.
        guard lstat(path, &facts) == 0 else { return false }
        guard facts.st_mode & S_IFMT == S_IFDIR else { throw FileError(message: "\(path) is not a folder: move it away.") }
        guard facts.st_uid == geteuid() else {
            throw FileError(
                message: "The folder \(path) belongs to another user (\(facts.st_uid)), so it is not used: remove it.")
        }
        guard facts.st_mode & 0o077 == 0 else {
            throw FileError(message: "The folder \(path) is open to others, so it is not used: run `chmod 700 \(path)`.")
        }
        return true
    }
}
