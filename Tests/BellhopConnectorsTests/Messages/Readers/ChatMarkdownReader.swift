import BellhopCore

/// Reads Markdown as the web clients of Discord and Mattermost do: at each place the first rule that matches takes its text, found by
/// a pattern and not by CommonMark's algorithm.
///
/// Discord: the rules of simple-markdown, in which patterns skip escapes. Mattermost: its fork of marked, in which they do not, and
/// only some characters have an escape.
struct ChatMarkdownReader {
    enum Dialect { case discord, mattermost }

    let dialect: Dialect
    /// The length of a mention that begins here; the scalar before it.
    var mention: (ArraySlice<Unicode.Scalar>, Unicode.Scalar?) -> Int? = { _, _ in nil }

    func read(_ text: String) -> ReadText {
        let lines = MarkdownLines(text, hasIndentedCode: dialect == .mattermost)
        var read = ReadText()
        read.surprises = lines.surprises
        for block in lines.blocks { parse(Array(block.unicodeScalars)[...], .init(), into: &read) }
        return read
    }

    private func parse(_ source: ArraySlice<Unicode.Scalar>, _ style: ReadText.Style, into read: inout ReadText) {
        var at = source.startIndex
        while at < source.endIndex {
            let rest = source[at...]
            let scalar = source[at]
            let before = at > source.startIndex ? source[at - 1] : nil
            if let length = mention(rest, before) {
                read.mentions.append(String(String.UnicodeScalarView(rest.prefix(length))))
                at += length
                continue
            }
            if scalar == "\\", let next = rest.dropFirst().first, isEscapable(next) {
                read.add(String(next), style)
                at += 2
                continue
            }
            if let (inner, length, change) = pair(rest) {
                var inside = style
                change(&inside)
                if inside.isCode {
                    read.add(String(String.UnicodeScalarView(inner)), .init(isCode: true))
                } else {
                    parse(inner, inside, into: &read)
                }
                at += length
                continue
            }
            for (mark, name) in [("~~", "strikethrough"), ("||", "a spoiler"), ("__", "underline")]
            where dialect == .discord || mark != "||" {
                if rest.starts(with: mark.unicodeScalars), closing(mark, in: rest) != nil { read.surprises.append(name) }
            }
            if scalar == "_", closing("_", in: rest) != nil { read.surprises.append("emphasis by underscores") }
            if scalar == "$", dialect == .mattermost, rest.dropFirst().contains("$") { read.surprises.append("a formula") }
            if scalar == "[", style.link == nil, let (label, address, length) = CommonMarkReader.link(rest) {
                if before == "!" { read.surprises.append("an image") }
                var inside = style
                inside.link = address
                parse(label, inside, into: &read)
                at += length
                continue
            }
            if scalar == "<" {
                if let (address, length) = CommonMarkReader.autolink(rest) {
                    read.add(String(String.UnicodeScalarView(address)), .init(link: String(String.UnicodeScalarView(address))))
                    at += length
                    continue
                }
                if dialect == .mattermost || rest.dropFirst().first.map({ "@#:at/".unicodeScalars.contains($0) }) ?? false,
                    rest.contains(">")
                {
                    read.surprises.append("a tag")
                }
            }
            if scalar == "&", dialect == .mattermost, let (character, length) = CharacterReference.read(rest) {
                read.add(String(character), style)
                at += length
                continue
            }
            if CommonMarkReader.isBareAddress(source, at), dialect == .mattermost || scalar == "h" {
                read.surprises.append("a bare address")
            }
            if dialect == .mattermost, scalar == "#", rest.dropFirst().first?.properties.isAlphabetic == true {
                read.surprises.append("a hashtag")
            }
            if scalar == ":", isEmoji(rest) { read.surprises.append("an emoji") }
            read.add(String(scalar), style)
            at += 1
        }
    }

    private func isEscapable(_ scalar: Unicode.Scalar) -> Bool {
        switch dialect {
        case .discord:
            !(scalar.isASCII && scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                && !scalar.properties.isWhitespace
        case .mattermost: "\\`*{}[]()#+-.!_>~|".unicodeScalars.contains(scalar)
        }
    }

    private typealias Pair = (ArraySlice<Unicode.Scalar>, Int, (inout ReadText.Style) -> Void)

    /// A code span, or text between asterisks.
    private func pair(_ rest: ArraySlice<Unicode.Scalar>) -> Pair? {
        if rest.first == "`" {
            let (length, content) = CommonMarkReader.code(rest)
            return content.map { ($0[...], length, { $0.isCode = true }) }
        }
        guard rest.first == "*" else { return nil }
        let strong = closing("**", in: rest).map { end -> Pair in
            (rest[(rest.startIndex + 2)..<end], end + 2 - rest.startIndex, { $0.isStrong = true })
        }
        let emphasis = emphasis(rest).map { end -> Pair in
            (rest[(rest.startIndex + 1)..<end], end + 1 - rest.startIndex, { $0.isEmphasized = true })
        }
        guard let strong else { return emphasis }
        // simple-markdown takes the longer match, marked the first rule.
        if dialect == .discord, let emphasis, emphasis.1 >= strong.1 { return emphasis }
        return strong
    }

    /// Where the text between two marks ends: `mark…mark`, not followed by the mark's own sign.
    private func closing(_ mark: String, in rest: ArraySlice<Unicode.Scalar>) -> Int? {
        let signs = Array(mark.unicodeScalars)
        guard rest.starts(with: signs) else { return nil }
        var at = rest.startIndex + signs.count + 1
        if dialect == .discord, rest.dropFirst(signs.count).first == "\\" { at += 1 }
        while at + signs.count <= rest.endIndex {
            if rest[at...].starts(with: signs), rest.dropFirst(at + signs.count - rest.startIndex).first != signs[0] { return at }
            at += dialect == .discord && rest[at] == "\\" ? 2 : 1
        }
        return nil
    }

    /// Where `*…*` ends.
    private func emphasis(_ rest: ArraySlice<Unicode.Scalar>) -> Int? {
        guard let first = rest.dropFirst().first, !Self.isBlank(first) else { return nil }
        if dialect == .mattermost, "\"<".unicodeScalars.contains(first) { return nil }
        var at = rest.startIndex + 1
        while at < rest.endIndex {
            let scalar = rest[at]
            if dialect == .discord, scalar == "\\" {
                at += 2
                continue
            }
            if dialect == .discord, scalar == "*", rest.dropFirst(at + 1 - rest.startIndex).first == "*" {
                at += 2
                // `***` at the end: the third closes the emphasis.
                continue
            }
            if dialect == .discord, scalar == "*", at == rest.startIndex + 1 || Self.isBlank(rest[at - 1]) { return nil }
            if scalar == "*", at > rest.startIndex + 1, !Self.isBlank(rest[at - 1]) {
                if dialect == .discord { return at }
                let next = rest.dropFirst(at + 1 - rest.startIndex).first
                if next != "*", rest[at - 1] != "*" || first != "*" { return at }
            }
            at += 1
        }
        return nil
    }

    private func isEmoji(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
        let name = rest.dropFirst().prefix {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || "+-_".unicodeScalars.contains($0))
        }
        return !name.isEmpty && name.endIndex < rest.endIndex && rest[name.endIndex] == ":"
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace || scalar == "\u{FEFF}" }
}
