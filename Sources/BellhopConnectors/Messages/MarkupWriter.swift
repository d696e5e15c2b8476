import BellhopCore

/// Writes text in a receiver's markup, within a budget.
///
/// It cuts between characters as people see them, never within a mark or an escape, and closes open marks. A cut text ends in an
/// ellipsis, and nothing more is written until the next ``within(_:_:)``.
struct MarkupWriter<Flavour: Markup>: Sendable {
    let flavour: Flavour
    private(set) var text = ""
    /// The rest of the budget.
    private(set) var room: Int
    /// The rest of the bytes that the marks of links may have.
    private(set) var linkRoom: Int
    /// How many more entities (``Markup/entities(_:)``) may be written; further texts have no marks.
    private(set) var entityRoom: Int
    /// Whether something did not fit.
    private(set) var wasCut = false
    private var isFull = false
    /// The state of the line, for escapes that depend on it.
    private var isLineStart = true
    private var previous: Unicode.Scalar?

    init(_ flavour: Flavour, room: Int) {
        self.flavour = flavour
        self.room = room
        linkRoom = flavour.linkLimit
        entityRoom = flavour.entityLimit
    }

    var isEmpty: Bool { text.isEmpty }

    /// Runs a closure within a part of the room, and of that for links and entities. Text after the closure is written even if the
    /// closure's text was cut.
    mutating func within(_ limit: Int, links: Int = .max, entities: Int = .max, _ body: (inout Self) -> Void) {
        let outside = room - max(min(limit, room), 0)
        let linksOutside = linkRoom - min(links, linkRoom)
        let entitiesOutside = entityRoom - min(entities, entityRoom)
        let wasFull = isFull
        room -= outside
        linkRoom -= linksOutside
        entityRoom -= entitiesOutside
        isFull = wasFull || room <= 0
        body(&self)
        room += outside
        linkRoom += linksOutside
        entityRoom += entitiesOutside
        isFull = wasFull
    }

    /// Writes a block, with a separator before it unless it is the first; writes nothing if no part of the block fits.
    mutating func block(_ element: MarkupElement, _ body: (inout Self) -> Void) {
        separated(by: text.isEmpty ? "" : flavour.blockSeparator) { $0.element(element, body) }
    }

    /// Writes a separator and then the content; writes neither if the content is empty.
    mutating func separated(by separator: String, _ body: (inout Self) -> Void) {
        guard !isFull else { return }
        let before = self
        guard mark(separator) else { return }
        let begin = text.utf8.count
        body(&self)
        if text.utf8.count == begin { restore(before) }
    }

    /// Writes an element around the body's text; writes nothing if the text is empty.
    mutating func element(_ element: MarkupElement, _ body: (inout Self) -> Void) {
        guard !isFull else { return }
        let before = self
        let marks = marks(of: element)
        let cost = flavour.cost(ofMark: marks.close)
        guard room > flavour.cost(ofMark: marks.open) + cost else { return cut() }
        _ = mark(marks.open)
        let begin = text.utf8.count
        room -= cost
        body(&self)
        room += cost
        close(marks.close, cost: cost, after: begin, else: before)
    }

    /// The marks of an element; none if its entities do not fit.
    private mutating func marks(of element: MarkupElement) -> MarkupMarks {
        let entities = flavour.entities(element)
        guard entities <= entityRoom else { return MarkupMarks() }
        entityRoom -= entities
        return flavour.marks(element)
    }

    /// Writes a closing mark; returns to the state before the opening one if there is no text since.
    private mutating func close(_ mark: String, cost: Int, after begin: Int, else before: Self) {
        if text.utf8.count == begin { restore(before) } else { put(mark, cost: cost) }
    }

    /// Returns to an earlier state, but keeps whether text was cut.
    private mutating func restore(_ before: Self) {
        let cut = (wasCut, isFull)
        self = before
        (wasCut, isFull) = cut
    }

    /// Writes a text, whole or cut.
    mutating func write(_ styled: StyledText) {
        guard !isFull else { return }
        var whole = self
        if whole.runs(styled.runs, reserve: 0) {
            self = whole
            return
        }
        let ellipsis = flavour.cost(of: Character(DisplayText.ellipsis), escaped: DisplayText.ellipsis[...])
        _ = runs(styled.runs, reserve: ellipsis)
        if room >= ellipsis { put(DisplayText.ellipsis, cost: ellipsis) }
        cut()
    }

    /// Writes the mentions that fit completely, which are finished markup.
    mutating func mentions(_ mentions: [String]) {
        for (place, mention) in mentions.enumerated() where !isFull {
            separated(by: place > 0 ? " " : "") { $0.raw(mention) }
        }
    }

    private mutating func raw(_ markup: String) {
        guard markup.utf8.count <= linkRoom, entityRoom > 0, mark(markup) else { return cut() }
        linkRoom -= markup.utf8.count
        entityRoom -= 1
    }

    /// Writes the lines of a list that fit completely, and a line that counts the others.
    /// - Parameters:
    ///   - more: the number of further items.
    ///   - longest: the room of one line.
    mutating func list(_ items: [StyledText], ordered: Bool, more: Int, longest: Int) {
        guard !isFull else { return }
        let note = flavour.lineSeparator + PlainRenderer.more(more + items.count)
        let marks = flavour.marks(.note)
        let reserve = flavour.cost(ofMark: note + marks.open + marks.close)
        var shown = 0
        element(.list(ordered: ordered)) { writer in
            for (place, item) in items.enumerated() {
                let before = writer
                writer.separated(by: place > 0 ? writer.flavour.lineSeparator : "") { writer in
                    writer.within(longest) { writer in
                        writer.element(.item(number: ordered ? place + 1 : nil)) {
                            $0.write(item)
                        }
                    }
                }
                let isLast = place == items.count - 1 && more == 0
                if writer.text.utf8.count == before.text.utf8.count || writer.room < (isLast ? 0 : reserve) {
                    writer = before
                    break
                }
                shown += 1
            }
        }
        let left = more + items.count - shown
        if shown < items.count { wasCut = true }
        guard left > 0 else { return }
        separated(by: shown > 0 ? flavour.lineSeparator : "") { writer in
            writer.element(.note) { $0.write(StyledText(PlainRenderer.more(left))) }
        }
    }

