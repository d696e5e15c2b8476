import Foundation
import Synchronization

/// A terminal: a program's standard input, as a person has it, or what it prints to.
///
/// A class, because its two ends are open files that are closed once, and what was shown is kept.
public final class PseudoTerminal: Sendable {
    /// The end at which the person sits.
    private let person: Int32
    private let program: Int32
    private let screen = Mutex<[UInt8]>([])

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

    /// All that was printed on it so far, with the newlines that a terminal makes.
    public var shown: String {
        screen.withLock { bytes in
            var ready = pollfd(fd: person, events: Int16(POLLIN), revents: 0)
            var buffer = [UInt8](repeating: 0, count: 4096)
            while poll(&ready, 1, 0) > 0 {
                let count = read(person, &buffer, buffer.count)
                guard count > 0 else { break }
                bytes += buffer[..<count]
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// What a program gets as its standard input.
    var input: Int32 { program }

    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(person, $0.baseAddress, $0.count) }
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
