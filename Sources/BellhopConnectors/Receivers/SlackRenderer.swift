import BellhopCore

/// The limits of a message to Slack, in code points unless noted otherwise.
///
/// From the Block Kit reference, as far as it states limits. The limit on all blocks together is undocumented: Slack refuses with
/// `msg_blocks_too_long` from about 13,200 on, which includes more than the text, and has refused rich text with 11,300
/// characters. So the text stays well below, and each element counts with an overhead.
enum SlackLimits {
    static let blocks = 50
    static let header = 150
    /// For a title too long for the header, the text, and the fields together. A section's limit, although none is documented for
    /// rich text.
    static let section = 3000
    static let fieldName = 150
    static let fieldValue = 2000
    static let item = 1000
    static let context = 500
    static let buttonLabel = 75
    /// In bytes.
    static let address = 3000
    static let mentions = 50
    /// In bytes, the `text` beside the blocks with its escapes: `chat.update` refuses more than 4,000 (`msg_too_long`).
    static let fallback = 3900
    /// All text in blocks.
    static let total = 10_000
    /// The overhead of an element.
    static let element = 20
}

/// Renders a message for Slack (Block Kit).
///
/// Inserted values cannot become markup, links or mentions. Titles, labels and the last line are `plain_text`, which has no
/// markup. Texts, fields and lists are `rich_text`, whose elements keep their style separate from their text. The alternative,
/// `mrkdwn`, has no escape for asterisks, underscores, tildes and backticks; breaking them with invisible characters would end up
/// in every number and path copied from a message. Slack parses only the `text` for notifications: there `&`, `<` and `>`, which
/// mentions and links need, are escaped, and markup and names are turned off.
extension SlackReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        .object([
            "text": .string(fallback(message, origin)), "mrkdwn": false, "parse": "none", "link_names": false,
            "unfurl_links": false, "unfurl_media": false, "blocks": .array(blocks(message, origin)),
        ])
    }

    private static func blocks(_ message: Message, _ origin: MessageOrigin) -> [JSON] {
        var left = SlackLimits.total
        var blocks: [JSON] = []
        func add(_ block: JSON?) {
            guard let block else { return }
            left -= Self.cost(block)
            blocks.append(block)
        }
        let title = MessageTitle.text(message, origin)
        let head = DisplayText.cut(title, to: SlackLimits.header)
        add(mentions(message.mentions))
        if !head.isEmpty { add(Self.block("header", ["text": Self.plain(head)])) }
        let last = DisplayText.cut(MessageTitle.context(message, origin), to: SlackLimits.context)
        left -= last.unicodeScalars.count + 2 * SlackLimits.element
        let button = button(message.link ?? (mayBeCut(message) ? origin.taskLink : nil))
        if let button { left -= Self.cost(button) }

        if head != title {
            var whole = SlackRichText(room: min(SlackLimits.section, left))
            whole.add(title, .init(bold: true))
            add(Self.richText([whole.section]))
        }
        // The number of left out parts, the link and the last line need a block each.
        var free = SlackLimits.blocks - 3 - blocks.count
        let all = message.parts
        let parts = all.prefix { part in
            free -= part.blockCount
            return free >= 0
        }
        // Each part has at least half of an equal share, and what earlier parts leave over.
        let share = left / (2 * max(parts.count, 1))
        for (place, part) in parts.enumerated() {
            let later = (parts.count - place - 1) * share
            // The room of a block without the overhead of its own two elements.
            func room() -> Int { min(SlackLimits.section, left - later - 2 * SlackLimits.element) }
            if !part.title.isEmpty {
                var heading = SlackRichText(room: SlackLimits.header, oneLine: true)
                heading.add(part.title.plainText, .init(bold: true))
                add(Self.richText([heading.section]))
            }
            add(text(part.text, room: room()))
            if !part.fields.isEmpty { add(Self.richText([fields(part.fields, room: room()).section])) }
            if let list = part.list { add(Self.list(list, room: left - later)) }
        }
        if parts.count < all.count { add(Self.richText([Self.more(all.count - parts.count)])) }
        if let button {
            blocks.append(button)
        } else if let link = message.link {
            var text = SlackRichText(room: SlackLimits.header + SlackLimits.address, oneLine: true)
            text.add([.link(label: [.value(link.label)], address: [.value(link.address)])])
            add(Self.richText([text.section]))
        }
        blocks.append(Self.block("context", ["elements": .array([Self.plain(last)])]))
        return blocks
    }

    /// Whether a limit may apply to one of its parts.
    private static func mayBeCut(_ message: Message) -> Bool {
        PlainRenderer.text(message).unicodeScalars.count > SlackLimits.section * 2 / 3 || message.sections.count > 8
    }

    /// Mentions are elements of rich text. Ids of another form are left out.
    private static func mentions(_ mentions: [Message.Mention]) -> JSON? {
        let elements = mentions.prefix(SlackLimits.mentions).compactMap { mention -> JSON? in
            switch mention {
            case .user(let id) where Self.isID(id): ["type": "user", "user_id": .string(id)]
            case .group(let name) where ["here", "channel", "everyone"].contains(name):
                ["type": "broadcast", "range": .string(name)]
            case .group(let id) where Self.isID(id): ["type": "usergroup", "usergroup_id": .string(id)]
            case .user, .group: nil
            }
        }
        guard !elements.isEmpty else { return nil }
        let space: JSON = ["type": "text", "text": " "]
        let spaced = Array(elements.flatMap { [$0, space] }.dropLast())
        return Self.richText([["type": "rich_text_section", "elements": .array(spaced)]])
    }

    /// Capital letters and digits, beginning with U, W or S.
    private static func isID(_ id: String) -> Bool {
        6...16 ~= id.utf8.count && "UWS".contains(id.first ?? " ")
            && id.utf8.allSatisfy { $0.isASCIIDigit || (0x41...0x5a).contains($0) }
    }

    /// The code points that a block takes of the total: its texts and addresses, and the overhead of its elements.
    private static func cost(_ block: JSON) -> Int {
        switch block {
        case .array(let elements): elements.reduce(0) { $0 + cost($1) }
        case .object(let members):
            members.reduce(members["type"] == nil ? 0 : SlackLimits.element) { sum, member in
                let isText = member.key == "text" || member.key == "url"
                return sum + (isText ? member.value.asString?.unicodeScalars.count ?? cost(member.value) : cost(member.value))
            }
        case .null, .bool, .int, .double, .string: 0
        }
    }

    private static func text(_ parts: [Message.Block], room: Int) -> JSON? {
        var elements: [JSON] = []
        var room = room
        var prose: SlackRichText?
        func endProse() {
            guard let ended = prose else { return }
            if !ended.runs.isEmpty { elements.append(ended.section) }
            room = ended.room
            prose = nil
        }
        for part in parts where room > 0 {
            switch part {
            case .paragraph(let inlines):
                var section = prose ?? SlackRichText(room: room)
                if prose != nil { section.add("\n\n") }
                section.add(inlines)
                prose = section
            case .list(let isOrdered, let items):
                endProse()
                var sections: [JSON] = []
                for item in items where room > 0 {
                    var section = SlackRichText(room: room, oneLine: true)
                    section.add(item)
                    sections.append(section.section)
                    room = section.room - SlackLimits.element
                }
                if !sections.isEmpty { elements.append(Self.richList(sections, ordered: isOrdered)) }
            }
        }
        endProse()
        return elements.isEmpty ? nil : Self.richText(elements)
    }

    /// One line per field, its name in bold.
    private static func fields(_ fields: [Message.Field], room: Int) -> SlackRichText {
        var section = SlackRichText(room: room)
        for (place, field) in fields.enumerated() {
            if place > 0 { section.add("\n") }
            let name = DisplayText.line(field.name.plainText, to: SlackLimits.fieldName)
            section.add(name + ": ", .init(bold: true))
            var value = SlackRichText(room: min(section.room, SlackLimits.fieldValue), oneLine: true)
            value.add(field.value)
            section.append(value)
        }
        return section
    }

    /// One line per item, and a line that counts the items that do not fit.
    private static func list(_ list: Message.List, room: Int) -> JSON? {
        if list.items.isEmpty, list.more == 0 {
            var section = SlackRichText(room: SlackLimits.item)
            section.add(list.empty)
            return section.runs.isEmpty ? nil : Self.richText([section.section])
        }
        var left = room - 4 * SlackLimits.element
        var sections: [JSON] = []
        for item in list.items {
            var section = SlackRichText(room: SlackLimits.item, oneLine: true)
            section.add(item)
            left -= section.cost + SlackLimits.element
            guard left >= 0 else { break }
            sections.append(section.section)
        }
        var elements = sections.isEmpty ? [] : [Self.richList(sections, ordered: false)]
        let more = list.more + list.items.count - sections.count
        if more > 0 { elements.append(Self.more(more)) }
        return Self.richText(elements)
    }

    private static func more(_ count: Int) -> JSON {
        var section = SlackRichText(room: SlackLimits.item)
        section.add(PlainRenderer.more(count), .init(italic: true))
        return section.section
    }

    private static func button(_ link: Message.Link?) -> JSON? {
        guard let link, let address = LinkAddress(link.address, limit: SlackLimits.address) else { return nil }
        let label = Self.plain(link.shownLabel(limit: SlackLimits.buttonLabel))
        let button: JSON = .object(["type": "button", "text": label, "url": .string(address.text)])
        return Self.block("actions", ["elements": .array([button])])
    }

    /// The escaped text for notifications, cut between characters.
    private static func fallback(_ message: Message, _ origin: MessageOrigin) -> String {
        let plain = PlainRenderer.text(message)
        let text = plain.isEmpty ? origin.rule : plain
        if text.utf8.count <= SlackLimits.fallback {
            let whole = Self.escape(text)
            if whole.utf8.count <= SlackLimits.fallback { return whole }
        }
        var cut = ""
        for character in text {
            let next = Self.escape(String(character))
            if cut.utf8.count + next.utf8.count + DisplayText.ellipsis.utf8.count > SlackLimits.fallback { break }
            cut += next
        }
        return cut + DisplayText.ellipsis
    }

    /// Escapes the three characters that Slack requires to be escaped in texts that it parses.
    static func escape(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&", "<", ">": HTMLMarkup.escape(scalar, into: &escaped)
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }

    private static func block(_ type: JSON, _ members: JSON.Object) -> JSON {
        .object((["type": type] as JSON.Object).adding(members))
    }

    private static func plain(_ text: String) -> JSON { .object(["type": "plain_text", "text": .string(text), "emoji": false]) }

    private static func richText(_ elements: [JSON]) -> JSON { block("rich_text", ["elements": .array(elements)]) }

    private static func richList(_ sections: [JSON], ordered: Bool) -> JSON {
        block("rich_text_list", ["style": ordered ? "ordered" : "bullet", "elements": .array(sections)])
    }
}

extension Message.Section {
    /// The most blocks that it takes.
    fileprivate var blockCount: Int { [title.isEmpty, text.isEmpty, fields.isEmpty, list == nil].count { !$0 } }
}
