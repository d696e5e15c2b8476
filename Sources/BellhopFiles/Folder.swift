import Glibc

/// Reads, makes and removes folders.
public enum Folder {
    /// The sorted names of its entries; nil if it cannot be read.
    public static func names(in path: String) -> [String]? {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes the folder if it is missing; the folder that contains it must exist.
    public static func make(_ path: String, mode: UInt32) throws(SystemError) {
        guard mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError() }
    }

    /// Makes the folder and those that contain it, if they are missing, for their owner only.
    public static func makeAll(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try make(path, mode: 0o700)
        } catch {
            guard error.code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw error }
            try makeAll(String(path[..<slash]))
            try make(path, mode: 0o700)
        }
    }

    /// Makes a folder with a new name that only this user can read, and returns its path.
    public static func makeTemporary(in folder: String, prefix: String) throws(SystemError) -> String {
        var template = Array("\(folder)/\(prefix)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError() }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes a folder with its files.
    public static func remove(_ path: String) {
        for name in names(in: path) ?? [] { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// Syncs the folder, so that the names of new files are on disk.
    public static func sync(_ path: String) throws(SystemError) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemError() }
        defer { close(folder) }
        try Descriptor.sync(folder)
    }
}
