import BellhopCore
import Glibc

/// The size of the terminal, and the width of lines for people.
enum Screen {
    /// The present width for standard output; nil for a pipe or a file, which have no limit.
    static var dataWidth: Int? { width(of: STDOUT_FILENO) }
    /// The present width for standard error.
    static var noteWidth: Int? { width(of: STDERR_FILENO) }

    static func width(of file: Int32) -> Int? {
        if let columns = size(of: file)?.columns, columns >= 40 { return columns }
        if let columns = getenv("COLUMNS").flatMap({ Int(String(cString: $0)) }), columns >= 40 { return columns }
        return isatty(file) == 1 ? 80 : nil
    }

    /// The size of the terminal; nil if the file is no terminal, or does not know its size.
    static func size(of file: Int32) -> (columns: Int, lines: Int)? {
        var size = winsize()
        guard ioctl(file, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

extension String {
    /// The text in lines of at most this width, broken only between words: a wider word or id stays whole.
    /// - Parameter indent: the indentation of every line but the first.
    func wrapped(to width: Int?, indent: Int = 0) -> String {
        wrappedLines(to: width, indent: indent).joined(separator: "\n")
    }

    func wrappedLines(to width: Int?, indent: Int) -> [String] {
        guard let width, shownWidth > width else { return [self] }
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for (place, word) in split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if place > 0, line.shownWidth + 1 + word.shownWidth > width, !line.allSatisfy({ $0 == " " }) {
                lines.append(line)
                line = margin + String(word)
            } else {
                line += (place > 0 ? " " : "") + String(word)
            }
        }
        lines.append(line)
        return lines
    }

    /// A colon and this reason; nothing without a reason.
    var afterColon: String { isEmpty ? "" : ": " + self }

    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - shownWidth, 0)) }

    /// Truncated to a number of columns, with an ellipsis. The text has no colours.
    func cut(to width: Int) -> String {
        var (shown, fitting) = (0, startIndex)
        for place in indices {
            shown += self[place].columns
            if shown < width { fitting = index(after: place) }
            if shown > width { return self[..<fitting] + "…" }
        }
        return self
    }

    /// The text, truncated after a word if it is wider.
    func cutBetweenWords(to width: Int) -> String {
        guard shownWidth > width else { return self }
        var cut = ""
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let longer = cut.isEmpty ? String(word) : cut + " " + word
            if longer.shownWidth > width - 1 { break }
            cut = longer
        }
        return cut + "…"
    }
}

extension StringProtocol {
    /// How many columns the text takes; colour sequences take no column.
    var shownWidth: Int {
        var width = 0
        var isColour = false
        for character in self {
            if character == "\u{1B}" {
                isColour = true
            } else if isColour {
                if character.unicodeScalars.first == "m" { isColour = false }
            } else {
                width += character.columns
            }
        }
        return width
    }
}

extension Character {
    /// Its width in a terminal: two columns for wide characters (UAX #11) and emoji.
    var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        if scalar.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
