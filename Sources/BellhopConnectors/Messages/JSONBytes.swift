import BellhopCore

/// A markup whose limit counts the bytes of the text in a JSON document.
struct JSONBytes<Base: Markup>: Markup {
    var base: Base

    init(_ base: Base) { self.base = base }

    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String) {
        base.escape(scalar, at: place, into: &text)
    }

    func marks(_ element: MarkupElement) -> MarkupMarks { base.marks(element) }
    var guardsEmphasis: Bool { base.guardsEmphasis }
    func canBeCode(_ text: String) -> Bool { base.canBeCode(text) }
    var lineBreak: String { base.lineBreak }
    var blockSeparator: String { base.blockSeparator }
    var lineSeparator: String { base.lineSeparator }
    var fieldSeparator: String { base.fieldSeparator }
    func cost(of character: Character, escaped: Substring) -> Int { Self.bytes(escaped) }
    func cost(ofMark mark: String) -> Int { Self.bytes(mark) }

    /// Quotation marks, backslashes, line breaks and tabs take two.
    static func bytes(_ text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { $0 + ($1 < 0x20 || $1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1) }
    }
}
