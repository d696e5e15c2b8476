/// How an instance changes a text written to a journal.
public enum TextRewriting: Sendable, Hashable {
    /// `<b>now</b>` becomes `now`.
    case tagsStripped
    /// Runs of four or more digits become stars.
    case digitsMasked
    /// Straight quotes, dots and dashes become typographic ones.
    case typography
    /// The text is cut after this many characters.
    case cut(characters: Int)

    func apply(to text: String) -> String {
        switch self {
        case .tagsStripped: strip(text)
        case .digitsMasked: mask(text)
        case .typography: typeset(text)
        case .cut(let count): String(text.prefix(count))
        }
    }

    /// The order of this rewriting if there are several.
    private var order: Int {
        switch self {
        case .tagsStripped: 0
        case .digitsMasked: 1
        case .typography: 2
        case .cut: 3
        }
    }

    /// A tag starts with `<` and a letter or `/`, and ends at the next `>`; without a `>` it is not a tag.
    private func strip(_ text: String) -> String {
        var kept = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "<") {
            kept += rest[..<start]
            let inside = rest[start...].dropFirst()
            if let first = inside.first, first.isLetter || first == "/", let end = inside.firstIndex(of: ">") {
                rest = rest[rest.index(after: end)...]
            } else {
                kept += "<"
                rest = inside
            }
        }
        return kept + rest
    }

    private func mask(_ text: String) -> String {
        var masked = ""
        var digits = ""
        func flush() {
            masked += digits.count < 4 ? digits : String(repeating: "*", count: digits.count)
            digits = ""
        }
        for character in text {
            if character.isASCII, character.isNumber {
                digits.append(character)
            } else {
                flush()
                masked.append(character)
            }
        }
        flush()
        return masked
    }

    private func typeset(_ text: String) -> String {
        var before: Character = " "
        var set = ""
        for character in text {
            let opens = before.isWhitespace || "([{\u{201C}\u{2018}".contains(before)
            switch character {
            case "\"": set.append(opens ? "\u{201C}" : "\u{201D}")
            case "'": set.append(opens ? "\u{2018}" : "\u{2019}")
            default: set.append(character)
            }
            before = character
        }
        return set.replacing("...", with: "\u{2026}").replacing("--", with: "\u{2014}").replacing(" - ", with: " \u{2013} ")
    }

    static func comesBefore(_ a: TextRewriting, _ b: TextRewriting) -> Bool { a.order < b.order }
}

extension Set<Fault> {
    /// The text as the instance stores it in that journal.
    func rewriting(_ text: String, in kind: JournalEntry.Kind) -> String {
        compactMap { fault -> TextRewriting? in
            if case .rewritten(let rewriting, let field) = fault, field == nil || field == kind { rewriting } else { nil }
        }.sorted(by: TextRewriting.comesBefore).reduce(text) { $1.apply(to: $0) }
    }
}
