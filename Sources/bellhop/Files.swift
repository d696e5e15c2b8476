import BellhopAgent
import Glibc

enum Files {
    static func exist(_ path: String) -> Bool { identity(of: path) != nil }

    /// Identifies a file, whatever its path.
    struct Identity: Hashable {
        var device: UInt
        var number: UInt
    }

    /// The file at a path; nil if there is none.
    static func identity(of path: String) -> Identity? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        return Identity(device: UInt(facts.st_dev), number: UInt(facts.st_ino))
    }

    /// Writes a new file; false if it exists already.
    static func create(_ path: String, _ text: String, mode: mode_t = 0o644) throws(CommandError) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else {
            if errno == EEXIST { return false }
            throw failure(path, "written")
        }
        try write(text, to: file, path, isNew: true)
        return true
    }

    /// Writes a file, or replaces what it holds.
    static func write(_ text: String, to path: String) throws(CommandError) {
        let isNew = access(path, F_OK) != 0
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw failure(path, "written") }
        try write(text, to: file, path, isNew: isNew)
    }

    /// Writes and closes a file. Removes a new file that cannot be written, as on a full disk.
    private static func write(_ text: String, to file: Int32, _ path: String, isNew: Bool) throws(CommandError) {
        let error = Descriptor.write(Array(text.utf8), to: file)
        close(file)
        guard let error else { return }
        if isNew { unlink(path) }
        throw failure(path, "written", error)
    }

    private static func failure(_ path: String, _ verb: String, _ error: Int32 = errno) -> CommandError {
        CommandError(.inputOutput, "\(path) cannot be \(verb): \(String(cString: strerror(error))).")
    }

    /// The text of a file; bytes that are not UTF-8 are replaced.
    static func read(_ path: String) throws(CommandError) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path, "read") }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path, "read") }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }

    static func makeFolder(_ path: String) throws(CommandError) {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw CommandError(.inputOutput, "The folder \(path) cannot be made: \(String(cString: strerror(errno))).")
        }
    }

    /// Makes a folder with a new name that only this user can read.
    static func makeTemporaryFolder(in folder: String, prefix: String) throws(CommandError) -> String {
        var template = Array("\(folder)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandError(.cannotCreate, "No folder can be made in \(folder): \(String(cString: strerror(errno))).")
        }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes a folder with its files.
    static func removeFolder(_ path: String) {
        for name in Folder.names(in: path) ?? [] { unlink("\(path)/\(name)") }
        rmdir(path)
    }
}
