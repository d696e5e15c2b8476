import BellhopCore
import BellhopFiles
import Glibc

enum Files {
    static func exist(_ path: String) -> Bool { FileIdentity(of: path) != nil }

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
        do throws(SystemError) {
            defer { close(file) }
            try Descriptor.write(Array(text.utf8), to: file)
        } catch {
            if isNew { unlink(path) }
            throw failure(path, "written", error)
        }
    }

    private static func failure(_ path: String, _ verb: String, _ error: SystemError = SystemError()) -> CommandError {
        CommandError(.inputOutput, "\(path) cannot be \(verb): \(error.text).")
    }

    /// The text of a file; bytes that are not UTF-8 are replaced.
    static func read(_ path: String) throws(CommandError) -> String {
        try rethrowing(as: { failure(path, "read", $0) }) { () throws(SystemError) in
            String(decoding: try Descriptor.read(at: path), as: UTF8.self)
        }
    }

    static func makeFolder(_ path: String) throws(CommandError) {
        do throws(SystemError) {
            try Folder.make(path, mode: 0o755)
        } catch {
            throw CommandError(.inputOutput, "The folder \(path) cannot be made: \(error.text).")
        }
    }

    /// Makes a folder with a new name that only this user can read.
    static func makeTemporaryFolder(in folder: String, prefix: String) throws(CommandError) -> String {
        do throws(SystemError) {
            return try Folder.makeTemporary(in: folder, prefix: prefix)
        } catch {
            throw CommandError(.cannotCreate, "No folder can be made in \(folder): \(error.text).")
        }
    }
}
