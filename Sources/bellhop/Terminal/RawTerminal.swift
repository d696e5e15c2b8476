import BellhopCore
import Glibc

/// The terminal on standard input, delivering single keys until it is restored.
struct RawTerminal {
    private let mode: TerminalMode

    /// Nil if standard input is not a terminal.
    ///
    /// - Parameter leaving: called if a signal ends the program.
    init?(leaving: @escaping @Sendable () -> Void = { Console.note("") }) {
        let mode = TerminalMode(leaving: leaving) { mode in
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
            mode.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR)
        }
        guard let mode else { return nil }
        self.mode = mode
    }

    func restore() { mode.restore() }

    /// The next byte; nil at the end.
    func read() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    enum Input {
        case byte(UInt8)
        case end
        /// The time is up, or the window has another size.
        case nothing
    }

    /// The next byte, if one comes within the time.
    func read(within time: Duration) -> Input {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        let millis = min(max(time / .milliseconds(1), 0), 60_000)
        guard poll(&input, 1, Int32(millis.rounded(.up))) > 0 else { return .nothing }
        return read().map(Input.byte) ?? .end
    }
}
