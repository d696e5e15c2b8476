public import BellhopCore

extension Message {
    /// The message as its rule would write it in Markdown, with values inserted unescaped.
    public var markdown: String {
        var parts = title.isEmpty ? [] : [title.markdown]
        if !text.isEmpty { parts.append(text.markdown) }
        if let list { parts.append(list.markdown) }
        for field in fields { parts.append("\(field.name.markdown): \(field.value.markdown)") }
        if let link { parts.append("[\(link.label)](\(link.address))") }
        return parts.joined(separator: "\n\n")
    }
}

extension Message.List {
    /// One line per item and the number of further items; or the text for an empty list.
    var markdown: String {
        if items.isEmpty { return empty.markdown }
        let rest = more > 0 ? ["… and \(more) more"] : []
        return (items.map { "- " + $0.markdown } + rest).joined(separator: "\n")
    }
}

extension [Message.Block] {
    var markdown: String { text(\.markdown) }
    /// The text without markup, one block after the other.
    var plainText: String { text(\.plainText) }

    /// The blocks with a blank line between them and a marker before each item of a list; `line` writes the rest.
    func text(_ line: ([Message.Inline]) -> String) -> String {
        map { block in
            switch block {
            case .paragraph(let inlines): line(inlines)
            case .list(let ordered, let items):
                items.enumerated().map { (ordered ? "\($0 + 1). " : "- ") + line($1) }.joined(separator: "\n")
            }
        }.joined(separator: "\n\n")
    }
}

extension [Message.Inline] {
    /// The Markdown for this; inserted values are not escaped.
    var markdown: String {
        map { inline in
            switch inline {
            case .text(let text), .value(let text): text
            case .strong(let inner): "**\(inner.markdown)**"
            case .emphasis(let inner): "*\(inner.markdown)*"
            case .code(let inner): "`\(inner.markdown)`"
            case .link(let label, let address): "[\(label.markdown)](\(address.markdown))"
            case .lineBreak: "\n"
            }
        }.joined()
    }
}
