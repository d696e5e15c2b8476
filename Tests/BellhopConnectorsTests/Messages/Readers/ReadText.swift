import BellhopCore

/// The result of reading a receiver's format: each visible character with its style, in order. Blanks, invisible guards and
/// separators are left out, because formats differ in them.
struct ReadText: Hashable, CustomStringConvertible {
    struct Style: Hashable {
        var isStrong = false
        var isEmphasized = false
        var isCode = false
        var link: String?
    }

    struct Mark: Hashable {
        var scalar: Unicode.Scalar
        var style: Style
    }

    private(set) var marks: [Mark] = []
    var mentions: [String] = []
    /// Markup that no message has: quotes, tables, headings, images, and whatever cannot be read.
    var surprises: [String] = []

    mutating func add(_ text: String, _ style: Style = Style()) {
        for scalar in text.unicodeScalars where Self.counts(scalar) { marks.append(Mark(scalar: scalar, style: style)) }
    }

    mutating func add(_ other: ReadText) {
        marks += other.marks
        mentions += other.mentions
        surprises += other.surprises
    }

    mutating func decodeLinks(_ decode: (String) -> String) {
        for place in marks.indices where marks[place].style.link != nil {
            marks[place].style.link = marks[place].style.link.map(decode)
        }
    }

    var text: String { String(String.UnicodeScalarView(marks.map(\.scalar))) }

    static func counts(_ scalar: Unicode.Scalar) -> Bool {
        !(scalar.properties.isWhitespace || scalar == "\u{200B}" || scalar == "\u{FEFF}")
    }

    /// Runs of one style, for failures.
    var description: String {
        var runs: [(Style, String)] = []
        for mark in marks {
            if runs.last?.0 == mark.style {
                runs[runs.count - 1].1.unicodeScalars.append(mark.scalar)
            } else {
                runs.append((mark.style, String(mark.scalar)))
            }
        }
        let texts = runs.map { style, text in
            (style.isStrong ? "S" : "") + (style.isEmphasized ? "E" : "") + (style.isCode ? "C" : "")
                + (style.link.map { "→\($0)" } ?? "") + text.debugDescription
        }
        return (texts + surprises.map { "!\($0)" } + mentions.map { "@\($0)" }).joined(separator: " ")
    }
}

/// Reads the output of a renderer by the rules of its format, without the renderer's code.
protocol FormatReader: Sendable { func read(_ body: JSON) -> ReadText }
