/// Reads bold, italic, code and links out of a paragraph. Unclosed markup is text.
struct MarkdownInlines {
    typealias Unit = MarkdownTemplate.Unit
    typealias Inline = MarkdownTemplate.Inline

    private let units: [Unit]
    private let marks: MarkdownMarks
    /// Markup nested deeper than this is text.
    private static let deepest = 16

    static func read(_ units: [Unit]) -> [Inline] {
        MarkdownInlines(units: units, marks: MarkdownMarks(units)).read(0..<units.count, depth: 0)
    }

    /// A kind of markup whose end was not found and need not be searched for again.
    private struct Unclosed: Hashable {
        var unit: Unit
        var width: Int
    }

    private func read(_ range: Range<Int>, depth: Int) -> [Inline] {
        var out: [Inline] = []
        var text = String.UnicodeScalarView()
        func flush() {
            if !text.isEmpty { out.append(.text(String(text))) }
            text = String.UnicodeScalarView()
        }
        var unclosed: Set<Unclosed> = []
        var at = range.lowerBound
        while at < range.upperBound {
            switch units[at] {
            case .hole(let number):
                flush()
                out.append(.hole(number))
                at += 1
            case .scalar("\n"):
                flush()
                out.append(.lineBreak)
                at += 1
            case .scalar("\\") where at + 1 < range.upperBound && units[at + 1].isPunctuation:
                if case .scalar(let escaped) = units[at + 1] { text.append(escaped) }
                at += 2
            case .scalar(let scalar):
                if depth < Self.deepest, let (inline, end) = markup(at, range, depth: depth, &unclosed) {
                    flush()
                    out.append(inline)
                    at = end
                } else {
                    let length = "`*_".unicodeScalars.contains(scalar) ? run(at, range) : 1
                    for _ in 0..<length { text.append(scalar) }
                    at += length
                }
            }
        }
        flush()
        return out
    }

    private func markup(
        _ at: Int, _ range: Range<Int>, depth: Int, _ unclosed: inout Set<Unclosed>
    ) -> (Inline, end: Int)? {
        switch units[at] {
        case .scalar("`"):
            guard let inner = marks.codeSpan(at, within: range) else { return nil }
            return (.code(code(inner)), inner.upperBound + (inner.lowerBound - at))
        case .scalar("["): return link(at, range, depth: depth)
        case .scalar("*"), .scalar("_"):
            let length = run(at, range)
            guard opens(at, length, range) else { return nil }
            for width in [2, 1] where width <= length && !unclosed.contains(Unclosed(unit: units[at], width: width)) {
                if let close = closing(of: at, width: width, range) {
                    let inner = read(at + width..<close, depth: depth + 1)
                    return (width == 2 ? .strong(inner) : .emphasis(inner), close + width)
                }
                unclosed.insert(Unclosed(unit: units[at], width: width))
            }
            return nil
        default: return nil
        }
    }

    /// The length of the run of this character.
    private func run(_ at: Int, _ range: Range<Int>) -> Int {
        units[at..<range.upperBound].prefix { $0 == units[at] }.count
    }

    private func opens(_ at: Int, _ length: Int, _ range: Range<Int>) -> Bool {
        let after = at + length
        guard after < range.upperBound, !units[after].isSpace else { return false }
        return units[at] == .scalar("*") || at == 0 || !units[at - 1].isWord
    }

    private func closes(_ at: Int, _ length: Int) -> Bool {
        guard !units[at - 1].isSpace else { return false }
        return units[at] == .scalar("*") || at + length == units.count || !units[at + length].isWord
    }

    /// The start of the run that closes markup of this width; in a longer run, its last characters close.
    private func closing(of open: Int, width: Int, _ range: Range<Int>) -> Int? {
        var at = open + width
        while at < range.upperBound {
            if units[at] == units[open] {
                let length = run(at, range)
                let fits = width == 2 ? length >= 2 : length == 1 || length > 2
                if fits, at > open + width, closes(at, length) { return at + length - width }
                at += length
            } else {
                at = marks.skip(at, within: range)
            }
        }
        return nil
    }

    private func code(_ range: Range<Int>) -> [Inline] {
        var inner = units[range].map { $0.isNewline ? .scalar(" ") : $0 }[...]
        let isPadded = inner.count > 2 && inner.first == .scalar(" ") && inner.last == .scalar(" ")
        if isPadded, inner.contains(where: { !$0.isBlank }) { inner = inner.dropFirst().dropLast() }
        return Self.literal(inner)
    }

    private func link(_ at: Int, _ range: Range<Int>, depth: Int) -> (Inline, end: Int)? {
        guard let close = marks.closing[at], close + 1 < range.upperBound, units[close + 1] == .scalar("("),
            let end = marks.closing[close + 1], end < range.upperBound
        else { return nil }
        let address = units[close + 2..<end]
        guard !address.isEmpty, !address.contains(where: \.isSpace) else { return nil }
        return (.link(label: read(at + 1..<close, depth: depth + 1), address: Self.literal(address)), end + 1)
    }

    /// Units as text and values, not parsed for markup.
    private static func literal(_ units: some Sequence<Unit>) -> [Inline] {
        var out: [Inline] = []
        var text = String.UnicodeScalarView()
        for unit in units {
            switch unit {
            case .scalar(let scalar): text.append(scalar)
            case .hole(let number):
                if !text.isEmpty { out.append(.text(String(text))) }
                text = String.UnicodeScalarView()
                out.append(.hole(number))
            }
        }
        if !text.isEmpty { out.append(.text(String(text))) }
        return out
    }
}
