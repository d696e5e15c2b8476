import BellhopCore

/// An incoming webhook of Slack. It does not return a message's id, so nothing can answer it. Also works with compatible services, such as Mattermost.
struct SlackReceiver: HookReceiver {
    static let kind = "slack"
    static let summary = "A channel of Slack, through an incoming webhook."
    static let settings = [
        Setting("url", .secret, required: true, "The address of the incoming webhook; anyone who has it can post.")
    ]

    init(_ settings: Settings, connection: String) {}

    static func render(_ message: Message, from origin: MessageOrigin) -> JSON { SlackRenderer().render(message, from: origin) }

    func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
        call.post(rendered, ["Content-Type": "application/json; charset=utf-8"])
    }

    /// Slack says plain `ok` when it has taken a message; any other answer with status 200 comes from something else.
    func failure(of response: HTTPResponse, _ call: MessageCall, from hook: Hook) -> Failure? {
        guard StatusSet.success.contains(response.status), response.body.filter({ $0 > 0x20 }) != Array("ok".utf8) else {
            return nil
        }
        if ReceiverAnswer.isPage(response) {
            return Failure(
                .unexpectedPage, .retry(after: nil),
                "\(hook.label) answered with a web page instead of `ok`: an intermediary answered.")
        }
        return Failure(
            .badAnswer, .giveUp,
            "\(hook.label) answered \(response.status) but not `ok`, as an incoming webhook of Slack does\(hook.words(of: response))"
        )
    }
}

/// How large a message to Slack may be, in code points unless it says otherwise.
///
/// From the Block Kit reference, where it states any. The limit on all blocks together is undocumented: Slack refuses with
/// `msg_blocks_too_long` from about 13,200 on, counting more than the text, and has refused rich text messages with 11,300
/// characters of text. So the text stays well below, and each element has an overhead.
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
    /// The `text` beside the blocks; up to 40,000 are allowed, fewer than 4,000 recommended.
    static let fallback = 3500
    /// All text in blocks.
    static let total = 10_000
    /// The overhead of an element.
    static let element = 20
}

