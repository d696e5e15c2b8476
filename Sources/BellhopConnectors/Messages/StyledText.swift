import BellhopCore

/// A message's inlines as runs without nesting, ready to be written in any receiver's markup.
///
/// Texts are clean (``DisplayText/clean(_:)``), adjacent runs of one style are joined, and no styled run begins or ends with
/// whitespace, because most kinds of markup do not allow that.
struct StyledText: Sendable, Hashable {
    /// Code has no other style: most receivers read only plain text in it.
    enum Style: Sendable, Hashable { case plain, strong, emphasis, strongEmphasis, code }

    enum Run: Sendable, Hashable {
        /// Never empty, without line breaks.
        case text(String, Style)
        case link(LinkAddress, label: String)
        case lineBreak
    }

    private(set) var runs: [Run] = []

    /// - Parameter isOneLine: whether line breaks and tabs become spaces, and spaces at the ends go.
    init(_ inlines: [Message.Inline], oneLine isOneLine: Bool = false) {
        var joined: [Run] = []
        Self.collect(inlines, .plain, oneLine: isOneLine, into: &joined)
        for run in joined { add(run) }
        if isOneLine { trim() }
    }

    /// A text on one line, without blanks around it.
    init(_ text: String) {
        let line = DisplayText.line(text).unicodeScalars
        guard let start = line.firstIndex(where: { !$0.isBlank }), let end = line.lastIndex(where: { !$0.isBlank }) else {
            return
        }
        runs = [.text(String(line[start...end]), .plain)]
    }

    var isBlank: Bool {
        runs.allSatisfy { run in
            switch run {
            case .text(let words, _): words.unicodeScalars.allSatisfy(\.isBlank)
            case .link: false
            case .lineBreak: true
            }
        }
    }

    private static func collect(_ inlines: [Message.Inline], _ style: Style, oneLine: Bool, into runs: inout [Run]) {
        for inline in inlines {
            switch inline {
            case .text(let words), .value(let words): collect(words, style, oneLine: oneLine, into: &runs)
            case .lineBreak: collect(oneLine ? " " : "\n", style, oneLine: oneLine, into: &runs)
            case .strong(let inner): collect(inner, style.strong, oneLine: oneLine, into: &runs)
            case .emphasis(let inner): collect(inner, style.emphasis, oneLine: oneLine, into: &runs)
            case .code(let inner): collect(inner, .code, oneLine: oneLine, into: &runs)
            case .link(let label, let address):
                let label = DisplayText.line(label.plainText)
                let words = address.plainText
                if let link = LinkAddress(words, limit: longestAddress) {
                    runs.append(.link(link, label: label.unicodeScalars.allSatisfy(\.isBlank) ? link.text : label))
                } else {
                    collect([inline].plainText, style, oneLine: oneLine, into: &runs)
                }
            }
        }
    }

    private static func collect(_ words: String, _ style: Style, oneLine: Bool, into runs: inout [Run]) {
        if oneLine { return join(DisplayText.part(words), style, to: &runs) }
        let lines = DisplayText.clean(words).split(separator: "\n", omittingEmptySubsequences: false)
        for (place, line) in lines.enumerated() {
            if place > 0 { runs.append(.lineBreak) }
            join(String(line), style, to: &runs)
        }
    }

    private static func join(_ words: String, _ style: Style, to runs: inout [Run]) {
        if words.isEmpty { return }
        if case .text(let before, style)? = runs.last {
            runs[runs.count - 1] = .text(before + words, style)
        } else {
            runs.append(.text(words, style))
        }
    }

    /// Appends a run; whitespace around a styled run becomes plain text.
    private mutating func add(_ run: Run) {
        guard case .text(let words, let style) = run, style != .plain else {
            if case .text(let words, _) = run { return Self.join(words, .plain, to: &runs) }
            return runs.append(run)
        }
        let scalars = words.unicodeScalars
        guard let start = scalars.firstIndex(where: { !$0.isBlank }), let end = scalars.lastIndex(where: { !$0.isBlank }) else {
            return Self.join(words, .plain, to: &runs)
        }
        let after = scalars.index(after: end)
        Self.join(String(scalars[..<start]), .plain, to: &runs)
        Self.join(String(scalars[start..<after]), style, to: &runs)
        Self.join(String(scalars[after...]), .plain, to: &runs)
    }

    /// Removes the spaces at its ends, which are in plain runs.
    private mutating func trim() {
        if case .text(let words, .plain)? = runs.first {
            runs.removeFirst()
            let rest = words.unicodeScalars.drop { $0 == " " }
            if !rest.isEmpty { runs.insert(.text(String(rest), .plain), at: 0) }
        }
        if case .text(let words, .plain)? = runs.last {
            var rest = words.unicodeScalars[...]
            while rest.last == " " { rest.removeLast() }
            runs.removeLast()
            if !rest.isEmpty { runs.append(.text(String(rest), .plain)) }
        }
    }

    /// In bytes; a longer address is shown as text. Browsers and receivers support at least this length.
    static let longestAddress = 2000
}

extension StyledText.Style {
    fileprivate var strong: Self {
        switch self {
        case .plain, .strong: .strong
        case .emphasis, .strongEmphasis: .strongEmphasis
        case .code: .code
        }
    }

    fileprivate var emphasis: Self {
        switch self {
        case .plain, .emphasis: .emphasis
        case .strong, .strongEmphasis: .strongEmphasis
        case .code: .code
        }
    }
}

extension Unicode.Scalar {
    /// Whether it is whitespace to any reader of markup: also U+FEFF, which is whitespace in JavaScript.
    var isBlank: Bool { properties.isWhitespace || value == 0xfeff }

    /// Whether it is punctuation or a symbol, as CommonMark defines it for emphasis.
    var isPunctuation: Bool {
        switch properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
            .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            true
        default: false
        }
    }
}
