import Foundation

/// A terminal: a program's standard input, as a person has it, or the screen that it writes to.
///
/// A class, because its two ends are open files that are closed once.
public final class PseudoTerminal: Sendable {
    /// The end at which the person sits.
    private let person: Int32
    private let program: Int32

    public init() throws {
        var ends: (person: Int32, program: Int32) = (-1, -1)
        guard openpty(&ends.person, &ends.program, nil, nil, nil) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        (person, program) = ends
        for end in [person, program] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(person)
        close(program)
    }

    /// What a program gets as its standard input, or writes to.
    var input: FileHandle { FileHandle(fileDescriptor: program, closeOnDealloc: false) }

    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(person, $0.baseAddress, $0.count) }
    }

    /// What is on the screen and was not read before. It holds some thousand characters.
    public func shown() -> String {
        _ = fcntl(person, F_SETFL, O_NONBLOCK)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(person, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether what is typed is shown.
    public var hasEcho: Bool { mode & tcflag_t(ECHO) != 0 }

    /// Whether what is typed is handed over line by line.
    public var hasLines: Bool { mode & tcflag_t(ICANON) != 0 }

    private var mode: tcflag_t {
        var mode = termios()
        tcgetattr(program, &mode)
        return mode.c_lflag
    }
}
