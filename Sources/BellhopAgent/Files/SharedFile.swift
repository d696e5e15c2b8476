import Glibc
import Synchronization

/// Files that both Bellhop and people edit.
enum SharedFile {
    private static let turn = Mutex(())

    /// Replaces a file atomically and keeps its mode, if `fits` accepts its present bytes; otherwise returns false. Of a link, it replaces
    /// the target.
    static func replace(
        _ path: String, with bytes: [UInt8], if fits: ([UInt8]) -> Bool
    ) throws(PrivateFile.FileError) -> Bool {
        try turn.withLock { _ throws(PrivateFile.FileError) in
            let target = resolved(path)
            var facts = stat()
            guard stat(target, &facts) == 0, let present = try PrivateFile.readAny(target, limit: 8 << 20), fits(present)
            else { return false }
            try PrivateFile.write(bytes, to: target, mode: facts.st_mode & 0o777)
            return true
        }
    }

    /// Makes a file that others may read; false if there is one already, also a link.
    static func make(_ path: String, with bytes: [UInt8]) throws(PrivateFile.FileError) -> Bool {
        try turn.withLock { _ throws(PrivateFile.FileError) in
            do throws(PrivateFile.FileError) {
                try PrivateFile.write(bytes, to: path, mode: 0o644, isNew: true)
                return true
            } catch {
                if error.code == EEXIST { return false }
                throw error
            }
        }
    }

    /// Whether anything has this path.
    static func exists(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    /// Whether the path itself is a link, also to a file that is missing.
    static func isLink(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK
    }

    /// The first link among the folders of a path and the path itself, and the rest of the path after it; nil if there is none.
    static func firstLink(on path: String) -> (link: String, rest: String)? {
        ends(on: path).first { isLink(String(path[..<$0])) }.map { (link: String(path[..<$0]), rest: String(path[$0...])) }
    }

    /// The first of the folders of a path and the path itself that does not exist; nil if all do.
    static func firstMissing(on path: String) -> String? { ends(on: path).map { String(path[..<$0]) }.first { !exists($0) } }

    /// Where the folders of a path and the path itself end.
    private static func ends(on path: String) -> [String.Index] {
        let bytes = path.utf8
        return bytes.indices.dropFirst().filter { bytes[$0] == UInt8(ascii: "/") } + [bytes.endIndex]
    }

    /// The path in a link; nil if there is no link.
    static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// The absolute path without links; the given path if there is no such file.
    static func resolved(_ path: String) -> String {
        guard let pointer = realpath(path, nil) else { return path }
        defer { free(pointer) }
        return String(cString: pointer)
    }
}
