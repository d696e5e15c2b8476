import BellhopCore

/// Makes texts safe to display.
enum DisplayText {
    static let ellipsis = "…"

    /// The text without control characters (except tabs and line breaks; all breaks become newlines) and without Unicode's
    /// directional embeddings, overrides and isolates, which would reorder the words around them. Directional marks stay.
    static func clean(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
        var clean = String.UnicodeScalarView()
        var last: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\r", "\u{2028}", "\u{2029}", "\u{85}": clean.append("\n")
            case "\n": if last != "\r" { clean.append("\n") }
            case "\t": clean.append(scalar)
            default: if !scalar.turnsText { clean.append(scalar) }
            }
            last = scalar
        }
        return String(clean)
    }

    /// The clean text on one line: breaks and tabs become spaces.
    static func line(_ text: String) -> String {
        let clean = clean(text)
        guard clean.utf8.contains(where: { $0 == 0x0a || $0 == 0x09 }) else { return clean }
        return clean.split { $0 == "\n" || $0 == "\t" }.joined(separator: " ")
    }

    /// A part of a text on one line, clean: breaks and tabs become a space, also at its ends, where they part it from its neighbours.
    static func part(_ text: String) -> String {
        let clean = clean(text)
        func isBreak(_ character: Character?) -> Bool { character == "\n" || character == "\t" }
        let words = line(clean)
        if words.isEmpty { return clean.isEmpty ? "" : " " }
        return (isBreak(clean.first) ? " " : "") + words + (isBreak(clean.last) ? " " : "")
    }

    /// The clean text on one line, cut to a number of code points.
    static func line(_ text: String, to limit: Int) -> String { cut(line(text), to: limit) }

    /// The text, cut to a number of code points including the final ellipsis. Cuts between grapheme clusters, so that no accent
    /// or part of an emoji is lost.
    static func cut(_ text: String, to limit: Int) -> String {
        if text.utf8.count <= limit || text.unicodeScalars.count <= limit { return text }
        guard limit > 1 else { return limit == 1 ? ellipsis : "" }
        var room = limit - 1
        var end = text.startIndex
        while end < text.endIndex {
            room -= text[end].unicodeScalars.count
            guard room >= 0 else { break }
            end = text.index(after: end)
        }
        return text[..<end] + ellipsis
    }
}

/// An address that a receiver may show as a link.
struct LinkAddress: Sendable, Hashable {
    let text: String

    /// Nil for all but http and https addresses, and for one with a user name, which may imitate another host.
    /// Encodes characters that are not allowed in an address, so that the text cannot break out of markup.
    init?(_ text: String, limit: Int = .max) {
        guard let address = try? HTTPAddress(text), address.userInfo == nil else { return nil }
        self.text = PercentEncoding.encode(text, keeping: "-._~:/?#[]@!$&'()*+,;=%")
        if self.text.utf8.count > limit { return nil }
    }
}
