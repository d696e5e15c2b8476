import BellhopCore

enum TeamsLimits {
    /// In bytes, the card as a text in another JSON document, where each quotation mark has a backslash: Teams drops a message of more
    /// than 28 KB in that form, after the workflow has accepted it (msteams-docs, issue 11274).
    static let card = 26_000
    /// All text together, in code points.
    static let text = 8000
    static let title = 300
    static let fields = 50
    static let fieldValue = 1000
    static let item = 500
    /// What a further line counts as: it is a block of about 100 bytes.
    static let line = 10
    static let mentions = 50
    /// The bytes of all mentions: half of the card, so that the text remains.
    static let mentionRoom = card / 2
}

/// Renders a message as an Adaptive Card 1.4 for the workflow "When a Teams webhook request is received".
///
/// `TextBlock` and facts interpret Markdown, so all that may contain values is a `RichTextBlock`: runs of plain text with a
/// separate style. The only `TextBlock` contains the rule's mentions, which `msteams.entities` lists. `<at>` in a value remains
/// text.
extension TeamsReceiver {
    static func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        var limit = TeamsLimits.text
        while true {
            let card = TeamsCard(message, origin, room: limit).json
            if card.sizeAsText <= TeamsLimits.card || limit < 200 { return Self.envelope(card) }
            limit = limit * 2 / 3
        }
    }

    private static func envelope(_ card: JSON) -> JSON {
        [
            "type": "message",
            "attachments": [["contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": .null, "content": card]],
        ]
    }
}

private struct TeamsCard {
    private(set) var body: [JSON] = []
    private var actions: [JSON] = []
    private var entities: [JSON] = []
    private var room: Int
    private var wasCut = false

    init(_ message: Message, _ origin: MessageOrigin, room: Int) {
        self.room = room
        let context = DisplayText.cut(MessageTitle.context(message, origin), to: 500)
        self.room -= context.unicodeScalars.count
        mention(message.mentions)
        let title = DisplayText.cut(MessageTitle.text(message, origin), to: TeamsLimits.title)
        if !title.isEmpty {
            body.append(Self.rich([Self.run(title, .strong, Self.titleStyle(message.severity))]))
            self.room -= title.unicodeScalars.count
        }
        let groups = MessageContent(message).groups
        // Each group has at least half of an equal share, and what earlier groups leave over.
        let share = self.room / (2 * max(groups.count, 1))
        for (place, group) in groups.enumerated() { write(group, room: self.room - share * (groups.count - place - 1)) }
        if let link = message.link ?? (wasCut ? origin.taskLink : nil) { open(link) }
        body.append(Self.rich([Self.run(context, .emphasis, ["size": "Small", "isSubtle": true])], spacing: "Medium"))
    }

    var json: JSON {
        var card: JSON.Object = [
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
            "body": .array(body),
        ]
        if !actions.isEmpty { card["actions"] = .array(actions) }
        card["msteams"] = entities.isEmpty ? ["width": "full"] : ["width": "full", "entities": .array(entities)]
        return .object(card)
    }

    private mutating func write(_ group: MessageContent.Group, room limit: Int) {
        var left = limit
        func lines(_ text: StyledText, upTo most: Int = .max) -> [[JSON]] {
            var runs = TeamsRuns(room: min(left, most))
            runs.write(text)
            left -= runs.cost
            if runs.wasCut { wasCut = true }
            return runs.lines
        }
        func runs(_ text: StyledText, upTo most: Int) -> [JSON] { lines(text, upTo: most).flatMap { $0 } }
        for part in group {
            guard left > 0 else {
                wasCut = true
                break
            }
            let before = left
            switch part {
            case .heading(let title):
                let all = runs(title, upTo: TeamsLimits.title)
                if !all.isEmpty { body.append(Self.rich(all.map { $0.with("weight", "Bolder") }, spacing: "Medium")) }
            case .paragraph(let text):
                for (place, line) in lines(text).enumerated() {
                    let line = line.isEmpty ? [Self.run(" ", .plain)] : line
                    body.append(Self.rich(line, spacing: place == 0 ? "Default" : "None"))
                }
            case .fields(let fields):
                var shown = 0
                for field in fields.prefix(TeamsLimits.fields) where left > 0 {
                    let name = runs(field.name, upTo: TeamsLimits.title).map { $0.with("weight", "Bolder") }
                    let value = [Self.run(" ", .plain)] + runs(field.value, upTo: TeamsLimits.fieldValue)
                    body.append(Self.rich(name + value, spacing: "Small"))
                    shown += 1
                }
                if shown < fields.count { wasCut = true }
                more(fields.count - shown)
            case .list(let items, let isOrdered, let count):
                var shown = 0
                for (place, item) in items.enumerated() {
                    let all = runs(item, upTo: TeamsLimits.item)
                    guard left > 40 || place == items.count - 1 else { break }
                    body.append(Self.rich([Self.run(isOrdered ? "\(place + 1). " : "• ", .plain)] + all, spacing: "Small"))
                    shown += 1
                }
                if shown < items.count { wasCut = true }
                more(count + items.count - shown)
            }
            room -= before - left
        }
    }

