public import BellhopCore

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
        var filled: [Message.Inline] = []
        filled.reserveCapacity(inlines.count)
        for inline in inlines {
            switch inline {
            case .text(let text): filled.append(.text(text))
            case .hole(let number): filled.append(.value(values[number]))
            case .strong(let inner): filled.append(.strong(fill(inner, values)))
            case .emphasis(let inner): filled.append(.emphasis(fill(inner, values)))
            case .code(let inner): filled.append(.code(fill(inner, values)))
            case .link(let label, let address):
                let (label, address) = (fill(label, values), fill(address, values))
                // Not every task has an address.
                if address.plainText.isEmpty { filled += label } else { filled.append(.link(label: label, address: address)) }
            case .lineBreak: filled.append(.lineBreak)
            }
        }
        return filled
    }
}

extension Message.Block {
    /// The blocks of a text in the small Markdown of messages.
    public static func read(markdown text: String) -> [Message.Block] {
        MarkdownTemplate(text.unicodeScalars.map(MarkdownTemplate.Unit.scalar)).filled([])
    }
}
