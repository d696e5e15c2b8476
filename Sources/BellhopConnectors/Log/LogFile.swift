import BellhopCore
import Glibc
import Synchronization

/// A file that lines are appended to, which is put aside when it has grown large enough.
///
/// A class over a lock, because it owns an open file, and lines of several deliveries must follow one another. Each line is one `write`.
/// The file is opened again when it was moved or deleted meanwhile, as other programs that rotate files do it.
final class LogFile: Sendable {
    let path: String
    private let rotation: LogRotation
    private let file = Mutex(OpenFile())

    private struct OpenFile {
        var descriptor: Int32 = -1
    }

    init(path: String, rotation: LogRotation) {
        self.path = path
        self.rotation = rotation
    }

    deinit {
        file.withLock { file in
            if file.descriptor >= 0 { close(file.descriptor) }
        }
    }

    /// Returns once the whole line is in the file.
    func append(_ line: [UInt8]) throws(Failure) {
        // Mutex.withLock loses the type of what is thrown.
        let outcome: Result<Void, Failure> = file.withLock { file in
            do throws(Failure) {
                try open(&file, for: line.count)
                return .success(try write(line, to: file.descriptor))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    private func open(_ file: inout OpenFile, for count: Int) throws(Failure) {
        if file.descriptor >= 0, !isStill(file.descriptor) {
            close(file.descriptor)
            file.descriptor = -1
        }
        if file.descriptor < 0 { file.descriptor = try openFile() }
        var facts = stat()
        guard fstat(file.descriptor, &facts) == 0 else { throw trouble("cannot be looked at") }
        let isRegular = facts.st_mode & S_IFMT == S_IFREG
        guard isRegular, facts.st_size > 0, Int(facts.st_size) + count > rotation.size else { return }
        close(file.descriptor)
        file.descriptor = -1
        try rotation.rotate(path)
        file.descriptor = try openFile()
    }

    /// Whether the path still leads to the file that is open.
    private func isStill(_ descriptor: Int32) -> Bool {
        var held = stat()
        var named = stat()
        return fstat(descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino
            && held.st_dev == named.st_dev
    }

    /// A pipe that nobody reads is an error, not a wait.
    private func openFile() throws(Failure) -> Int32 {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        var descriptor = Glibc.open(path, flags, 0o600)
        if descriptor < 0, errno == ENOENT {
            try makeFolder(above: path)
            descriptor = Glibc.open(path, flags, 0o600)
        }
        guard descriptor >= 0 else { throw trouble("cannot be opened") }
        return descriptor
    }

    private func makeFolder(above path: String) throws(Failure) {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let folder = String(path[..<slash])
        if mkdir(folder, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT else { throw trouble("has no folder, and none can be made") }
        try makeFolder(above: folder)
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw trouble("has no folder, and none can be made") }
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
