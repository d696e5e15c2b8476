/// How an instance changes a text written to a journal. Several apply in this order.
public enum TextRewriting: Sendable, Hashable {
    /// `<b>now</b>` becomes `now`.
    case tagsStripped
    /// Runs of four or more digits become stars.
    case digitsMasked
    /// Straight quotes, dots and dashes become typographic ones.
    case typography
    /// The text is cut after this many characters.
    case textCut(characters: Int)

    /// A tag starts with `<` and a letter or `/`, and ends at the next `>`; without a `>` it is not a tag.
    func apply(to text: String) -> String {
        switch self {
        case .tagsStripped: text.replacing(/<[\/\p{Letter}][^>]*>/, with: "")
        case .digitsMasked: text.replacing(/[0-9]{4,}/) { String(repeating: "*", count: $0.output.count) }
        case .typography: typeset(text)
        case .textCut(let count): String(text.prefix(count))
        }
    }

    fileprivate var order: Int {
        switch self {
        case .tagsStripped: 0
        case .digitsMasked: 1
        case .typography: 2
        case .textCut: 3
        }
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
}

extension Set<Fault> {
    /// The text as the instance stores it in that journal.
    func rewriting(_ text: String, in kind: JournalEntry.Kind) -> String {
        compactMap { fault -> TextRewriting? in
            if case .rewritten(let rewriting, let field) = fault, field == nil || field == kind { rewriting } else { nil }
        }.sorted { $0.order < $1.order }.reduce(text) { $1.apply(to: $0) }
    }
}
