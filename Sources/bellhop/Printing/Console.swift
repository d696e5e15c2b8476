import BellhopAgent
import BellhopCore
import BellhopFiles
import BellhopRules
import Dispatch
import Glibc
import Synchronization

/// Input and output of the command: data goes to standard output, everything else to standard error.
///
/// All printed text is made safe for terminals here (``BellhopCore/TerminalText``).
enum Console {
    private static let printed = Mutex(false)
    static var hasPrintedData: Bool { printed.withLock { $0 } }

    static func data(_ line: String) {
        printed.withLock { $0 = true }
        write(TerminalText.lines(line, keepsColours: dataHasColour) + "\n", to: STDOUT_FILENO)
    }

    /// Prints a line of data for programs, safe for terminals too.
    static func json(_ json: JSON) { data(json.printable) }

    /// Prints a line for people.
    static func note(_ line: String) { prompt(line + "\n") }

    /// Notes about what a search left out: because its condition failed, or because it reached its limit.
    static func note(_ found: SearchPage, limit: Int, _ one: String, _ several: String, narrowedBy options: String) {
        note(found.failures, one, several)
        if found.rows.count < limit, found.next != nil {
            note("The search looked at the newest \(found.seen) \(several) only: narrow it with \(options).")
        }
    }

    /// A note about what a search left out because its condition failed.
    static func note(_ failures: SearchFailures, _ one: String, _ several: String) {
        guard failures.count > 0 else { return }
        let what = failures.count == 1 ? "\(one):" : "\(several); the first error:"
        note("The condition failed for \(failures.count) \(what) \(failures.error.visible)")
    }

    /// Prints a sentence for people, wrapped to the screen.
    static func sentence(_ text: String) { note(text.wrapped(to: Screen.noteWidth)) }

    /// Prints for people, without ending the line.
    static func prompt(_ text: String) { control(TerminalText.lines(text, keepsColours: noteHasColour)) }

    /// Writes control sequences to standard error; text in them must already be safe for terminals.
    static func control(_ text: String) {
        if let log = log.withLock({ $0 }) { log.write(text) } else { write(text, to: STDERR_FILENO) }
    }

    /// The log of an agent; nil for another command, which waits for the reader of its notes.
    private static let log = Mutex<LogOutput?>(nil)

    /// From now on, notes do not wait for their reader, except for a second at the end of the process.
    static func writeNotes(to terminalLog: TerminalLog) {
        log.withLock { $0 = LogOutput(STDERR_FILENO, log: terminalLog) }
        atexit { Console.flushLog() }
    }

    /// Returns when the log is written, or its reader seems to have stopped reading.
    static func flushLog() { log.withLock { $0 }?.flush(within: .seconds(1)) }

    /// Writes control sequences to standard output; text in them must already be safe for terminals.
    static func screen(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// Colour is used only on a terminal, unless the user forbids it (no-color.org).
    static let dataHasColour = isatty(STDOUT_FILENO) == 1 && wantsColour
    static let noteHasColour = isatty(STDERR_FILENO) == 1 && wantsColour

    private static var wantsColour: Bool {
        (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true) && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    /// Prints a line of a running agent. The agent continues even if nothing reads its output any more. On a terminal, times are in the given zone.
    static func agentData(_ line: String, in zone: TimeZoneTable) async throws(Failure) {
        let line = isatty(STDOUT_FILENO) == 1 ? line.withLocalTimes(in: zone) : line
        try await LineWriter.standardOutput.write(TerminalText.lines(line))
    }

    private static func write(_ text: String, to file: Int32) {
        do throws(SystemError) {
            try Descriptor.write(Array(text.utf8), to: file)
        } catch {
            // The program that read our output has ended, or the disk is full.
            guard file == STDOUT_FILENO else { return }
            if error.code == EPIPE { exit(0) }
            let problem = CommandError(.inputOutput, "Standard output cannot be written: \(error.text).")
            problem.print()
            exit(problem.code.rawValue)
        }
    }

    /// Asks for a secret without echo. Without a terminal, all of standard input is the secret, without the newline at its end;
    /// nil if there is none.
    static func askSecret(_ question: String) throws(CommandError) -> String? {
        if isInteractive { return try askSecretLine(question) }
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        return try lines.isEmpty ? nil : checked(lines.joined(separator: "\n"))
    }

    /// Asks for one line without echo; nil at the end of input. Without a terminal, takes the next line of the input; further answers can
    /// follow.
    static func askSecretLine(_ question: String) throws(CommandError) -> String? {
        guard isInteractive else { return try checked(readLine()) }
        prompt(question)
        let withoutEcho = TerminalMode(flushing: true) { $0.c_lflag &= ~tcflag_t(ECHO) }
        defer {
            withoutEcho?.restore(flushing: true)
            note("")
        }
        let line = readLine()
        if let line, line.utf8.count >= longestTyped {
            throw CommandError(
                .usage,
                "A terminal cuts lines after \(longestTyped) bytes, so this was not used: pipe it into the command, or send a file."
            )
        }
        return try checked(line)
    }

    /// The longest line that can be typed, in bytes: the system drops the rest (termios(3)).
    private static let longestTyped = 4095

    /// The next line of standard input, without its end; nil at the end of input.
    ///
    /// If standard input is nonblocking, Swift's `readLine` would take input that has not come yet for the end of input.
    static func readLine() -> String? {
        var line: [UInt8] = []
        var byte = Descriptor.readByte(STDIN_FILENO)
        if byte == nil { return nil }
        while let next = byte, next != UInt8(ascii: "\n") {
            line.append(next)
            byte = Descriptor.readByte(STDIN_FILENO)
        }
        if byte != nil, line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }

    /// Whether standard input is a terminal, so that the user can be asked.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    static func ask(_ question: String) throws(CommandError) -> String? {
        guard isInteractive else { return try checked(readLine()) }
        prompt(question)
        let line = readLine()
        if line == nil { note("") }  // Ctrl-D ends no line
        return try checked(line)
    }

    /// An answer, without the byte order mark with which some programs begin a text.
    /// - Throws: if it is not UTF-8: `readLine` puts U+FFFD in place of other bytes.
    private static func checked(_ answer: String?) throws(CommandError) -> String? {
        guard var answer else { return nil }
        if answer.unicodeScalars.contains("\u{FFFD}") {
            throw CommandError(
                .usage,
                "Standard input is not text in UTF-8, so it was not used: convert it to this encoding, or set the terminal to it."
            )
        }
        if answer.unicodeScalars.first == "\u{FEFF}" { answer.unicodeScalars.removeFirst() }
        return answer
    }

    /// Asks whether to do something, such as "Retry 3 deliveries".
    /// - Throws: if the answer is not yes, or there is no terminal at which to ask.
    static func confirm(_ what: String) throws(CommandError) {
        guard isInteractive else {
            let wouldDo: String = what.prefix(1).lowercased() + what.dropFirst()
            throw CommandError(.usage, "This would \(wouldDo): add --yes, because there is no terminal at which to ask.")
        }
        guard try ask("\(what)? [y/N] ").isYes else { throw CommandError(.problem, "Nothing was changed.") }
    }
}

/// Text colours.
enum Paint: String {
    case bold = "1"
    case dim = "2"
    case reversed = "7"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case cyan = "36"

    func callAsFunction(_ text: String, if isOn: Bool = Console.dataHasColour) -> String {
        isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}

extension SourceState {
    var paint: Paint? {
        switch self {
        case .failing: .red
        case .held, .preparing, .polling: .yellow
        case .new, .fine: nil
        }
    }
}
