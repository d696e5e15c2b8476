import BellhopCore

@testable import BellhopConnectors

/// The text that a reader must find in a message: the message's texts with the rule's styles, computed from the tree alone.
struct ExpectedText {
    enum Part: CaseIterable {
        case title, text, fields, list, sections, link, origin
        /// The message's link, or else the task's, as a button beside the text.
        case button
    }

    /// How a kind of receiver shows a message.
    struct Look: Sendable {
        var order: [Part] = [.title, .text, .fields, .list, .sections, .link, .origin]
        var title = ReadText.Style(isStrong: true)
        var fieldName = ReadText.Style(isStrong: true)
        /// Between a field's name and its value.
        var colon = ":"
        var origin = ReadText.Style(isEmphasized: true)
        /// The sign that the reader shows before an item of a list.
        var bullet = ""
        var hasNumbers = false
        /// In an item without text.
        var blank = "–"
        var blankField = ""
        /// A text in code with one of these characters is shown without the style of code.
        var notInCode: Set<Unicode.Scalar> = []
        /// Whether code can also be strong or emphasized.
        var codeKeepsStyle = false
        /// Whether the format has no markup, so that a link is its label and its address.
        var isPlain = false
    }

    private(set) var read = ReadText()
    private let look: Look
    /// Whether line breaks are spaces here, as in items and fields.
    private var isOneLine = false

    init(_ message: Message, from origin: MessageOrigin, _ look: Look) {
        self.look = look
        let isLinked = message.link.map { Self.isUsable($0.address) } ?? false
        for part in look.order {
            switch part {
            case .title: read.add(title(message, origin), look.title)
            case .text: blocks(message.text)
            case .fields: fields(message.fields)
            case .list: list(message.list)
            case .sections:
                for section in message.sections {
                    read.add(Self.clean(section.title.plainText), .init(isStrong: !look.isPlain))
                    blocks(section.text)
                    sectionFields(section.fields)
                    list(section.list)
                }
            case .link: if isLinked || look.order.last != .link { link(message.link) }
            case .origin:
                // A link that cannot be a button is text before the last line.
                if !isLinked, look.order.last == .link { link(message.link) }
                let severity = message.severity == .info ? "" : "\(message.severity.rawValue) · "
                read.add("\(severity)rule \(origin.rule) · delivery \(origin.delivery)", look.origin)
            case .button: button(message.link ?? .init(label: origin.task?.number ?? "", address: origin.task?.url ?? ""))
            }
        }
    }

    private mutating func button(_ link: Message.Link) {
        guard Self.isUsable(link.address) else { return }
        let label = Self.clean(link.label)
        read.add(label.isEmpty ? "Open" : label, .init(link: PercentEncoding.decode(link.address)))
    }

    static func isUsable(_ address: String) -> Bool { address.hasPrefix("https://") && !address.contains("@") }

    private mutating func link(_ link: Message.Link?) {
        if let link { inline(.link(label: [.value(link.label)], address: [.value(link.address)]), .init()) }
    }

    private func title(_ message: Message, _ origin: MessageOrigin) -> String {
        let words = Self.clean(message.title.plainText)
        let sign = ["warning": "⚠️", "error": "❌", "critical": "🚨"][message.severity.rawValue] ?? ""
        let isBlank = words.unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
        let hasContent = !message.text.isEmpty || message.list != nil || !message.sections.isEmpty
        if isBlank, sign.isEmpty, hasContent { return "" }
        return sign + (isBlank ? origin.rule : words)
    }

    private mutating func blocks(_ blocks: [Message.Block]) {
        for block in blocks {
            switch block {
            case .paragraph(let inlines): all(inlines, .init())
            case .list(let isOrdered, let found): items(found, isOrdered)
            }
        }
    }

    private mutating func items(_ items: [[Message.Inline]], _ isOrdered: Bool) {
        isOneLine = true
        defer { isOneLine = false }
        for (place, item) in items.enumerated() {
            read.add(isOrdered && look.hasNumbers ? "\(place + 1)." : look.bullet)
            let count = read.marks.count
            all(item, .init())
            if read.marks.count == count, isBlank(item) { read.add(look.blank) }
        }
    }

    private func isBlank(_ inlines: [Message.Inline]) -> Bool {
        Self.clean(inlines.plainText).unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
    }

    private mutating func list(_ list: Message.List?) {
        guard let list else { return }
        if list.items.isEmpty, list.more == 0 { return all(list.empty, .init()) }
        items(list.items, false)
        if list.more > 0 { read.add("and \(list.more) more", .init(isEmphasized: !look.isPlain)) }
    }

    private mutating func fields(_ fields: [Message.Field]) {
        isOneLine = true
        defer { isOneLine = false }
        for field in fields {
            let isBlankName = isBlank(field.name)
            read.add(
                isBlankName && !look.blankField.isEmpty ? look.blankField : Self.clean(field.name.plainText) + look.colon,
                look.fieldName)
            if isBlank(field.value) { read.add(look.blankField) } else { all(field.value, .init()) }
        }
    }

    /// Within a section, fields are always lines.
    private mutating func sectionFields(_ fields: [Message.Field]) {
        isOneLine = true
        defer { isOneLine = false }
        for field in fields {
            read.add(Self.clean(field.name.plainText) + ":", .init(isStrong: !look.isPlain))
            all(field.value, .init())
        }
    }

    private mutating func all(_ inlines: [Message.Inline], _ style: ReadText.Style) {
        for inline in inlines { self.inline(inline, style) }
    }

    private mutating func inline(_ inline: Message.Inline, _ style: ReadText.Style) {
        var style = look.isPlain ? .init() : style
        switch inline {
        case .text(let words), .value(let words): read.add(Self.clean(words), style)
        case .lineBreak: break
        case .strong(let inner):
            style.isStrong = !style.isCode
            all(inner, style)
        case .emphasis(let inner):
            style.isEmphasized = !style.isCode
            all(inner, style)
        case .code(let inner):
            // Each line is code or not by itself.
            let text = Self.clean(inner.plainText)
            for line in isOneLine ? [text[...]] : text.split(separator: "\n") {
                read.add(
                    String(line),
                    !look.isPlain && look.notInCode.isDisjoint(with: line.unicodeScalars)
                        ? .init(
                            isStrong: look.codeKeepsStyle && style.isStrong,
                            isEmphasized: look.codeKeepsStyle && style.isEmphasized, isCode: true) : .init())
            }
        case .link(let label, let address):
            let words = address.plainText
            if look.isPlain, Self.isUsable(words) {
                read.add(Self.clean(label.plainText) + "(" + Self.encoded(words) + ")")
            } else if Self.isUsable(words) {
                read.add(Self.clean(label.plainText), .init(link: PercentEncoding.decode(words)))
            } else {
                read.add(Self.clean([inline].plainText), style)
            }
        }
    }

    /// An address with its blanks, quotation marks and everything outside of RFC 3986 as bytes.
    private static func encoded(_ address: String) -> String {
        address.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let stays = byte < 0x80 && (character.isLetter || character.isNumber || "-._~:/?#[]@!$&'()*+,;=%".contains(character))
            return stays ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// The text without control characters and characters that change its direction; every kind of line break is a newline.
    static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.compactMap { scalar in
                    switch scalar.value {
                    case 0x0a, 0x0d, 0x85, 0x2028, 0x2029: "\n"
                    case 0x09: "\t"
                    case 0..<0x20, 0x7f..<0xa0, 0x202a...0x202e, 0x2066...0x2069: nil
                    default: scalar
                    }
                }))
    }
}
