public import BellhopCore

extension MarkdownTemplate {
    /// The message parts, with each hole filled by its text. Inserted text is a value, never markup.
    func filled(_ values: [String]) -> [Message.Block] {
        blocks.map { block in
            switch block {
            case .paragraph(let inlines): .paragraph(Self.fill(inlines, values))
            case .list(let ordered, let items): .list(ordered: ordered, items: items.map { Self.fill($0, values) })
            }
        }
    }

    /// The same on one line.
    func filledInline(_ values: [String]) -> [Message.Inline] { Self.fill(inlines, values) }

    private static func fill(_ inlines: [Inline], _ values: [String]) -> [Message.Inline] {
        inlines.map { inline in
            switch inline {
            case .text(let text): .text(text)
            case .hole(let number): .value(values[number])
            case .strong(let inner): .strong(fill(inner, values))
            case .emphasis(let inner): .emphasis(fill(inner, values))
            case .code(let inner): .code(fill(inner, values))
            case .link(let label, let address): .link(label: fill(label, values), address: fill(address, values))
            case .lineBreak: .lineBreak
            }
        }
    }
}

extension Message.Block {
    /// The blocks of a text in the small Markdown of messages.
    public static func read(markdown text: String) -> [Message.Block] {
        MarkdownTemplate(text.unicodeScalars.map(MarkdownTemplate.Unit.scalar)).filled([])
    }
}