/// Renders a message for a Slack incoming webhook (Block Kit).
///
/// Inserted values cannot become markup, links or mentions. Titles, labels and the last line are `plain_text`, which has no
/// markup. Texts, fields and lists are `rich_text`, whose elements keep their style separate from their text. The alternative,
/// `mrkdwn`, has no escape for asterisks, underscores, tildes and backticks; breaking them with invisible characters would end up
/// in every number and path copied from a message. Slack parses only the `text` for notifications: there `&`, `<` and `>`, which
/// mentions and links need, are escaped, and markup and names are turned off.
struct SlackRenderer: Sendable {
    func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        .object([
            "text": .string(Self.escape(fallback(message, origin))), "mrkdwn": false, "parse": "none", "link_names": false,
            "unfurl_links": false, "unfurl_media": false, "blocks": .array(blocks(message, origin)),
        ])
    }

    private func blocks(_ message: Message, _ origin: MessageOrigin) -> [JSON] {
        var left = SlackLimits.total
        var blocks: [JSON] = []
        func add(_ block: JSON, _ cost: Int) {
            left -= cost + SlackLimits.element
            blocks.append(block)
        }
        let title = title(message, origin)
        let head = DisplayText.cut(title, to: SlackLimits.header)
        if !head.isEmpty { add(Self.block("header", ["text": Self.plain(head)]), head.unicodeScalars.count) }
        let last = DisplayText.cut(context(message, origin), to: SlackLimits.context)
        left -= last.unicodeScalars.count + SlackLimits.element
        let button = button(message.link)
        if let button { left -= button.cost }

        if head != title {
            var whole = SlackRichText(room: min(SlackLimits.section, left))
            whole.add(title, .init(bold: true))
            add(Self.richText([whole.section]), whole.cost)
        }
        if let text = text(message.text, room: min(SlackLimits.section, left)) { add(text.block, text.cost) }
        if !message.fields.isEmpty {
            let fields = fields(message.fields, room: min(SlackLimits.section, left))
            add(Self.richText([fields.section]), fields.cost)
        }
        if let list = message.list, let block = self.list(list, room: left) { add(block, 0) }
        if let button { blocks.append(button.block) }
        blocks.append(Self.block("context", ["elements": .array([Self.plain(last)])]))
        return Array(blocks.prefix(SlackLimits.blocks))
    }

    /// The title on one line, after an emoji for a severity above `info`. Without a title it is the rule's name, or nothing if
    /// there is no emoji to show and the text suffices.
    private func title(_ message: Message, _ origin: MessageOrigin) -> String {
        let words = DisplayText.line(message.title.plainText)
        let sign =
            switch message.severity {
            case .info: ""
            case .warning: "⚠️ "
            case .error: "❌ "
            case .critical: "🚨 "
            }
        let isBlank = words.unicodeScalars.allSatisfy(\.properties.isWhitespace)
        if isBlank, sign.isEmpty, !message.text.isEmpty || message.list != nil { return "" }
        return sign + (isBlank ? DisplayText.line(origin.rule) : words)
    }

    private func text(_ parts: [Message.Block], room: Int) -> (block: JSON, cost: Int)? {
        var elements: [JSON] = []
        var room = room
        var cost = 0
        var prose: SlackRichText?
        func endProse() {
            guard let ended = prose else { return }
            if !ended.runs.isEmpty { elements.append(ended.section) }
            room = ended.room
            cost += ended.cost
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
                    cost += section.cost + SlackLimits.element
                }
                if !sections.isEmpty { elements.append(Self.richList(sections, ordered: isOrdered)) }
            }
        }
        endProse()
        return elements.isEmpty ? nil : (Self.richText(elements), cost)
    }

    /// One line per field, its name in bold.
    private func fields(_ fields: [Message.Field], room: Int) -> SlackRichText {
        var section = SlackRichText(room: room)
        for (place, field) in fields.enumerated() where section.room > 0 {
            if place > 0 { section.add("\n") }
            let name = DisplayText.cut(DisplayText.line(field.name.plainText), to: SlackLimits.fieldName)
            section.add(name + ": ", .init(bold: true))
            var value = SlackRichText(room: min(section.room, SlackLimits.fieldValue), oneLine: true)
            value.add(field.value)
            section.append(value)
        }
        return section
    }

    /// One line per item; the following line counts those that do not fit.
    private func list(_ list: Message.List, room: Int) -> JSON? {
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
        if more > 0 {
            var section = SlackRichText(room: SlackLimits.item)
            section.add(PlainRenderer.more(more), .init(italic: true))
            elements.append(section.section)
        }
        return Self.richText(elements)
    }

    private func button(_ link: Message.Link?) -> (block: JSON, cost: Int)? {
        guard let link, let address = LinkAddress(link.address, limit: SlackLimits.address) else { return nil }
        let words = DisplayText.line(link.label)
        let label = DisplayText.cut(words.isEmpty ? "Open" : words, to: SlackLimits.buttonLabel)
        let button: JSON = .object(["type": "button", "text": Self.plain(label), "url": .string(address.text)])
        let cost = label.unicodeScalars.count + address.text.utf8.count + 2 * SlackLimits.element
        return (Self.block("actions", ["elements": .array([button])]), cost)
    }

    private func context(_ message: Message, _ origin: MessageOrigin) -> String {
        var parts = message.isFallback ? [PlainRenderer.fallbackNote] : []
        if message.severity != .info { parts.append(message.severity.rawValue) }
        parts.append("rule \(DisplayText.line(origin.rule))")
        parts.append("delivery \(origin.delivery)")
        return parts.joined(separator: " · ")
    }

    private func fallback(_ message: Message, _ origin: MessageOrigin) -> String {
        let text = DisplayText.cut(PlainRenderer().text(message), to: SlackLimits.fallback)
        return text.isEmpty ? origin.rule : text
    }

    /// Escapes what Slack requires in texts that it parses, and nothing else.
    static func escape(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 32)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func block(_ type: JSON, _ members: JSON.Object) -> JSON {
        var block: JSON.Object = ["type": type]
        for (key, value) in members { block[key] = value }
        return .object(block)
    }

    private static func plain(_ text: String) -> JSON {
        .object(["type": "plain_text", "text": .string(text), "emoji": false])
    }

    private static func richText(_ elements: [JSON]) -> JSON { block("rich_text", ["elements": .array(elements)]) }

    private static func richList(_ sections: [JSON], ordered: Bool) -> JSON {
        block("rich_text_list", ["style": ordered ? "ordered" : "bullet", "elements": .array(sections)])
    }
}
