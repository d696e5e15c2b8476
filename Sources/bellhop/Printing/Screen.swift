import BellhopCore
import Glibc

/// The width of lines for people.
enum Screen {
    /// The width for standard output; nil for a pipe or a file, which have no limit.
    static let dataWidth = width(of: STDOUT_FILENO)
    /// The width for standard error.
    static let noteWidth = width(of: STDERR_FILENO)

    static func width(of file: Int32) -> Int? {
        if isatty(file) == 1 {
            var size = winsize()
            if ioctl(file, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 40 { return Int(size.ws_col) }
        }
        if let columns = getenv("COLUMNS").flatMap({ Int(String(cString: $0)) }), columns >= 40 { return columns }
        return isatty(file) == 1 ? 80 : nil
    }
}

extension String {
    /// The text in lines of at most this width, broken only between words: a wider word or id stays whole.
    ///
    /// - Parameter indent: the indentation of every line but the first.
    func wrapped(to width: Int?, indent: Int = 0) -> String {
        wrappedLines(to: width, indent: indent).joined(separator: "\n")
    }

    /// The lines of ``wrapped(to:indent:)``.
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
        for scalar in unicodeScalars {
            if scalar == "\u{1B}" {
                isColour = true
            } else if isColour {
                if scalar == "m" { isColour = false }
            } else {
                width += 1
            }
        }
        return width
    }
}
