import Glibc

/// Why a system call failed.
public struct SystemError: Error, Sendable, Hashable {
    /// The value of `errno`.
    public let code: Int32

    public init(_ code: Int32) { self.code = code }

    /// The error of the call that has just failed.
    public init() { code = errno }

    /// The system's words, such as `Permission denied`.
    public var text: String { String(cString: strerror(code)) }
}

/// Reads and writes file descriptors.
public enum Descriptor {
    /// All bytes up to the end, or the first ones of a longer file.
    public static func read(_ file: Int32, atMost limit: Int = .max) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            var (count, error) = (0, SystemError(0))
            let part = [UInt8](unsafeUninitializedCapacity: min(16384, limit - bytes.count)) { buffer, filled in
                count = Glibc.read(file, buffer.baseAddress, buffer.count)
                if count < 0 { error = SystemError() }
                filled = max(0, count)
            }
            if count < 0, error.code == EINTR { continue }
            guard count >= 0 else { throw error }
            if count == 0 { break }
            if bytes.isEmpty { bytes = part } else { bytes += part }
        }
        return bytes
    }

    /// All bytes of the file at a path, or the first ones of a longer file.
    public static func read(at path: String, atMost limit: Int = .max) throws(SystemError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemError() }
        defer { close(file) }
        return try read(file, atMost: limit)
    }

    /// The next byte; nil at the end. Waits for it, even if the file is nonblocking: another program may have made a shared terminal or pipe
    /// so.
    public static func readByte(_ file: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = Glibc.read(file, &byte, 1)
            if count == 1 { return byte }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return nil }
            if errno == EAGAIN { wait(for: POLLIN, file) }
        }
    }

    private static func wait(for event: Int32, _ file: Int32) {
        var wanted = pollfd(fd: file, events: Int16(event), revents: 0)
        poll(&wanted, 1, -1)
    }

    /// Writes all bytes, sleeping while a slow reader leaves no room.
    public static func write(_ bytes: [UInt8], to file: Int32) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + written, bytes.count - written) }
            if count > 0 {
                written += count
            } else if count < 0, errno == EAGAIN {
                wait(for: POLLOUT, file)
            } else if count == 0 || errno != EINTR {
                throw count == 0 ? SystemError(EIO) : SystemError()
            }
        }
    }

    /// How many files and sockets this process may have open at a time.
    public static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// More than programs that are started at the same time need. Subprocess ends this whole process if it cannot make the last one of its
    /// pipes.
    public static let roomForPrograms = 32

    /// Whether this process may open so many more files and sockets.
    public static func hasRoom(for count: Int) -> Bool {
        if let open = Folder.names(in: "/proc/self/fd") { return open.count <= limit - count }
        return errno != EMFILE && errno != ENFILE
    }

    /// Returns once everything written is on disk.
    public static func sync(_ file: Int32) throws(SystemError) { guard fsync(file) == 0 else { throw SystemError() } }
}
