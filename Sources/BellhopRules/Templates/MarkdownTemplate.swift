/// The small Markdown of messages, parsed once from a rule's own text: values are inserted later, into holes, and never become
/// markup.
struct MarkdownTemplate: Sendable, Hashable {
    indirect enum Inline: Sendable, Hashable {
        case text(String)
        /// The place of an inserted value, by its number in the text.
        case hole(Int)
        case strong([Inline])
        case emphasis([Inline])
        case code([Inline])
        case link(label: [Inline], address: [Inline])
        case lineBreak
    }

    enum Block: Sendable, Hashable {
        case paragraph([Inline])
        case list(ordered: Bool, items: [[Inline]])
    }

    /// A character of the rule's text, or the place of a value.
    enum Unit: Sendable, Hashable {
        case scalar(Unicode.Scalar)
        case hole(Int)
    }

    var blocks: [Block]

    init(_ units: [Unit]) { blocks = MarkdownBlocks.read(units) }

    /// Everything on one line, for an item of a list: blocks follow line breaks, list items follow a dash.
    var inlines: [Inline] {
        var lines: [[Inline]] = []
        for block in blocks {
            switch block {
            case .paragraph(let inlines): lines.append(inlines)
            case .list(let ordered, let items):
                for (index, item) in items.enumerated() {
                    lines.append([.text(ordered ? "\(index + 1). " : "- ")] + item)
                }
            }
        }
        return Array(lines.joined(separator: [.lineBreak]))
    }
}

extension MarkdownTemplate.Unit {
    var isNewline: Bool { self == .scalar("\n") }
    var isBlank: Bool { self == .scalar(" ") || self == .scalar("\t") }
    var isSpace: Bool { isBlank || isNewline }

    /// A letter, a digit, or a value.
    var isWord: Bool {
        switch self {
        case .hole: true
        case .scalar(let scalar): scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        }
    }

    /// A character that a backslash can escape.
    var isPunctuation: Bool {
        guard case .scalar(let scalar) = self else { return false }
        switch scalar.value {
        case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: return true
        default: return false
        }
    }
}
