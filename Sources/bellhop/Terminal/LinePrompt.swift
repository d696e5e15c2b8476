import BellhopCore
import BellhopRules
import Glibc

/// Asks for lines on a terminal, with editing, history and completion.
///
/// Bellhop has its own, because libraries keep one state per process, call back through C function pointers, and are one more package
/// to install.
struct LinePrompt {
    private var editor: LineEditor
    private var keys = KeyReader()
    private let prompt: String

    init(_ prompt: String, history: [String]) {
        self.prompt = prompt
        editor = LineEditor(history: history)
    }

    /// The next line; nil at the end of input.
    /// - Parameter complete: the completions of the unfinished name at the end of a text.
    mutating func line(complete: (String) -> ExpressionCompletion) -> String? {
        guard let terminal = RawTerminal() else { return Console.readLine() }
        defer { terminal.restore() }
        draw()
        while let byte = terminal.read() {
            guard let key = keys.read(byte) else { continue }
            if key == .interrupt {
                // Leave the whole cancelled line on the screen.
                _ = editor.press(.end)
                draw()
            }
            switch editor.press(key) {
            case .redraw: break
            case .submit(let line):
                Console.prompt("\n")
                return line
            case .abandon: Console.prompt("^C\n")
            case .end:
                Console.prompt("\n")
                return nil
            case .clearScreen: Console.control("\u{1B}[H\u{1B}[2J")
            case .complete(let before): offer(complete(before))
            }
            draw()
        }
        Console.prompt("\n")
        return nil
    }

    private mutating func offer(_ found: ExpressionCompletion) {
        let rest = String(found.common.dropFirst(found.stem.count))
        if !rest.isEmpty { return editor.insert(rest) }
        guard found.names.count > 1 else { return Console.control(found.names.isEmpty ? "\u{07}" : "") }
        Console.prompt("\n" + Self.columns(found.names, width: Self.width) + "\n")
    }

    private func draw() {
        let (text, cursor) = editor.window(columns: Self.width - prompt.count)
        let column = prompt.count + cursor
        let shown = Paint.bold(prompt, if: Console.noteHasColour) + text.visible
        Console.control("\r\(shown)\u{1B}[K\r" + (column > 0 ? "\u{1B}[\(column)C" : ""))
    }

    /// Names side by side, read downwards.
    static func columns(_ names: [String], width: Int) -> String {
        let widest = (names.map(\.shownWidth).max() ?? 0) + 2
        let across = max(1, width / widest)
        let down = (names.count + across - 1) / across
        let rows = (0..<down).map { row in
            stride(from: row, to: names.count, by: down).map { index in
                index + down < names.count ? names[index].padded(to: widest) : names[index]
            }.joined()
        }
        return rows.joined(separator: "\n")
    }

    /// The terminal's own width, however narrow: a line that wraps cannot be redrawn.
    private static var width: Int {
        guard let size = Screen.size(of: STDERR_FILENO), size.columns > 0 else { return 80 }
        return size.columns
    }
}