    private mutating func more(_ count: Int) {
        if count > 0 { body.append(Self.rich([Self.run(PlainRenderer.more(count), .emphasis)], spacing: "Small")) }
    }

    /// Mentions users by their Teams id or address, which is also the displayed name. A similar character replaces underscores in the
    /// name, which would be Markdown. Groups are not supported here.
    private mutating func mention(_ mentions: [Message.Mention]) {
        var words: [String] = []
        var left = TeamsLimits.mentionRoom
        for case .user(let id) in mentions.prefix(TeamsLimits.mentions) where Self.isUser(id) {
            let name = id.replacing("_", with: "\u{FF3F}")
            let text = "<at>\(name)</at>"
            let entity: JSON = [
                "type": "mention", "text": .string(text), "mentioned": ["id": .string(id), "name": .string(name)],
            ]
            left -= entity.sizeAsText + text.utf8.count + 1
            if left < 0 { break }
            words.append(text)
            entities.append(entity)
        }
        guard !words.isEmpty else { return }
        body.append(["type": "TextBlock", "text": .string(words.joined(separator: " ")), "wrap": true])
    }

    private mutating func open(_ link: Message.Link) {
        guard let address = LinkAddress(link.address, limit: StyledText.longestAddress) else {
            var runs = TeamsRuns(room: StyledText.longestAddress)
            runs.write(StyledText(link))
            return body.append(Self.rich(runs.lines.flatMap { $0 }))
        }
        let label = link.shownLabel(limit: 75)
        actions.append(["type": "Action.OpenUrl", "title": .string(label), "url": .string(address.text)])
    }

    /// A Microsoft Entra id or a user principal name.
    private static func isUser(_ id: String) -> Bool { ASCII.isName(id, of: 3...128, with: "@.-_'") }

    private static func titleStyle(_ severity: Message.Severity) -> JSON.Object {
        switch severity {
        case .info: ["size": "Large"]
        case .warning: ["size": "Large", "color": "Warning"]
        case .error, .critical: ["size": "Large", "color": "Attention"]
        }
    }

    private static func rich(_ inlines: [JSON], spacing: String = "Default") -> JSON {
        ["type": "RichTextBlock", "spacing": .string(spacing), "inlines": .array(inlines)]
    }

    fileprivate static func run(_ text: String, _ style: StyledText.Style, _ more: JSON.Object = [:]) -> JSON {
        var run: JSON.Object = ["type": "TextRun", "text": .string(text)]
        switch style {
        case .plain: break
        case .strong: run["weight"] = "Bolder"
        case .emphasis: run["italic"] = true
        case .strongEmphasis: (run["weight"], run["italic"]) = ("Bolder", true)
        case .code: run["fontType"] = "Monospace"
        }
        return .object(run.adding(more))
    }
}

/// Styled text as lines of runs, each line for a `RichTextBlock`.
private struct TeamsRuns {
    private(set) var lines: [[JSON]] = []
    private(set) var cost = 0
    private(set) var wasCut = false
    private var isFull = false
    private var room: Int

    init(room: Int) { self.room = room }

    mutating func write(_ text: StyledText) {
        if !text.isBlank { lines.append([]) }
        for run in text.runs where !isFull && !lines.isEmpty {
            switch run {
            case .lineBreak:
                if room < TeamsLimits.line {
                    add("…", .plain)
                    (wasCut, isFull) = (true, true)
                } else {
                    take(TeamsLimits.line)
                    lines.append([])
                }
            case .text(let words, let style): add(words, style)
            case .link(let address, let label):
                let action: JSON = ["type": "Action.OpenUrl", "url": .string(address.text)]
                guard address.text.utf8.count < room else {
                    wasCut = true
                    add(label, .plain)
                    continue
                }
                take(address.text.utf8.count)
                add(label, .plain, ["selectAction": action])
            }
        }
    }

    private mutating func add(_ words: String, _ style: StyledText.Style, _ more: JSON.Object = [:]) {
        // Without room, the ellipsis is written all the same, and nothing after it.
        let fitting = room > 0 ? DisplayText.cut(words, to: room) : DisplayText.ellipsis
        if room <= 0 || !fitting.hasBytes(of: words) { (wasCut, isFull) = (true, true) }
        take(fitting.unicodeScalars.count)
        lines[lines.count - 1].append(TeamsCard.run(fitting, style, more))
    }

    private mutating func take(_ amount: Int) {
        cost += amount
        room -= amount
    }
}

extension JSON {
    /// In bytes, its text as a string of another JSON document.
    fileprivate var sizeAsText: Int { JSON.string(text).encoded().count }

    fileprivate func with(_ name: String, _ value: JSON) -> JSON {
        var copy = self
        copy[name] = value
        return copy
    }
}
