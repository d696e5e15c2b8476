import BellhopCore

/// A message as the arguments that a person edits: texts in Markdown, lists with their lines as they are.
///
/// Parts that the person does not change stay as they were. Changed parts are read as Markdown whose words are values, so that no
/// receiver mistakes a word from a ticket for its own markup.
struct MessageForm {
    let message: Message

    /// The settings of an edited message: those of a step without receivers and expressions. The thread cannot be edited, because
    /// the order among the other deliveries depends on it.
    static func settings(of action: ActionManifest) -> [Setting] { settings(action.arguments) }

    private static func settings(_ settings: [Setting]) -> [Setting] {
        settings.compactMap { setting in
            var setting = setting
            switch (setting.name, setting.type) {
            case ("to", _), ("skip_empty", _), ("thread", _): return nil
            case ("list", .record):
                setting.type = .record([
                    Setting("items", .list(.markdown), "The lines of the list."),
                    Setting("more", .integer(0...Int.max), "How many elements are not shown."),
                    Setting("empty", .markdown, "The text for an empty list."),
                ])
            case ("sections", .list(.record(let part))): setting.type = .list(.record(Self.settings(part)))
            default: break
            }
            return setting
        }
    }

    var arguments: JSON.Object {
        var object = Self.form(own)
        if !message.sections.isEmpty { object["sections"] = .array(message.sections.map { .object(Self.form($0)) }) }
        object["severity"] = .string(message.severity.rawValue)
        if let link = message.link { object["link"] = ["address": .string(link.address), "label": .string(link.label)] }
        if !message.mentions.isEmpty { object["mentions"] = .array(message.mentions.map(Self.form)) }
        if message.update { object["update"] = true }
        if message.resolve { object["resolve"] = true }
        return object
    }

    /// The message with these arguments, which were checked against ``settings(of:)``.
    func message(with arguments: JSON.Object) -> Message {
        let old = self.arguments
        func isChanged(_ name: String) -> Bool { arguments[name] != old[name] }
        var new = message
        let own = Self.section(arguments, was: own)
        (new.title, new.text, new.list, new.fields) = (own.title, own.text, own.list, own.fields)
        if isChanged("sections") {
            new.sections = (arguments["sections"]?.asArray ?? []).enumerated().map { place, part in
                let was = message.sections.indices.contains(place) ? message.sections[place] : Message.Section()
                return Self.section(part.asObject ?? [:], was: was)
            }
        }
        if isChanged("severity") { new.severity = Message.Severity(rawValue: arguments["severity"]?.asString ?? "") ?? .info }
        if isChanged("link") { new.link = Self.link(arguments["link"]) }
        if isChanged("mentions") { new.mentions = (arguments["mentions"]?.asArray ?? []).flatMap(Self.mentions) }
        new.update = arguments["update"] == true
        new.resolve = arguments["resolve"] == true
        if new != message { new.isFallback = false }
        return new
    }

    /// The message's own part, without its sections.
    private var own: Message.Section {
        Message.Section(title: message.title, text: message.text, list: message.list, fields: message.fields)
    }

    // MARK: - Parts

    private static func form(_ section: Message.Section) -> JSON.Object {
        var object: JSON.Object = [:]
        if !section.title.isEmpty { object["title"] = .string(section.title.plainText) }
        if !section.text.isEmpty { object["text"] = .string(MarkdownWriter.text(section.text)) }
        if let list = section.list { object["list"] = form(list) }
        if !section.fields.isEmpty { object["fields"] = form(section.fields) }
        return object
    }

    private static func section(_ arguments: JSON.Object, was: Message.Section) -> Message.Section {
        let old = form(was)
        var section = was
        if arguments["title"] != old["title"] { section.title = plain(arguments["title"]) }
        if arguments["text"] != old["text"] { section.text = blocks(arguments["text"]) }
        if arguments["list"] != old["list"] { section.list = arguments["list"].map(list) }
        if arguments["fields"] != old["fields"] { section.fields = fields(arguments["fields"]) }
        return section
    }

    private static func form(_ mention: Message.Mention) -> JSON {
        switch mention {
        case .user(let id): ["user": .string(id)]
        case .group(let id): ["group": .string(id)]
        }
    }

    private static func mentions(_ value: JSON) -> [Message.Mention] {
        (value["user"]?.plainText.nonEmpty.map { [.user($0)] } ?? [])
            + (value["group"]?.plainText.nonEmpty.map { [.group($0)] } ?? [])
    }

    private static func form(_ list: Message.List) -> JSON {
        var object: JSON.Object = ["items": .array(list.items.map { .string(MarkdownWriter.line($0)) })]
        if list.more > 0 { object["more"] = .int(Int64(list.more)) }
        if !list.empty.isEmpty { object["empty"] = .string(MarkdownWriter.line(list.empty)) }
        return .object(object)
    }

    private static func form(_ fields: [Message.Field]) -> JSON {
        .object(fields.reduce(into: [:]) { $0[$1.name.plainText] = .string($1.value.plainText) })
    }

    private static func plain(_ value: JSON?) -> [Message.Inline] {
        value?.plainText.nonEmpty.map { [.value($0)] } ?? []
    }

    private static func blocks(_ value: JSON?) -> [Message.Block] {
        markdown(value).filled([]).map { block in
            switch block {
            case .paragraph(let inlines): .paragraph(inlines.withoutOwnText)
            case .list(let ordered, let items): .list(ordered: ordered, items: items.map(\.withoutOwnText))
            }
        }
    }

    private static func line(_ value: JSON?) -> [Message.Inline] { markdown(value).filledInline([]).withoutOwnText }

    private static func markdown(_ value: JSON?) -> MarkdownTemplate {
        MarkdownTemplate((value?.plainText ?? "").unicodeScalars.map(MarkdownTemplate.Unit.scalar))
    }

    private static func list(_ value: JSON) -> Message.List {
        Message.List(
            items: value["items"]?.asArray?.map { line($0) } ?? [], more: Int(value["more"]?.asInt ?? 0),
            empty: line(value["empty"]))
    }

    private static func fields(_ value: JSON?) -> [Message.Field] {
        (value?.asObject ?? [:]).map { Message.Field(name: [.text($0.key)], value: plain($0.value)) }
    }

    private static func link(_ value: JSON?) -> Message.Link? {
        guard let address = value?["address"]?.asString ?? value?.asString, !address.isEmpty else { return nil }
        return Message.Link(label: value?["label"]?.asString ?? address, address: address)
    }
}

extension [Message.Inline] {
    /// The same with all text as values.
    fileprivate var withoutOwnText: [Message.Inline] {
        map { inline in
            switch inline {
            case .text(let words), .value(let words): .value(words)
            case .strong(let inner): .strong(inner.withoutOwnText)
            case .emphasis(let inner): .emphasis(inner.withoutOwnText)
            case .code(let inner): .code(inner.withoutOwnText)
            case .link(let label, let address): .link(label: label.withoutOwnText, address: address.withoutOwnText)
            case .lineBreak: .lineBreak
            }
        }
    }
}
