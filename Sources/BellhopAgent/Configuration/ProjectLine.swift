import BellhopCore
import Glibc

/// The line of bellhop.yaml that names its project. The keychain keeps logins and secrets per project, so that
/// two projects can both have a connection `snow`.
///
/// The line is in bellhop.yaml and not in the store, because logins are stored before the first run creates the store, and stay valid
/// when a store is deleted.
public enum ProjectLine {
    public static let key = "project"

    /// A new id. It begins with a letter, so that YAML does not read it as a number.
    public static func makeID() -> String { "p" + Hexadecimal.random().prefix(11) }

    /// The id in a file; nil if there is none or the file cannot be read.
    static func id(in file: String) -> String? {
        guard let bytes = try? PrivateFile.readAny(file) else { return nil }
        return ConfigurationLoader.value(of: key, in: bytes)
    }

    /// Adds the line to a bellhop.yaml, below `version`. The file keeps its mode.
    public static func add(_ id: String, to file: String) throws(SecretError) {
        let byHand = "Add the line `\(key): \(id)` to \(file) yourself, and try again."
        do throws(PrivateFile.FileError) {
            guard let new = adding(id, to: try PrivateFile.readAny(file) ?? []) else {
                throw PrivateFile.FileError(message: "\(file) has no line that begins with `version:`.")
            }
            let path = SharedFile.resolved(file)
            var facts = stat()
            let mode = stat(path, &facts) == 0 ? facts.st_mode & 0o7777 : 0o644
            try PrivateFile.write(new, to: path)
            chmod(path, mode)
        } catch {
            throw SecretError("\(error.message) \(byHand)")
        }
    }

    /// The file with the line added; nil if no place for it is found.
    static func adding(_ id: String, to bytes: [UInt8]) -> [UInt8]? {
        let newline = UInt8(ascii: "\n")
        var start = bytes.startIndex
        while start < bytes.endIndex {
            let end = bytes[start...].firstIndex(of: newline) ?? bytes.endIndex
            if bytes[start..<end].starts(with: "version:".utf8) {
                let hasReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
                var new = Array(bytes[..<end])
                new.append(newline)
                new += Array("\(key): \(id)".utf8)
                if hasReturn { new.append(UInt8(ascii: "\r")) }
                new += bytes[end...]
                return ConfigurationLoader.value(of: key, in: new) == id ? new : nil
            }
            start = end == bytes.endIndex ? end : bytes.index(after: end)
        }
        return nil
    }
}
