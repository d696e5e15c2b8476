/// Splits Markdown into paragraphs and flat lists, line by line. Line breaks in a paragraph are kept, as in chats.
struct MarkdownBlocks {
    private typealias Unit = MarkdownTemplate.Unit

    private var blocks: [MarkdownTemplate.Block] = []
    /// The lines of the current paragraph or item.
    private var lines: [ArraySlice<Unit>] = []
    /// The list marker of the current item; nil for a paragraph.
    private var marker: Marker?

    static func read(_ units: [MarkdownTemplate.Unit]) -> [MarkdownTemplate.Block] {
        var reader = MarkdownBlocks()
        for line in units.split(separator: .scalar("\n"), omittingEmptySubsequences: false) { reader.take(line) }
        reader.close()
        return reader.blocks
    }

    private struct Marker: Equatable {
        var isOrdered: Bool
        var number: Int
        /// The number of units in the marker, including its blank.
        var length: Int
    }

    private mutating func take(_ line: ArraySlice<Unit>) {
        var line = line.drop(while: \.isBlank)
        while line.last?.isBlank == true || line.last == .scalar("\r") { line.removeLast() }
        guard !line.isEmpty else { return close() }
        if let found = Self.marker(of: line), startsItem(found) {
            close()
            marker = found
            line = line.dropFirst(found.length).drop(while: \.isBlank)
        }
        lines.append(line)
    }

    /// A numbered list begins with 1, because its items are counted anew: a date or a year at a line's start, such as `7. August`,
    /// stays text. After an empty line, only the next number continues a list.
    private func startsItem(_ found: Marker) -> Bool {
        if !found.isOrdered || found.number == 1 || marker?.isOrdered == true { return true }
        guard lines.isEmpty, case .list(ordered: true, items: let items)? = blocks.last else { return false }
        return found.number == items.count + 1
    }

    private mutating func close() {
        defer {
            lines = []
            marker = nil
        }
        guard !lines.isEmpty else { return }
        let inlines = MarkdownInlines.read(Array(lines.joined(separator: [.scalar("\n")])))
        guard let marker else { return blocks.append(.paragraph(inlines)) }
        if case .list(let ordered, let items)? = blocks.last, ordered == marker.isOrdered {
            blocks[blocks.count - 1] = .list(ordered: ordered, items: items + [inlines])
        } else {
            blocks.append(.list(ordered: marker.isOrdered, items: [inlines]))
        }
    }

    private static func marker(of line: ArraySlice<Unit>) -> Marker? {
        guard case .scalar(let first)? = line.first else { return nil }
        let digits = line.prefix { unit in
            if case .scalar("0"..."9") = unit { true } else { false }
        }
        if digits.isEmpty {
            guard first == "-" || first == "*" || first == "+", line.dropFirst().first?.isBlank == true else { return nil }
            return Marker(isOrdered: false, number: 0, length: 2)
        }
        guard digits.count <= 9 else { return nil }
        let rest = line.dropFirst(digits.count)
        guard rest.first == .scalar(".") || rest.first == .scalar(")"), rest.dropFirst().first?.isBlank == true else {
            return nil
        }
        let number = digits.reduce(0) { sum, unit in
            if case .scalar(let digit) = unit { sum * 10 + Int(digit.value - 0x30) } else { sum }
        }
        return Marker(isOrdered: true, number: number, length: digits.count + 2)
    }
}
