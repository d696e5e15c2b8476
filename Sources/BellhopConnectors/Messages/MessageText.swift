import BellhopCore

/// Renders a message as one text in a receiver's markup, within the receiver's limit.
///
/// The order is always: mentions, title, text, fields, list, sections, link, origin. The link and the origin have reserved room;
/// other parts get what they need, or at least a share. A cut message has a link: its own, or the task's.
struct MessageText<Flavour: Markup>: Sendable {
    /// The parts to write. A receiver that shows some parts elsewhere leaves them out.
    struct Parts: OptionSet, Sendable {
        let rawValue: Int

        static var title: Parts { Parts(rawValue: 1) }
        static var fields: Parts { Parts(rawValue: 2) }
        static var link: Parts { Parts(rawValue: 4) }
        static var origin: Parts { Parts(rawValue: 8) }
        static var all: Parts { [.title, .fields, .link, .origin] }
    }

    let flavour: Flavour
    /// In the units of the flavour's costs.
    var limit: Int
    var parts = Parts.all
    var longestTitle = 250
    var longestItem = 500

    /// - Parameter mentions: already as markup.
    func render(_ message: Message, from origin: MessageOrigin, mentions: [String] = []) -> String {
        let content = MessageContent(message, fields: parts.contains(.fields))
        let first = write(content, message, origin, link: message.link, mentions)
        guard first.wasCut, message.link == nil, parts.contains(.link), let link = origin.taskLink else { return first.text }
        return write(content, message, origin, link: link, mentions).text
    }

    private func write(
        _ content: MessageContent, _ message: Message, _ origin: MessageOrigin, link: Message.Link?, _ mentions: [String]
    ) -> MarkupWriter<Flavour> {
        var tail = MarkupWriter(flavour, room: limit)
        self.tail(link, message, origin, in: &tail)
        let separator = flavour.cost(ofMark: flavour.blockSeparator)
        let reserve = tail.isEmpty ? 0 : limit - tail.room + separator
        var writer = MarkupWriter(flavour, room: limit)
        writer.within(limit - reserve, links: tail.linkRoom, entities: tail.entityRoom) { writer in
            // Mentions take at most half of the room, so that the text remains.
            writer.within(writer.room / 2, links: writer.linkRoom / 2, entities: writer.entityRoom / 2) { writer in
                writer.block(.paragraph) { $0.mentions(mentions) }
            }
            if parts.contains(.title) {
                writer.within(longestTitle) { writer in
                    writer.block(.title) { $0.write(StyledText(MessageTitle.text(message, origin))) }
                }
            }
            var costs = content.groups.map { cost(of: $0, upTo: writer.room) }
            let share = writer.room / (2 * max(costs.count, 1))
            for group in content.groups {
                costs.removeFirst()
                let later = costs.reduce(0) { $0 + min($1, share) }
                writer.within(writer.room - later) { self.group(group, in: &$0) }
            }
        }
        self.tail(link, message, origin, in: &writer)
        return writer
    }

    /// The cost of a group with its separator, up to a limit.
    private func cost(of group: MessageContent.Group, upTo limit: Int) -> Int {
        var trial = MarkupWriter(flavour, room: limit)
        self.group(group, in: &trial)
        return trial.wasCut ? limit : limit - trial.room + flavour.cost(ofMark: flavour.blockSeparator)
    }

    private func group(_ group: MessageContent.Group, in writer: inout MarkupWriter<Flavour>) {
        for part in group {
            switch part {
            case .heading(let title): writer.block(.heading) { $0.write(title) }
            case .paragraph(let text): writer.block(.paragraph) { $0.write(text) }
            case .list(let items, let isOrdered, let more):
                writer.separated(by: writer.isEmpty ? "" : flavour.blockSeparator) {
                    $0.list(items, ordered: isOrdered, more: more, longest: longestItem)
                }
            case .fields(let fields):
                writer.block(.fields) { writer in
                    for (place, field) in fields.enumerated() {
                        writer.separated(by: place > 0 ? writer.flavour.fieldSeparator : "") { self.field(field, in: &$0) }
                    }
                }
            }
        }
    }

    private func field(_ field: MessageContent.Field, in writer: inout MarkupWriter<Flavour>) {
        writer.element(.field) { writer in
            writer.within(longestTitle) { writer in writer.element(.fieldName) { $0.write(field.name) } }
            writer.element(.fieldValue) { $0.write(field.value) }
        }
    }

    private func tail(
        _ link: Message.Link?, _ message: Message, _ origin: MessageOrigin, in writer: inout MarkupWriter<Flavour>
    ) {
        if parts.contains(.link), let link {
            let text = StyledText(link)
            writer.within(limit / 2) { writer in writer.block(.action) { $0.write(text) } }
        }
        if parts.contains(.origin) {
            writer.within(limit / 4) { writer in
                writer.block(.origin) { $0.write(StyledText(MessageTitle.context(message, origin))) }
            }
        }
    }
}

/// A message's content as groups of parts that share the room: its text, its fields, its list, and each section.
struct MessageContent: Sendable {
    enum Part: Sendable {
        case heading(StyledText)
        case paragraph(StyledText)
        case list([StyledText], ordered: Bool, more: Int)
        case fields([Field])
    }

