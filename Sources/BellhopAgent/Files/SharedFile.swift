import Glibc
import Synchronization

/// Files that people edit, too.
enum SharedFile {
    private static let turn = Mutex(())

    /// Replaces a file atomically and keeps its mode, if its present bytes fit; false if they do not. A link stays: its target is
    /// replaced.
    static func replace(
        _ path: String, with bytes: [UInt8], if fits: ([UInt8]) -> Bool
    ) throws(PrivateFile.FileError) -> Bool {
        let result: Result<Bool, PrivateFile.FileError> = turn.withLock { _ in
            do throws(PrivateFile.FileError) {
                let target = resolved(path)
                var facts = stat()
                guard stat(target, &facts) == 0, let present = try PrivateFile.readAny(target, limit: 8 << 20), fits(present)
                else { return .success(false) }
                try PrivateFile.write(bytes, to: target, mode: facts.st_mode & 0o777)
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Makes a file that others may read; false if there is one already, also a link.
    static func make(_ path: String, with bytes: [UInt8]) throws(PrivateFile.FileError) -> Bool {
        let result: Result<Bool, PrivateFile.FileError> = turn.withLock { _ in
            do throws(PrivateFile.FileError) {
                try PrivateFile.write(bytes, to: path, mode: 0o644, isNew: true)
                return .success(true)
            } catch {
                return error.code == EEXIST ? .success(false) : .failure(error)
            }
        }
        return try result.get()
    }

    /// Whether anything has this path.
    static func exists(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    private static func resolved(_ path: String) -> String {
        guard let pointer = realpath(path, nil) else { return path }
        defer { free(pointer) }
        return String(cString: pointer)
    }
}
