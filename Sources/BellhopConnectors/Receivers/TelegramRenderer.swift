import BellhopCore

/// The limit of a message to Telegram: 4,096 UTF-16 units of text without markup (Bot API, sendMessage).
enum TelegramLimits {
    static let text = 4096
}

/// Telegram's HTML mode: bold, italic, code and links; lists and fields are lines.
///
/// Telegram turns plain words into mentions, links and hashtags. A zero-width space after `@` prevents a mention; a link from an
/// address in a value leads to the address it shows.
struct TelegramMarkup: Markup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        switch scalar {
        case "@" where place != .code: text += "@\u{200B}"
        case "'": text += "'"
        default: HTMLMarkup.escape(scalar, into: &text)
        }
    }

    func marks(_ element: MarkupElement) -> MarkupMarks {
        switch element {
        case .strong, .title, .heading, .fieldName: MarkupMarks("<b>", "</b>")
        case .emphasis, .note, .origin: MarkupMarks("<i>", "</i>")
        case .strongEmphasis: MarkupMarks("<b><i>", "</i></b>")
        case .code: MarkupMarks("<code>", "</code>")
        case .link(let address, _): MarkupMarks("<a href=\"\(HTMLMarkup.escaped(address.text))\">", "</a>")
        case .item(nil): MarkupMarks("• ")
        case .item(let number?): MarkupMarks("\(number). ")
        case .fieldValue: MarkupMarks(" ")
        case .paragraph, .list, .fields, .field, .action: MarkupMarks()
        }
    }

    func cost(of character: Character, escaped: Substring) -> Int {
        character.utf16.count + character.unicodeScalars.count { $0 == "@" }
    }

    /// The length of a mark without its tags.
    func cost(ofMark mark: String) -> Int {
        var isTag = false
        return mark.utf16.count { unit in
            if unit == UInt16(UInt8(ascii: "<")) { isTag = true }
            defer { if unit == UInt16(UInt8(ascii: ">")) { isTag = false } }
            return !isTag
        }
    }

    /// A user's number, or a name with or without `@`. Telegram has no groups.
    static func mention(_ mention: Message.Mention) -> String? {
        guard case .user(let id) = mention else { return nil }
        if !id.isEmpty, id.utf8.count <= 20, id.utf8.allSatisfy(ASCII.isDigit) {
            return "<a href=\"tg://user?id=\(id)\">\(id)</a>"
        }
        let name = id.hasPrefix("@") ? id.dropFirst() : id[...]
        let isName = 4...32 ~= name.utf8.count && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
        return isName ? "@" + name : nil
    }
}

struct TelegramRenderer: Sendable {
    func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(TelegramMarkup.mention)
        let text = MessageText(flavour: TelegramMarkup(), limit: TelegramLimits.text)
        return [
            "text": .string(text.render(message, from: origin, mentions: mentions)), "parse_mode": "HTML",
            "link_preview_options": ["is_disabled": true],
        ]
    }
}