    struct Field: Sendable {
        /// With a colon.
        var name: StyledText
        var value: StyledText
    }

    typealias Group = [Part]

    private(set) var groups: [Group] = []

    /// - Parameter fields: whether to include the message's own fields; those of sections are always included.
    init(_ message: Message, fields: Bool = true) {
        add(message.text.map(Self.part))
        if fields { add(Self.parts(message.fields)) }
        add(Self.parts(message.list))
        for section in message.sections {
            let heading = section.title.isEmpty ? [] : [Part.heading(StyledText(section.title.plainText))]
            add(heading + section.text.map(Self.part) + Self.parts(section.fields) + Self.parts(section.list))
        }
    }

    private mutating func add(_ group: Group) { if !group.isEmpty { groups.append(group) } }

    private static func part(_ block: Message.Block) -> Part {
        switch block {
        case .paragraph(let inlines): .paragraph(StyledText(inlines))
        case .list(let isOrdered, let items): .list(items.map(Self.item), ordered: isOrdered, more: 0)
        }
    }

    /// One line; a dash if the item is blank.
    private static func item(_ inlines: [Message.Inline]) -> StyledText {
        let item = StyledText(inlines, oneLine: true)
        return item.isBlank ? StyledText("–") : item
    }

    private static func parts(_ fields: [Message.Field]) -> Group {
        if fields.isEmpty { return [] }
        return [
            .fields(
                fields.map { field in
                    Field(name: StyledText(field.name.plainText + ":"), value: StyledText(field.value, oneLine: true))
                })
        ]
    }

    private static func parts(_ list: Message.List?) -> Group {
        guard let list else { return [] }
        if list.items.isEmpty, list.more == 0 { return list.empty.isEmpty ? [] : [.paragraph(StyledText(list.empty))] }
        return [.list(list.items.map(Self.item), ordered: false, more: list.more)]
    }
}

/// The title and the last line of a message, the same at every receiver.
enum MessageTitle {
    /// The title on one line, after a sign for the end of an alert or for a severity above `info`. A message without a title has
    /// the rule's name instead, or an empty title if it has no sign but other content.
    static func text(_ message: Message, _ origin: MessageOrigin) -> String {
        let words = DisplayText.line(message.title.plainText)
        let sign = message.resolve ? "✅" : message.severity.sign
        let isBlank = words.unicodeScalars.allSatisfy(\.isBlank)
        let hasContent = !message.text.isEmpty || message.list != nil || !message.sections.isEmpty
        if isBlank, sign.isEmpty, hasContent { return "" }
        return (sign.isEmpty ? "" : sign + " ") + (isBlank ? DisplayText.line(origin.rule) : words)
    }

    /// The title on one line without a sign; the rule's name if it is blank.
    static func plain(_ message: Message, _ origin: MessageOrigin) -> String {
        let title = DisplayText.line(message.title.plainText)
        return title.unicodeScalars.allSatisfy(\.properties.isWhitespace) ? DisplayText.line(origin.rule) : title
    }

    /// The last line: the severity, the rule and the delivery.
    static func context(_ message: Message, _ origin: MessageOrigin) -> String {
        var parts = message.isFallback ? [PlainRenderer.fallbackNote] : []
        if message.severity != .info { parts.append(message.severity.rawValue) }
        parts.append("rule \(DisplayText.line(origin.rule))")
        parts.append("delivery \(origin.delivery)")
        return parts.joined(separator: " · ")
    }
}

extension Message.Severity {
    /// The emoji before the title; empty for `info`.
    var sign: String {
        switch self {
        case .info: ""
        case .warning: "⚠️"
        case .error: "❌"
        case .critical: "🚨"
        }
    }

    /// Red, green and blue, for receivers that colour messages.
    var colour: Int {
        switch self {
        case .info: 0x35_7ABD
        case .warning: 0xE8_A317
        case .error: 0xD9_4B2B
        case .critical: 0xC9_1F37
        }
    }
}

extension StyledText {
    /// The label as a link; an unusable address stands beside it as text.
    init(_ link: Message.Link) {
        self.init([.link(label: [.text(link.shownLabel(limit: 75))], address: [.value(link.address)])], oneLine: true)
    }
}

extension Message.Link {
    /// The label on one line, cut to a number of code points; `Open` if it is empty.
    func shownLabel(limit: Int) -> String {
        let line = DisplayText.line(label)
        return DisplayText.cut(line.isEmpty ? "Open" : line, to: limit)
    }
}

/// The origin of a message, for receivers that show or store it.
struct MessageOrigin: Sendable, Hashable {
    /// The delivery's short name, the same for every attempt.
    var delivery: String
    var rule: String
    var task: TaskReference?
    var time: Timestamp
}

extension MessageOrigin {
    init(_ delivery: Delivery) {
        self.init(delivery: delivery.id.text, rule: delivery.id.rule, task: delivery.task, time: delivery.createdAt)
    }

    /// The task's page, if there is one.
    var taskLink: Message.Link? {
        guard let task, LinkAddress(task.url, limit: StyledText.longestAddress) != nil else { return nil }
        return Message.Link(label: task.number.isEmpty ? "Open" : task.number, address: task.url)
    }
}