    // MARK: Runs

    /// Writes runs and keeps `reserve` of the room free; false if they did not all fit.
    private mutating func runs(_ runs: [StyledText.Run], reserve: Int) -> Bool {
        for (place, run) in runs.enumerated() {
            let next = place + 1 < runs.count ? runs[place + 1] : nil
            let isWhole =
                switch run {
                case .lineBreak: fits(flavour.lineBreak, reserve) && mark(flavour.lineBreak)
                case .link(let address, let label): link(address, label, reserve: reserve)
                case .text(let words, let style)
                where style != .plain && (style != .code || flavour.canBeCode(words))
                    && flavour.entities(style.element) <= entityRoom:
                    styled(words, style, before: next, reserve: reserve)
                case .text(let words, _): characters(words, at: .text, reserve: reserve)
                }
            guard isWhole else { return false }
        }
        return true
    }

    private enum Place { case text, code }

    private mutating func styled(_ words: String, _ style: StyledText.Style, before next: StyledText.Run?, reserve: Int) -> Bool {
        let before = self
        let marks = marks(of: style.element)
        let isGuarded = flavour.guardsEmphasis && style != .code
        // Without the guards, Markdown would join adjacent marks, or not recognize a mark beside punctuation.
        let opening = (isGuarded && text.utf8.last == UInt8(ascii: "*") ? Self.guardText : "") + marks.open
        let inner = isGuarded && words.unicodeScalars.first?.isPunctuation == true ? Self.guardText : ""
        let closing =
            (isGuarded && words.unicodeScalars.last?.isPunctuation == true && next.hasWord ? Self.guardText : "") + marks.close
        let cost = flavour.cost(ofMark: closing)
        guard fits(opening + inner, cost + reserve), mark(opening), mark(inner) else {
            self = before
            return false
        }
        let begin = text.utf8.count
        let isWhole = characters(words, at: style == .code ? .code : .text, reserve: cost + reserve)
        // No closing mark may follow a blank.
        while !isWhole, text.utf8.count > begin, text.unicodeScalars.last?.isBlank == true { text.unicodeScalars.removeLast() }
        close(closing, cost: cost, after: begin, else: before)
        return isWhole
    }

    /// Writes a link, or only its label if the address does not fit.
    private mutating func link(_ address: LinkAddress, _ label: String, reserve: Int) -> Bool {
        let element = MarkupElement.link(address, isBare: label == address.text)
        let marks = flavour.marks(element)
        let cost = flavour.cost(ofMark: marks.close)
        let bytes = marks.open.utf8.count + marks.close.utf8.count
        let before = self
        let entities = flavour.entities(element)
        guard bytes <= linkRoom, entities <= entityRoom, fits(marks.open, cost + reserve), mark(marks.open) else {
            wasCut = true
            return characters(label, at: .text, reserve: reserve)
        }
        linkRoom -= bytes
        entityRoom -= entities
        let begin = text.utf8.count
        let isWhole = characters(label, at: .text, reserve: cost + reserve)
        close(marks.close, cost: cost, after: begin, else: before)
        return isWhole
    }

    /// Writes the characters that fit; false if some did not.
    private mutating func characters(_ words: String, at place: Place, reserve: Int) -> Bool {
        var escaped = ""
        for character in words {
            escaped.removeAll(keepingCapacity: true)
            let (wasStart, last) = (isLineStart, previous)
            for scalar in character.unicodeScalars {
                let at: TextPlace = place == .code ? .code : .text(lineStart: isLineStart, previous: previous)
                flavour.escape(scalar, at: at, into: &escaped)
                isLineStart = isLineStart && (scalar.isBlank || scalar.properties.numericType == .decimal)
                previous = scalar
            }
            let cost = flavour.cost(of: character, escaped: escaped[...])
            guard cost <= room - reserve else {
                (isLineStart, previous) = (wasStart, last)
                return false
            }
            text += escaped
            room -= cost
        }
        return true
    }

    private func fits(_ mark: String, _ reserve: Int) -> Bool { flavour.cost(ofMark: mark) + reserve <= room }

    private mutating func mark(_ mark: String) -> Bool {
        let cost = flavour.cost(ofMark: mark)
        guard cost <= room else { return false }
        put(mark, cost: cost)
        return true
    }

    private mutating func put(_ mark: String, cost: Int) {
        guard !mark.isEmpty else { return }
        text += mark
        room -= cost
        (isLineStart, previous) = mark.hasSuffix("\n") ? (true, nil) : (isLineStart, previous)
    }

    private mutating func cut() { (wasCut, isFull) = (true, true) }

    static var guardText: String { "\u{200B}" }
}

extension StyledText.Style {
    fileprivate var element: MarkupElement {
        switch self {
        case .plain: .paragraph
        case .strong: .strong
        case .emphasis: .emphasis
        case .strongEmphasis: .strongEmphasis
        case .code: .code
        }
    }
}

extension StyledText.Run? {
    /// Whether the next run begins with something other than whitespace. For CommonMark, U+FEFF is not whitespace.
    fileprivate var hasWord: Bool {
        switch self {
        case nil, .lineBreak?: false
        case .link?: true
        case .text(let words, let style)?: style != .plain || words.unicodeScalars.first?.properties.isWhitespace == false
        }
    }
}
