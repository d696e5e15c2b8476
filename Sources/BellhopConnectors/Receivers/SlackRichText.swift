import BellhopCore

/// Styled text, as elements of a `rich_text_section`.
///
/// Rich text keeps bold and links separate from the text, so values cannot become markup and need no escaping: `<!channel>` in an
/// element of type `text` is ten characters.
struct SlackRichText: Sendable, Hashable {
    struct Style: Sendable, Hashable {
        var bold = false
        var italic = false
        var code = false

        fileprivate func with(_ flag: WritableKeyPath<Style, Bool>) -> Style {
            var style = self
            style[keyPath: flag] = true
            return style
        }
    }

    enum Run: Sendable, Hashable {
        case text(String, Style)
        case link(LinkAddress, label: String, Style)
    }

    private(set) var runs: [Run] = []
    /// The remaining budget: code points, including those of addresses and ``SlackLimits/element`` per run.
    private(set) var room: Int
    private(set) var cost = 0
    /// Whether text did not fit: it ends in an ellipsis then, and later text is ignored.
    private var isCut = false
    /// Whether line breaks become spaces.
    private let isOneLine: Bool

    init(room: Int, oneLine: Bool = false) {
        self.room = room
        isOneLine = oneLine
    }

    /// Appends what fits.
    mutating func add(_ inlines: [Message.Inline], _ style: Style = Style()) {
        for inline in inlines where !isCut {
            switch inline {
            case .text(let words), .value(let words): add(words, style)
            case .lineBreak: add(isOneLine ? " " : "\n", style)
            case .strong(let inner): add(inner, style.with(\.bold))
            case .emphasis(let inner): add(inner, style.with(\.italic))
            case .code(let inner): add(inner, style.with(\.code))
            case .link(let label, let address): add(label.plainText, to: address.plainText, style)
            }
        }
    }

    mutating func add(_ words: String, _ style: Style = Style()) {
        if case .text(let before, style)? = runs.last {
            guard let fitting = fit(words, besides: 0) else { return }
            runs[runs.count - 1] = .text(before + fitting, style)
        } else if let fitting = fit(words, besides: SlackLimits.element) {
            runs.append(.text(fitting, style))
        }
    }

    /// Appends runs that fit the remaining room.
    mutating func append(_ other: SlackRichText) {
        runs += other.runs
        take(other.cost)
    }

    /// An invalid address is shown as text next to its label, and of one that does not fit only the label.
    private mutating func add(_ label: String, to address: String, _ style: Style) {
        guard let link = LinkAddress(address, limit: SlackLimits.address) else {
            return add([Message.Inline.link(label: [.value(label)], address: [.value(address)])].plainText, style)
        }
        let words = label.unicodeScalars.allSatisfy(\.isBlank) ? address : label
        if let shown = fit(words, besides: link.text.utf8.count + SlackLimits.element) {
            runs.append(.link(link, label: shown, style))
        } else {
            add(words, style)
        }
    }

    /// Cleans a text, cuts it to the room that another cost leaves, and takes both from the room; nil if nothing is left.
    private mutating func fit(_ words: String, besides other: Int) -> String? {
        if isCut { return nil }
        let clean = isOneLine ? DisplayText.line(words) : DisplayText.clean(words)
        let fitting = DisplayText.cut(clean, to: room - other)
        guard !fitting.isEmpty else {
            if other <= SlackLimits.element, !clean.unicodeScalars.allSatisfy(\.isBlank) { end() }
            return nil
        }
        take(fitting.unicodeScalars.count + other)
        if fitting.utf8.count != clean.utf8.count { (isCut, room) = (true, 0) }
        return fitting
    }

    /// Ends the last run in an ellipsis, because nothing of the next one fits.
    private mutating func end() {
        (isCut, room) = (true, 0)
        switch runs.popLast() {
        case .text(let words, let style)?: runs.append(.text(words.dropLast() + DisplayText.ellipsis, style))
        case .link(let address, let label, let style)?:
            runs.append(.link(address, label: label.dropLast() + DisplayText.ellipsis, style))
        case nil: break
        }
    }

    private mutating func take(_ amount: Int) {
        cost += amount
        room -= amount
    }

    /// The section, with at least a space: Slack refuses a section without elements.
    var section: JSON {
        let elements = runs.isEmpty ? [Run.text(" ", Style())] : runs
        return .object(["type": "rich_text_section", "elements": .array(elements.map(\.json))])
    }
}

extension SlackRichText.Run {
    fileprivate var json: JSON {
        switch self {
        case .text(let words, let style): .object(style.added(to: ["type": "text", "text": .string(words)]))
        case .link(let address, let label, let style):
            .object(style.added(to: ["type": "link", "url": .string(address.text), "text": .string(label)]))
        }
    }
}

extension SlackRichText.Style {
    fileprivate func added(to element: JSON.Object) -> JSON.Object {
        var style: JSON.Object = [:]
        if bold { style["bold"] = true }
        if italic { style["italic"] = true }
        if code { style["code"] = true }
        var element = element
        if !style.isEmpty { element["style"] = .object(style) }
        return element
    }
}
