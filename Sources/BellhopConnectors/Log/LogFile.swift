import BellhopCore
import Glibc
import Synchronization

/// A file that lines are appended to, which is put aside when it has grown large enough.
///
/// A class over a lock, because it owns an open file, and lines of several deliveries must follow one another. Each line is one `write`.
/// The file is opened again when it was moved or deleted meanwhile, as other programs that rotate files do it. ``LogWriter`` calls it.
final class LogFile: Sendable {
    let path: String
    private let rotation: LogRotation
    private let places: LogPlaces
    private let file = Mutex(OpenFile())

    private struct OpenFile {
        var descriptor: Int32 = -1
        /// Whether the folder does not have the file's name on disk yet.
        var isNew = false
    }

    /// - Parameter path: its real place; see ``LogPlaces/place(of:)``.
    init(path: String, rotation: LogRotation, places: LogPlaces) {
        self.path = path
        self.rotation = rotation
        self.places = places
    }

    deinit {
        file.withLock { file in
            if file.descriptor >= 0 { close(file.descriptor) }
        }
    }

    /// Returns once the whole line is in the file, though perhaps not on disk.
    func append(_ line: [UInt8]) throws(Failure) {
        try withFile { (file: inout OpenFile) throws(Failure) in
            try open(&file, for: line.count)
            try write(line, to: file.descriptor)
        }
    }

    /// Returns once all that was appended is on disk, whatever becomes of the machine.
    func sync() throws(Failure) { try withFile { (file: inout OpenFile) throws(Failure) in try sync(&file) } }

    // Mutex.withLock loses the type of what is thrown.
    private func withFile(_ work: (inout OpenFile) throws(Failure) -> Void) throws(Failure) {
        let outcome: Result<Void, Failure> = file.withLock { file in
            do throws(Failure) { return .success(try work(&file)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    private func sync(_ file: inout OpenFile) throws(Failure) {
        guard file.descriptor >= 0 else { return }
        // A pipe or a device has no disk.
        guard fdatasync(file.descriptor) == 0 || errno == EINVAL || errno == EROFS else {
            throw trouble("cannot be kept on disk")
        }
        guard file.isNew else { return }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let descriptor = Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw trouble("cannot be kept on disk") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw trouble("cannot be kept on disk") }
        file.isNew = false
    }

    private func open(_ file: inout OpenFile, for count: Int) throws(Failure) {
        if file.descriptor >= 0, !isStill(file.descriptor) {
            close(file.descriptor)
            file.descriptor = -1
        }
        if file.descriptor < 0 { try openAnew(&file) }
        var facts = stat()
        guard fstat(file.descriptor, &facts) == 0 else { throw trouble("cannot be looked at") }
        let isRegular = facts.st_mode & S_IFMT == S_IFREG
        guard isRegular, facts.st_size > 0, Int(facts.st_size) + count > rotation.size else { return }
        try sync(&file)
        close(file.descriptor)
        file.descriptor = -1
        try rotation.rotate(path)
        try openAnew(&file)
    }

    private func openAnew(_ file: inout OpenFile) throws(Failure) {
        file.isNew = access(path, F_OK) != 0
        file.descriptor = try openFile()
    }

    /// Whether the path still leads to the file that is open.
    private func isStill(_ descriptor: Int32) -> Bool {
        var held = stat()
        var named = stat()
        return fstat(descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino
            && held.st_dev == named.st_dev
    }

    /// A pipe that nobody reads is an error, not a wait. A link is not followed: links were followed before the place was judged.
    private func openFile() throws(Failure) -> Int32 {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW
        var descriptor = Glibc.open(path, flags, 0o600)
        if descriptor < 0, errno == ENOENT {
            guard ParentFolders.make(above: path) else { throw trouble("has no folder, and none can be made") }
            descriptor = Glibc.open(path, flags, 0o600)
        }
        guard descriptor >= 0 else { throw trouble("cannot be opened") }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, !places.isOwn(facts) else {
            close(descriptor)
            throw Failure(
                .badArguments, .giveUp, "`\(DisplayText.line(path))` is no place for a log: this file is Bellhop's own.")
        }
        return descriptor
    }

    private func write(_ line: [UInt8], to descriptor: Int32) throws(Failure) {
        var written = -1
        repeat { written = Glibc.write(descriptor, line, line.count) } while written < 0 && errno == EINTR
        if written == line.count { return }
        if written < 0 { throw trouble("cannot be written") }
        takeBack(written, from: descriptor)
        errno = ENOSPC  // the one reason for which a file takes a part only
        throw trouble("cannot be written")
    }

    /// Removes the part of a line that was written before the disk was full, unless somebody else has written after it.
    private func takeBack(_ count: Int, from descriptor: Int32) {
        let end = lseek(descriptor, 0, SEEK_CUR)
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size == end else { return }
        // When this fails too, the next line begins behind the part: nothing is lost by that.
        _ = ftruncate(descriptor, end - off_t(count))
    }

    private func trouble(_ what: String) -> Failure { LogRotation.trouble(path, what) }
}
