import BellhopCore
import BellhopFiles
import Dispatch
import Glibc

/// A change of the mode of the terminal on standard input, undone by ``restore()`` and by every signal that ends the program.
struct TerminalMode {
    private let before: termios
    private let watches: [any DispatchSourceSignal]

    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Nil if standard input is not a terminal.
    /// - Parameter leaving: called if a signal ends the program.
    init?(
        flushing: Bool = false, leaving: @escaping @Sendable () -> Void = { Console.note("") }, _ change: (inout termios) -> Void
    ) {
        var mode = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        let before = mode
        self.before = before
        // Signals are already ignored, so wait until the watches are set: a signal before that would be lost.
        let ready = DispatchSemaphore(value: 0)
        watches = Self.signals.map { number in
            signal(number, SIG_IGN)
            let watch = DispatchSource.makeSignalSource(signal: number, queue: .global())
            watch.setEventHandler {
                Self.set(before)
                leaving()
                exit(128 + number)
            }
            watch.setRegistrationHandler { ready.signal() }
            watch.activate()
            return watch
        }
        for _ in watches { _ = ready.wait(timeout: .now() + .seconds(2)) }
        change(&mode)
        tcsetattr(STDIN_FILENO, flushing ? TCSAFLUSH : TCSADRAIN, &mode)
    }

    func restore(flushing: Bool = false) {
        Self.set(before, flushing ? TCSAFLUSH : TCSADRAIN)
        for watch in watches { watch.cancel() }
        for number in Self.signals { signal(number, SIG_DFL) }
    }

    private static func set(_ mode: termios, _ when: Int32 = TCSAFLUSH) {
        var mode = mode
        tcsetattr(STDIN_FILENO, when, &mode)
    }
}

/// The terminal on standard input, delivering single keys until it is restored.
struct RawTerminal {
    private let mode: TerminalMode

    /// Nil if standard input is not a terminal.
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
    func read() -> UInt8? { Descriptor.readByte(STDIN_FILENO) }

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
