import BellhopCore

/// HTML for chats and mail programs: paragraphs, bold, emphasis, code, links and lists, with no attribute but `href` and `dir`.
struct HTMLMarkup: Markup {
    /// The attributes of each block with text of a message, such as ` dir="auto"`. Matrix allows none.
    var blockAttributes = ""

    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) { Self.escape(scalar, into: &text) }

    func marks(_ element: MarkupElement) -> MarkupMarks {
        switch element {
        case .strong, .fieldName: MarkupMarks("<strong>", "</strong>")
        case .emphasis: MarkupMarks("<em>", "</em>")
        case .strongEmphasis: MarkupMarks("<strong><em>", "</em></strong>")
        case .code: MarkupMarks("<code>", "</code>")
        case .link(let address, _): MarkupMarks("<a href=\"\(Self.escaped(address.text))\">", "</a>")
        case .paragraph, .fields, .action: MarkupMarks("<p\(blockAttributes)>", "</p>")
        case .title: MarkupMarks("<h3\(blockAttributes)>", "</h3>")
        case .heading: MarkupMarks("<h4\(blockAttributes)>", "</h4>")
        case .list(let isOrdered): isOrdered ? MarkupMarks("<ol>", "</ol>") : MarkupMarks("<ul>", "</ul>")
        case .item: MarkupMarks("<li\(blockAttributes)>", "</li>")
        case .field: MarkupMarks()
        case .fieldValue: MarkupMarks(" ")
        case .note: MarkupMarks("<p><em>", "</em></p>")
        case .origin: MarkupMarks("<p><small>", "</small></p>")
        }
    }

    var lineBreak: String { "<br>" }
    var blockSeparator: String { "\n" }
    var lineSeparator: String { "\n" }
    var fieldSeparator: String { "<br>\n" }

    static func escape(_ scalar: Unicode.Scalar, into text: inout String) {
        switch scalar {
        case "&": text += "&amp;"
        case "<": text += "&lt;"
        case ">": text += "&gt;"
        case "\"": text += "&quot;"
        case "'": text += "&#39;"
        default: text.unicodeScalars.append(scalar)
        }
    }

    static func escaped(_ text: String) -> String { text.unicodeScalars.reduce(into: "") { escape($1, into: &$0) } }
}

/// Text without markup: links become their addresses, emphasis becomes plain words.
struct PlainMarkup: Markup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) { text.unicodeScalars.append(scalar) }

    func marks(_ element: MarkupElement) -> MarkupMarks {
        switch element {
        case .link(let address, let isBare): isBare ? MarkupMarks() : MarkupMarks("", " (\(address.text))")
        case .item(nil): MarkupMarks("- ")
        case .item(let number?): MarkupMarks("\(number). ")
        case .fieldValue: MarkupMarks(" ")
        case .strong, .emphasis, .strongEmphasis, .code, .paragraph, .title, .heading, .list, .fields, .field, .fieldName, .note,
            .action, .origin:
            MarkupMarks()
        }
    }
}
