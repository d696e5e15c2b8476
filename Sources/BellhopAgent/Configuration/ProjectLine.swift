import BellhopCore

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

    /// Adds the line to a bellhop.yaml, below `version`; false if it has one, because another command was faster. The file keeps its mode.
    /// - Parameter keychain: its lock lets only one command at a time add a line.
    public static func add(_ id: String, to file: String, for keychain: Keychain) throws(SecretError) -> Bool {
        let added = try rethrowing(as: SecretError.init) { () throws(PrivateFile.FileError) in
            try keychain.exclusively { _ -> Result<Bool, PrivateFile.FileError> in
                do throws(PrivateFile.FileError) { return .success(try add(id, to: file)) } catch { return .failure(error) }
            }
        }
        do throws(PrivateFile.FileError) { return try added.get() } catch {
            throw SecretError("\(error.message) Add the line `\(key): \(id)` to \(file) yourself, and try again.")
        }
    }

    private static func add(_ id: String, to file: String) throws(PrivateFile.FileError) -> Bool {
        let present = try PrivateFile.readAny(file) ?? []
        if ConfigurationLoader.value(of: key, in: present) != nil { return false }
        guard let new = adding(id, to: present) else {
            throw PrivateFile.FileError(message: "\(file) has no line that begins with `version:`.")
        }
        guard try SharedFile.replace(file, with: new, if: { $0 == present }) else {
            throw PrivateFile.FileError(message: "\(file) was changed at the same time.")
        }
        return true
    }

    /// The file with the line added; nil if no place for it is found.
    static func adding(_ id: String, to bytes: [UInt8]) -> [UInt8]? {
        let newline = UInt8(ascii: "\n")
        // Editors may begin a file with UTF-8's byte order mark.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var start = bytes.starts(with: mark) ? mark.count : 0
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
