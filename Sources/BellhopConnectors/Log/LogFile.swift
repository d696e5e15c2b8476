import BellhopCore
import BellhopFiles
import Glibc
import Synchronization

/// A file that lines are appended to, rotated when it is large enough.
///
/// A class with a lock, because it owns an open file, and lines of several deliveries must not mix. Each line is one `write`. If
/// another log rotator moved or deleted the file, it is reopened. ``LogWriter`` calls it.
final class LogFile: Sendable {
    let path: String
    private let rotation: LogRotation
    private let places: LogPlaces
    private let writeToDisk: @Sendable (Int32) -> Int32
    private let file = Mutex(OpenFile())

    private struct OpenFile {
        var descriptor: Int32 = -1
        /// Whether the folder must be synced too, because the file was just created.
        var isNew = false
        /// Why lines that were appended since the latest ``sync()`` may not be on disk, although their file is closed.
        var loss: Failure?
    }

    /// - Parameters:
    ///   - path: its real path; see ``LogPlaces/place(of:)``.
    ///   - writeToDisk: the system call that waits until the content of a file is on disk.
    init(
        path: String, rotation: LogRotation, places: LogPlaces,
        writeToDisk: @escaping @Sendable (Int32) -> Int32 = { fdatasync($0) }
    ) {
        (self.path, self.rotation, self.places, self.writeToDisk) = (path, rotation, places, writeToDisk)
    }

    deinit {
        file.withLock { file in
            if file.descriptor >= 0 { close(file.descriptor) }
        }
    }

    /// Returns once the whole line is in the file, perhaps not on disk yet.
    func append(_ line: [UInt8]) throws(Failure) {
        try file.withLock { file throws(Failure) in
            try open(&file, for: line.count)
            try write(line, to: file.descriptor)
        }
    }

    /// Returns once everything appended is safely on disk.
    func sync() throws(Failure) {
        try file.withLock { file throws(Failure) in
            if let loss = file.loss {
                file.loss = nil
                throw loss
            }
            try sync(&file)
        }
    }

    private func sync(_ file: inout OpenFile) throws(Failure) {
        guard file.descriptor >= 0 else { return }
        try syncContent(of: file)
        guard file.isNew else { return }
        do throws(SystemError) {
            try Folder.sync(PathText.folder(of: path))
        } catch {
            guard error.code == EINVAL else { throw failure("cannot be kept on disk", error) }
        }
        file.isNew = false
    }

    private func syncContent(of file: OpenFile) throws(Failure) {
        // A pipe or a device cannot be synced.
        guard writeToDisk(file.descriptor) == 0 || errno == EINVAL || errno == EROFS else {
            throw failure("cannot be kept on disk")
        }
    }

    private func open(_ file: inout OpenFile, for count: Int) throws(Failure) {
        if file.descriptor >= 0, !isAtPath(file.descriptor) {
            // It may have lines that no sync has covered yet.
            do throws(Failure) { try syncContent(of: file) } catch { file.loss = error }
            close(file.descriptor)
            file.descriptor = -1
        }
        if file.descriptor < 0 { try reopen(&file) }
        var facts = stat()
        guard fstat(file.descriptor, &facts) == 0 else { throw failure("cannot be examined") }
        let isRegular = facts.st_mode & S_IFMT == S_IFREG
        guard isRegular, facts.st_size > 0, Int(facts.st_size) + count > rotation.size else { return }
        try sync(&file)
        close(file.descriptor)
        file.descriptor = -1
        try rotation.rotate(path)
        try reopen(&file)
    }

    private func reopen(_ file: inout OpenFile) throws(Failure) {
        file.isNew = access(path, F_OK) != 0
        file.descriptor = try openFile()
    }

    private func isAtPath(_ descriptor: Int32) -> Bool {
        FileIdentity(of: descriptor).map { $0 == FileIdentity(of: path) } ?? false
    }

