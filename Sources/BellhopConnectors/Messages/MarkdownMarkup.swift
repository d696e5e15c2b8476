import BellhopCore

/// CommonMark, as chats read it: bold, emphasis, code, links, lists. The base of the Markdown flavours.
///
/// Every ASCII punctuation character has a backslash, so no text can become markup, whatever the chat adds to CommonMark
/// (CommonMark 0.31, section 2.4: a backslash before ASCII punctuation is the character itself).
struct CommonMark: MarkdownMarkup {
    /// Whether a zero-width space must follow this character, so that it begins no mention.
    var breaks: @Sendable (Unicode.Scalar) -> Bool = { $0 == "@" || $0 == "<" }

    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        escape(scalar, at: place, into: &text) { text, _ in
            if scalar.isASCIIPunctuation { text += "\\" }
            text.unicodeScalars.append(scalar)
            if breaks(scalar) { text += "\u{200B}" }
        }
    }

    func canBeCode(_ text: String) -> Bool { !text.unicodeScalars.contains { $0 == "`" || breaks($0) } }
}

/// A flavour of Markdown.
protocol MarkdownMarkup: Markup {}

extension MarkdownMarkup {
    var guardsEmphasis: Bool { true }

    func marks(_ element: MarkupElement) -> MarkupMarks {
        switch element {
        case .strong, .title, .heading: MarkupMarks("**", "**")
        case .emphasis, .note, .origin: MarkupMarks("*", "*")
        case .strongEmphasis: MarkupMarks("***", "***")
        case .code: MarkupMarks("`", "`")
        case .link(let address, _): MarkupMarks("[", "](\(Self.target(address)))")
        case .item(nil): MarkupMarks("- ")
        case .item(let number?): MarkupMarks("\(number). ")
        case .fieldName: MarkupMarks("**", "**")
        case .fieldValue: MarkupMarks(" ")
        case .paragraph, .list, .fields, .field, .action: MarkupMarks()
        }
    }

    /// The address, encoded so that it cannot end the parentheses around it and contains no markup or entities.
    private static func target(_ address: LinkAddress) -> String {
        PercentEncoding.encode(address.text, keeping: "-.:/?#@&=%+,!$~")
    }

    /// In a code span no character can be escaped, and a backtick ends it.
    func canBeCode(_ text: String) -> Bool { !text.utf8.contains(UInt8(ascii: "`")) }

    /// Calls the body to escape a character of text; `isLineStart` says whether only spaces and digits precede it on its line.
    /// Code is not escaped. A blank at the start of a line becomes a no-break space, because four blanks begin a block of code.
    func escape(
        _ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String,
        _ body: (_ text: inout String, _ isLineStart: Bool) -> Void
    ) {
        switch place {
        case .code: text.unicodeScalars.append(scalar)
        case .text(lineStart: true, previous: nil) where scalar == " " || scalar == "\t": text += "\u{A0}"
        case .text(let isLineStart, _): body(&text, isLineStart)
        }
    }
}

extension Unicode.Scalar {
    /// The characters that a backslash escapes in CommonMark.
    var isASCIIPunctuation: Bool {
        switch value {
        case 0x21...0x2f, 0x3a...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }
}
