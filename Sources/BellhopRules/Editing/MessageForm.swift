import BellhopCore

/// A message as the arguments that a person edits: texts in Markdown, lists with their lines as they are.
///
/// A part that the person leaves alone stays what it was. What the person changes is read as Markdown whose words are values,
/// so that no receiver takes a word that came from a ticket for markup of its own.
struct MessageForm {
    let message: Message

    /// The settings of an edited message: those of a step, without receivers and expressions.
    static func settings(of action: ActionManifest) -> [Setting] {
        action.arguments.compactMap { setting in
            switch setting.name {
            case "to": nil
            case "list":
                Setting(
                    setting.name,
                    .record([
                        Setting("items", .list(.markdown), "The lines of the list."),
                        Setting("more", .integer(0...Int.max), "How many elements are not shown."),
                        Setting("empty", .markdown, "The text for an empty list."),
                    ]), setting.summary)
            default: setting
            }
        }
    }

    var arguments: JSON.Object {
        var object: JSON.Object = ["title": .string(message.title.plainText)]
        if !message.text.isEmpty { object["text"] = .string(MarkdownWriter.text(message.text)) }
        if let list = message.list { object["list"] = Self.form(list) }
        if !message.fields.isEmpty { object["fields"] = Self.form(message.fields) }
        object["severity"] = .string(message.severity.rawValue)
        if let link = message.link { object["link"] = ["address": .string(link.address), "label": .string(link.label)] }
        if let thread = message.thread { object["thread"] = .string(thread) }
        return object
    }

    /// The message with these arguments, which were checked against ``settings(of:)``.
    func message(with arguments: JSON.Object) -> Message {
        let old = self.arguments
        var new = message
        func isChanged(_ name: String) -> Bool { arguments[name] != old[name] }
        if isChanged("title") { new.title = Self.plain(arguments["title"]) }
        if isChanged("text") { new.text = Self.blocks(arguments["text"]) }
        if isChanged("list") { new.list = arguments["list"].map(Self.list) }
        if isChanged("fields") { new.fields = Self.fields(arguments["fields"]) }
        if isChanged("severity") { new.severity = Message.Severity(rawValue: arguments["severity"]?.asString ?? "") ?? .info }
        if isChanged("link") { new.link = Self.link(arguments["link"]) }
        if isChanged("thread") { new.thread = arguments["thread"]?.asString }
        if new != message { new.isFallback = false }
        return new
    }

    // MARK: - Parts

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
    /// With every word a value.
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
