import Glibc

/// The few file operations of the benchmarks.
enum Files {
    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Creates or replaces a file; false on failure.
    @discardableResult
    static func write(_ text: String, to path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        let bytes = Array(text.utf8)
        let count = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && count == bytes.count
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The bytes of a file.
    static func size(of path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw BenchError("\(path) cannot be found") }
        return Int(status.st_size)
    }

    /// Creates a new folder with a unique name below `parent`.
    static func makeTemporaryFolder(in parent: String) throws -> String {
        var template = Array((parent + "/bellhop-bench-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchError("no folder can be created in \(parent)") }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 else { throw BenchError("\(path) cannot be created") }
    }

    static func remove(_ folder: String) {
        if let stream = opendir(folder) {
            while let entry = readdir(stream) {
                let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name == "." || name == ".." { continue }
                let path = "\(folder)/\(name)"
                if unlink(path) != 0 { remove(path) }
            }
            closedir(stream)
        }
        rmdir(folder)
    }
}
