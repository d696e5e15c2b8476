import BellhopCore

/// How large a message to Mattermost may be, in code points (Alertmanager's Mattermost receiver).
enum MattermostLimits {
    static let text = 16_383
}

/// Mattermost's Markdown.
///
/// Its web client reads emphasis without regard to backslashes and knows few of them, so what has a meaning is written as a
/// character reference, which all its clients and its server read. An incoming webhook also turns Slack's `<!channel>`, `<@id>` and
/// `<url|label>` into its own; without angle brackets there are none.
struct MattermostMarkup: Markup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        guard case .text(let isLineStart, let previous) = place else {
            text.unicodeScalars.append(scalar)
            return
        }
        MarkdownText.indent(scalar, isLineStart: isLineStart && previous == nil, into: &text) {
            switch scalar {
            case "&": $0 += "&amp;"
            case "<": $0 += "&lt;"
            case ">": $0 += "&gt;"
            case "\\", "`", "*", "_", "~", "|", "[", "]", "$", "#", ":": $0 += "&#\(scalar.value);"
            case "-", "+", ")": $0 += isLineStart ? "\\\(scalar)" : String(scalar)
            case "=": $0 += isLineStart ? "&#61;" : "="
            case ".": $0 += "\\."
            case "@": $0 += "@\u{200B}"
            default: $0.unicodeScalars.append(scalar)
            }
        }
    }

    func marks(_ element: MarkupElement) -> MarkupMarks { MarkdownText.marks(element) }
    var guardsEmphasis: Bool { true }

    /// Slack's forms are replaced in code too.
    func canBeCode(_ text: String) -> Bool { MarkdownText.canBeCode(text) && !text.utf8.contains(UInt8(ascii: "<")) }

    /// A user's or group's name, or one of `all`, `channel` and `here`, which are groups.
    static func mention(_ mention: Message.Mention) -> String? {
        let name =
            switch mention {
            case .user(let name), .group(let name): name.hasPrefix("@") ? String(name.dropFirst()) : name
            }
        let isName = 1...64 ~= name.utf8.count && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "._-".utf8.contains($0) }
        if case .user = mention, ["all", "channel", "here"].contains(ASCII.lowercased(name)) { return nil }
        return isName ? "@" + name : nil
    }
}

struct MattermostRenderer: Sendable {
    func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(MattermostMarkup.mention)
        let text = MessageText(flavour: MattermostMarkup(), limit: MattermostLimits.text)
        return ["text": .string(text.render(message, from: origin, mentions: mentions))]
    }
}
