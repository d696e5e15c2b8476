import BellhopCore

/// A receiver's markup: its marks and its escapes.
protocol Markup: Sendable {
    /// Appends a character, escaped so that the receiver shows exactly this character.
    func escape(_ scalar: Unicode.Scalar, at place: TextPlace, into text: inout String)

    /// The marks before and after an element.
    func marks(_ element: MarkupElement) -> MarkupMarks

    /// Whether marks of emphasis depend on the characters beside them, as in Markdown. A zero-width space then separates marks
    /// from punctuation.
    var guardsEmphasis: Bool { get }

    /// Whether this text can be written as code; if not, it is written as plain text.
    func canBeCode(_ text: String) -> Bool

    var lineBreak: String { get }
    /// Between paragraphs, lists and other blocks.
    var blockSeparator: String { get }
    /// Between the lines of a list.
    var lineSeparator: String { get }
    var fieldSeparator: String { get }

    /// The part of the limit that a character takes.
    func cost(of character: Character, escaped: Substring) -> Int
    /// The part of the limit that a mark or separator takes.
    func cost(ofMark mark: String) -> Int
    /// In bytes, the limit of the marks of all links together.
    var linkLimit: Int { get }
    /// The number of entities, such as a bold text or a link, that an element is for a receiver that limits their number.
    func entities(_ element: MarkupElement) -> Int
    var entityLimit: Int { get }
}

extension Markup {
    var guardsEmphasis: Bool { false }
    func canBeCode(_ text: String) -> Bool { true }
    var lineBreak: String { "\n" }
    var blockSeparator: String { "\n\n" }
    var lineSeparator: String { "\n" }
    var fieldSeparator: String { lineSeparator }
    func cost(of character: Character, escaped: Substring) -> Int { escaped.unicodeScalars.count }
    func cost(ofMark mark: String) -> Int { mark.unicodeScalars.count }
    var linkLimit: Int { .max }
    func entities(_ element: MarkupElement) -> Int { 0 }
    var entityLimit: Int { .max }
}

enum TextPlace: Sendable, Hashable {
    /// - Parameters:
    ///   - lineStart: whether only spaces and digits stand before it on its line.
    ///   - previous: the text's character before it on its line, if any.
    case text(lineStart: Bool, previous: Unicode.Scalar?)
    case code
}

enum MarkupElement: Sendable, Hashable {
    case strong, emphasis, strongEmphasis, code
    /// - Parameter isBare: whether its label is the address itself.
    case link(LinkAddress, isBare: Bool)
    case paragraph
    /// The message's title, and that of a section.
    case title, heading
    case list(ordered: Bool)
    /// - Parameter number: counted from 1, in an ordered list.
    case item(number: Int?)
    case fields, field, fieldName, fieldValue
    /// The line that counts the items left out.
    case note
    /// The message's link, a paragraph of its own.
    case action
    /// The last line.
    case origin
}

struct MarkupMarks: Sendable, Hashable {
    var open: String
    var close: String

    init(_ open: String = "", _ close: String = "") { (self.open, self.close) = (open, close) }
}

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
    var linkLimit: Int { base.linkLimit }
    func entities(_ element: MarkupElement) -> Int { base.entities(element) }
    var entityLimit: Int { base.entityLimit }

    /// Quotation marks, backslashes, line breaks and tabs take two.
    static func bytes(_ text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { $0 + ($1 < 0x20 || $1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1) }
    }
}
