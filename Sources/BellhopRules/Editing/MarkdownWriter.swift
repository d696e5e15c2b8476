import BellhopCore

/// Writes parts of a message in the small Markdown of messages, with inserted values escaped. Looks at scalars, as the reader does: a
/// mark before an accent is one character with it, and so are the two of a line's end from Windows.
enum MarkdownWriter {
    static func text(_ blocks: [Message.Block]) -> String { blocks.text(line) }

    static func line(_ inlines: [Message.Inline]) -> String {
        markers(escapedIn: inlines.map { text($0, isNested: false) }.joined())
    }

    private static func text(_ inline: Message.Inline, isNested: Bool) -> String {
        switch inline {
        case .text(let words), .value(let words): return escaped(words)
        case .strong(let inner): return "**" + inner.map { text($0, isNested: true) }.joined() + "**"
        case .emphasis(let inner): return "*" + inner.map { text($0, isNested: true) }.joined() + "*"
        case .code(let inner): return code(inner.plainText)
        case .link(let label, let address):
            return "[" + label.map { text($0, isNested: isNested) }.joined()
                + "](\(encoded(address.plainText, isNested: isNested)))"
        case .lineBreak: return "\n"
        }
    }

    private static func escaped(_ words: String) -> String {
        words.unicodeScalars.map { "\\`*_[]()".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" }.joined()
    }

    /// The text as code: between more backticks than any run of backticks in the text has.
    private static func code(_ words: String) -> String {
        guard !words.isEmpty else { return "" }
        let longest = words.unicodeScalars.split { $0 != "`" }.map(\.count).max() ?? 0
        let fence = String(repeating: "`", count: longest + 1)
        let ends = [words.unicodeScalars.first, words.unicodeScalars.last]
        let pad = ends.contains("`") || ends == [" ", " "] ? " " : ""
        let line = String(String.UnicodeScalarView(words.unicodeScalars.map { $0 == "\n" ? " " : $0 }))
        return fence + pad + line + pad + fence
    }

    /// An address without the characters that would end it or be markup.
    private static func encoded(_ address: String, isNested: Bool) -> String {
        var text = ""
        for byte in address.utf8 {
            let isSpecial = byte <= 0x20 || "()[]`\\".utf8.contains(byte) || (isNested && "*_".utf8.contains(byte))
            let digits = String(byte, radix: 16, uppercase: true)
            text += isSpecial ? "%" + (byte < 16 ? "0" : "") + digits : byte < 0x80 ? String(Unicode.Scalar(byte)) : "%" + digits
        }
        return text
    }

    /// Escapes what would begin an item of a list at the start of a line.
    private static func markers(escapedIn text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { scalars in
            let line = Substring(scalars)
            let rest = line.drop { $0 == " " || $0 == "\t" }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard let mark = rest.dropFirst(digits.count).first, (digits.isEmpty ? "-+" : ".)").contains(mark) else {
                return String(line)
            }
            let place = rest.index(rest.startIndex, offsetBy: digits.count)
            return String(line[..<place]) + "\\" + line[place...]
        }.joined(separator: "\n")
    }
}