    /// Opening a pipe without a reader fails instead of waiting. Links are not followed: they were resolved before the place
    /// was checked.
    private func openFile() throws(Failure) -> Int32 {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW
        var descriptor = Glibc.open(path, flags, 0o600)
        if descriptor < 0, errno == ENOENT {
            try rethrowing(as: { failure("has no folder, and the folder cannot be made", $0) }) { () throws(SystemError) in
                try Folder.makeAll(PathText.folder(of: path))
            }
            descriptor = Glibc.open(path, flags, 0o600)
        }
        guard descriptor >= 0 else { throw failure("cannot be opened") }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, !places.isOwn(facts) else {
            close(descriptor)
            throw Failure.badArguments("`\(DisplayText.line(path))` is not a place for a log: \(LogPlaces.otherNames).")
        }
        return descriptor
    }

    private func write(_ line: [UInt8], to descriptor: Int32) throws(Failure) {
        var written = -1
        repeat { written = Glibc.write(descriptor, line, line.count) } while written < 0 && errno == EINTR
        if written == line.count { return }
        if written < 0 { throw failure("cannot be written") }
        removePart(written, from: descriptor)
        errno = ENOSPC  // the only reason for a partial write to a file
        throw failure("cannot be written")
    }

    /// Removes the part of a line that was written before the disk was full, unless another process has written after it.
    private func removePart(_ count: Int, from descriptor: Int32) {
        let end = lseek(descriptor, 0, SEEK_CUR)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size == end else { return }
        // If this fails too, the next line begins after the part: nothing is lost.
        _ = ftruncate(descriptor, end - off_t(count))
    }

    private func failure(_ what: String, _ error: SystemError = SystemError()) -> Failure {
        LogRotation.failure(path, what, error)
    }
}

/// The files that rules write to, each opened once.
///
/// A class with a lock, because deliveries that write to the same file must share it.
final class LogFiles: Sendable {
    /// The limit of open files, because rules can compute file names from values.
    private static let capacity = 32

    private let baseFolder: String
    private let places: LogPlaces
    private let rotation: LogRotation
    private let writer = LogWriter()
    /// In order of last use.
    private let open = Mutex<[LogFile]>([])

    init(baseFolder: String, places: LogPlaces, rotation: LogRotation) {
        (self.baseFolder, self.places, self.rotation) = (baseFolder, places, rotation)
    }

    /// Returns once the line is on disk in the file of that name, relative to the base folder.
    func append(_ line: [UInt8], to name: String) async throws(Failure) { try await writer.append(line, to: try file(name)) }

    private func file(_ name: String) throws(Failure) -> LogFile {
        guard !name.isEmpty, !name.hasSuffix("/"), !name.utf8.contains(0) else {
            throw Failure.badArguments("`\(DisplayText.line(name))` is not a file name.")
        }
        guard !PathText.steps(of: name).contains("..") else {
            throw Failure.badArguments(
                "A log file's path must not contain `..`, because values could lead elsewhere: `\(DisplayText.line(name))`.")
        }
        let path: String
        do throws(LogPlaces.Refusal) {
            // The real path, so that each file is open once: two rotations at the same time would lose a rotated file.
            path = try places.place(of: ConnectorEnvironment.path(name, in: baseFolder))
        } catch {
            throw Failure(
                error.isRetryable ? .fileSystem : .badArguments, error.isRetryable ? .retry(after: nil) : .giveUp,
                "`\(DisplayText.line(name))` is not a place for a log: \(error.reason).")
        }
        return open.withLock { open in
            let place = open.firstIndex { $0.path == path }
            let file = place.map { open.remove(at: $0) } ?? LogFile(path: path, rotation: rotation, places: places)
            open.append(file)
            if open.count > Self.capacity { open.removeFirst() }
            return file
        }
    }
}

/// When a log file is rotated, and how many rotated files are kept: `pages.log.1` is the latest.
public struct LogRotation: Sendable, Hashable {
    /// In bytes. A file is larger only if a single line is.
    public var size: Int
    public var keep: Int

    public init(size: Int = 10_000_000, keep: Int = 5) { (self.size, self.keep) = (size, keep) }

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
