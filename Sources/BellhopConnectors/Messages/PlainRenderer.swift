public import BellhopCore

/// Renders a message as plain text: for logs, device notifications, screen readers, and receivers without markup.
public enum PlainRenderer {
    /// The whole message, its parts separated by empty lines.
    public static func text(_ message: Message) -> String {
        var parts = [title(message)]
        for part in message.parts {
            parts.append(DisplayText.line(part.title.plainText))
            parts.append(body(part.text))
            parts.append(part.fields.map(field).joined(separator: "\n"))
            if let list = part.list { parts.append(lines(list)) }
        }
        if let link = message.link {
            let label = DisplayText.line(link.label)
            let address = DisplayText.line(link.address)
            parts.append(label.isEmpty || label == address ? address : "\(label): \(address)")
        }
        if message.isFallback { parts.append(fallbackNote) }
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    /// The severity if above `info`, and the title on one line.
    private static func title(_ message: Message) -> String {
        let severity =
            switch message.severity {
            case .info: ""
            case .warning: "Warning"
            case .error: "Error"
            case .critical: "Critical"
            }
        return [severity, DisplayText.line(message.title.plainText)].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    /// Paragraphs separated by empty lines, one line per list item.
    private static func body(_ text: [Message.Block]) -> String {
        text.map { block in
            switch block {
            case .paragraph(let inlines): DisplayText.clean(inlines.plainText)
            case .list(let isOrdered, let items):
                items.enumerated().map { place, item in
                    (isOrdered ? "\(place + 1). " : "- ") + DisplayText.line(item.plainText)
                }.joined(separator: "\n")
            }
        }.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private static func lines(_ list: Message.List) -> String {
        if list.items.isEmpty, list.more == 0 { return DisplayText.line(list.empty.plainText) }
        var lines = list.items.map { "- " + DisplayText.line($0.plainText) }
        if list.more > 0 { lines.append(more(list.more)) }
        return lines.joined(separator: "\n")
    }

    private static func field(_ field: Message.Field) -> String {
        DisplayText.line(field.name.plainText) + ": " + DisplayText.line(field.value.plainText)
    }

    /// The line that ends a shortened list.
    static func more(_ count: Int) -> String { "and \(count) more" }

    static let fallbackNote = "The rule's own message could not be rendered; this is a substitute."
}
