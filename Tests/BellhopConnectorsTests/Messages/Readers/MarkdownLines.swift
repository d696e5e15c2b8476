/// The lines of a chat's Markdown: paragraphs and the items of lists, each for a reader of inlines; every other block surprises.
struct MarkdownLines {
    /// Paragraphs, whose lines belong together, and items, each a line.
    private(set) var blocks: [String] = []
    private(set) var surprises: [String] = []

    /// - Parameter hasIndentedCode: whether four blanks begin a block of code, and a line of `=` makes a heading, as in CommonMark.
    init(_ text: String, hasIndentedCode: Bool) {
        var paragraph: [Substring] = []
        func end(_ paragraph: inout [Substring]) -> [String] {
            defer { paragraph = [] }
            return paragraph.isEmpty ? [] : [paragraph.joined(separator: "\n")]
        }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let blanks = line.prefix { $0 == " " || $0 == "\t" }
            if blanks.count == line.count {
                blocks += end(&paragraph)
                continue
            }
            if hasIndentedCode, blanks.count >= 4 || blanks.contains("\t") { surprises.append("indented code: \(line)") }
            let rest = line[blanks.endIndex...]
            if let content = Self.item(rest) {
                blocks += end(&paragraph)
                if Self.item(content) != nil || Self.surprise(content) != nil { surprises.append("a block in an item: \(line)") }
                blocks.append(String(content))
                continue
            }
            if let surprise = Self.surprise(rest) { surprises.append("\(surprise): \(line)") }
            if hasIndentedCode, !paragraph.isEmpty,
                rest.allSatisfy({ $0 == "=" || $0 == " " }) || rest.allSatisfy({ $0 == "-" || $0 == " " })
            {
                surprises.append("an underlined heading: \(line)")
            }
            paragraph.append(rest)
        }
        blocks += end(&paragraph)
    }

    /// The text after `- ` or `1. `; nil for anything but an item. By scalars: a mark may combine with the blank after it.
    private static func item(_ line: Substring) -> Substring? {
        let scalars = line.unicodeScalars
        func content(after mark: Substring.UnicodeScalarView.Index) -> Substring? {
            guard mark < scalars.endIndex else { return "" }
            return " \t".unicodeScalars.contains(scalars[mark]) ? Substring(scalars[scalars.index(after: mark)...]) : nil
        }
        guard let first = scalars.first else { return nil }
        if "-*+".unicodeScalars.contains(first) { return content(after: scalars.index(after: scalars.startIndex)) }
        let digits = scalars.prefix { 0x30...0x39 ~= $0.value }
        guard 1...9 ~= digits.count, digits.endIndex < scalars.endIndex, ".)".unicodeScalars.contains(scalars[digits.endIndex])
        else { return nil }
        return content(after: scalars.index(after: digits.endIndex))
    }

    private static func surprise(_ line: Substring) -> String? {
        let signs = line.prefix { $0 == "#" }.count
        if signs > 0, line.dropFirst(signs).first.map({ " \t".contains($0) }) ?? true { return "a heading" }
        if line.hasPrefix("-# ") { return "small text" }
        if line.hasPrefix(">") { return "a quote" }
        if line.hasPrefix("```") || line.hasPrefix("~~~") { return "a fence" }
        for sign in ["*", "-", "_"] {
            let marks = line.filter { $0 != " " && $0 != "\t" }
            if marks.count >= 3, marks.allSatisfy({ String($0) == sign }) { return "a rule" }
        }
        let cells = line.filter { $0 != " " }
        if cells.contains("|"), cells.contains("-"), cells.allSatisfy({ "|-:".contains($0) }) { return "a table" }
        if line.first == "[", let close = line.firstIndex(of: "]"), line[close...].dropFirst().first == ":" {
            return "a link definition"
        }
        return nil
    }
}

/// Character references of HTML, as far as texts for tests have them.
enum CharacterReference {
    /// The character, and how many scalars its reference has from the `&` on.
    static func read(_ scalars: ArraySlice<Unicode.Scalar>) -> (Unicode.Scalar, Int)? {
        guard scalars.first == "&", let end = scalars.prefix(12).firstIndex(of: ";") else { return nil }
        let name = String(String.UnicodeScalarView(scalars[(scalars.startIndex + 1)..<end]))
        let length = end - scalars.startIndex + 1
        let known: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "nbsp": "\u{A0}", "copy": "©"]
        if let scalar = known[name] { return (scalar, length) }
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let value = digits.first.map { "xX".contains($0) } == true ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.map { (Unicode.Scalar($0) ?? "\u{FFFD}", length) }
    }
}
