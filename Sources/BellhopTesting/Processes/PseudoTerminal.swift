import Foundation
import Synchronization

/// A terminal, as a program's standard input or output.
///
/// A class, because its two open files must be closed once, and because it keeps its output.
public final class PseudoTerminal: Sendable {
    /// The user's end.
    private let person: Int32
    private let program: Int32
    private let screen = Mutex<[UInt8]>([])

    /// - Parameter columns: its width; 0 if it does not know its size.
    public init(columns: UInt16 = 0) throws {
        var ends: (person: Int32, program: Int32) = (-1, -1)
        var size = winsize(ws_row: columns == 0 ? 0 : 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&ends.person, &ends.program, nil, nil, &size) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        (person, program) = ends
        for end in [person, program] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(person)
        close(program)
    }

    /// Everything printed on it so far, with a terminal's newlines.
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

    /// The program's end.
    var input: Int32 { program }

    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(person, $0.baseAddress, $0.count) }
    }

    /// Whether input is echoed.
    public var hasEcho: Bool { mode & tcflag_t(ECHO) != 0 }

    /// Whether input is delivered line by line.
    public var hasLines: Bool { mode & tcflag_t(ICANON) != 0 }

    private var mode: tcflag_t {
        var mode = termios()
        tcgetattr(program, &mode)
        return mode.c_lflag
    }
}
