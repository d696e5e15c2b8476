import BellhopCore

/// The limits of a message to Discord, in code points, from Discord's reference of embeds and webhooks.
enum DiscordLimits {
    static let content = 2000
    static let title = 256
    static let description = 4096
    static let fields = 25
    static let fieldName = 256
    static let fieldValue = 1024
    /// The reference allows 2,048.
    static let footer = 500
    /// All texts of an embed together.
    static let total = 6000
    /// The part of the total for all fields.
    static let allFields = 2500
    /// The ids in `allowed_mentions`.
    static let mentions = 100
}

/// Renders a message as one embed.
///
/// Titles, descriptions and fields are Markdown; the footer is plain text. Only `content` can notify people: it contains the
/// rule's mentions alone, and `allowed_mentions` lists them one by one.
extension DiscordReceiver {
    private static let markup = DiscordMarkup()

    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        var embed: JSON.Object = ["color": .int(Int64(message.severity.colour))]
        var left = DiscordLimits.total
        func take(_ text: String) -> JSON {
            left -= text.unicodeScalars.count
            return .string(text)
        }
        let title = write(StyledText(MessageTitle.text(message, origin)), DiscordLimits.title)
        if !title.isEmpty { embed["title"] = take(title) }
        let footer = take(DisplayText.cut(MessageTitle.context(message, origin), to: DiscordLimits.footer))
        let fields = fields(message.fields)
        left -= fields.cost
        let text = MessageText(flavour: markup, limit: min(DiscordLimits.description, left), parts: .link)
        let description = text.render(message, from: origin)
        if !description.isEmpty { embed["description"] = .string(description) }
        // Discord refuses a message whose title links to a host without a full stop, such as one in the local network.
        if let link = message.link, let address = LinkAddress(link.address, limit: StyledText.longestAddress), !title.isEmpty,
            (try? HTTPAddress(link.address))?.host.contains(".") == true
        {
            embed["url"] = .string(address.text)
        }
        if !fields.all.isEmpty { embed["fields"] = .array(fields.all) }
        embed["footer"] = .object(["text": footer])
        let mentions = mentions(message.mentions)
        return .object([
            "content": .string(mentions.content), "embeds": .array([.object(embed)]), "allowed_mentions": mentions.allowed,
        ])
    }

    /// The fields that fit. If some do not, the last one counts them.
    private static func fields(_ fields: [Message.Field]) -> (all: [JSON], cost: Int) {
        var all: [JSON] = []
        var left = DiscordLimits.allFields
        for (place, field) in fields.enumerated() {
            let rest = fields.count - place
            let name = write(StyledText(field.name.plainText), DiscordLimits.fieldName)
            let value = write(StyledText(field.value, oneLine: true), DiscordLimits.fieldValue)
            let cost = max(name.unicodeScalars.count, 1) + max(value.unicodeScalars.count, 1)
            let isLast = rest == 1 || (all.count < DiscordLimits.fields - 1 && left - cost >= 2 * DiscordLimits.title)
            guard isLast, cost <= left else {
                all.append(Self.field("…", PlainRenderer.more(rest), isShort: false))
                return (all, DiscordLimits.allFields)
            }
            left -= cost
            all.append(Self.field(name, value, isShort: value.unicodeScalars.count <= 40))
        }
        return (all, DiscordLimits.allFields - left)
    }

    /// The mentions, and whom they may notify. Ids that are not Discord's are left out.
    private static func mentions(_ mentions: [Message.Mention]) -> (content: String, allowed: JSON) {
        var (users, roles, parse): ([JSON], [JSON], [JSON]) = ([], [], [])
        var words: [String] = []
        for mention in mentions.prefix(DiscordLimits.mentions) {
            switch mention {
            case .user(let id) where isID(id):
                words.append("<@\(id)>")
                users.append(.string(id))
            case .group(let name) where ["everyone", "here"].contains(name):
                words.append("@\(name)")
                parse = ["everyone"]
            case .group(let id) where isID(id):
                words.append("<@&\(id)>")
                roles.append(.string(id))
            case .user, .group: break
            }
        }
        while words.joined(separator: " ").utf8.count > DiscordLimits.content { words.removeLast() }
        return (words.joined(separator: " "), ["parse": .array(parse), "users": .array(users), "roles": .array(roles)])
    }

    /// A snowflake.
    private static func isID(_ text: String) -> Bool { 15...20 ~= text.utf8.count && text.utf8.allSatisfy(\.isASCIIDigit) }

    private static func write(_ text: StyledText, _ limit: Int) -> String {
        var writer = MarkupWriter(markup, room: limit)
        if !text.isBlank { writer.write(text) }
        return writer.text
    }

    /// Discord refuses an empty name or value.
    private static func field(_ name: String, _ value: String, isShort: Bool) -> JSON {
        ["name": .string(name.isEmpty ? "–" : name), "value": .string(value.isEmpty ? "–" : value), "inline": .bool(isShort)]
    }
}

/// Discord's Markdown, with backslashes only before characters that have a meaning.
///
/// Discord supports a backslash before any character but letters, digits and blanks. The one before a colon prevents an address
/// in a value from becoming a link.
struct DiscordMarkup: MarkdownMarkup {
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        escape(scalar, at: place, into: &text) { text, isLineStart in
            switch scalar {
            case "\\", "`", "*", "_", "~", "|", "[", "]", "<", "@", ":": text += "\\"
            case "#", ">", "-", "+", ".", ")": if isLineStart { text += "\\" }
            default: break
            }
            text.unicodeScalars.append(scalar)
            if scalar == "@" { text += "\u{200B}" }
        }
    }
}
