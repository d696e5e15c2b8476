/// A piece of a page. Literals are markup; an interpolated value is text and is escaped, unless it is an ``HTML`` itself. So text from
/// a ticket never becomes markup.
///
/// Attributes must be in double quotes.
struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    private(set) var text: String

    private init(markup: String) { text = markup }

    init() { text = "" }

    init(stringLiteral value: StaticString) { text = value.description }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.markup }

    init(escaping text: String) { self.text = Self.escaped(text) }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var markup: String

        init(literalCapacity: Int, interpolationCount: Int) {
            markup = ""
            markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) { markup += literal.description }
        mutating func appendInterpolation(_ text: String) { markup += HTML.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { markup += String(number) }
        mutating func appendInterpolation(_ piece: HTML) { markup += piece.text }
        mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { markup += piece.text } }
        mutating func appendInterpolation(_ piece: HTML?) { markup += piece?.text ?? "" }

        /// The address of a link; `#` if it does not lead to a web page, such as `javascript:`.
        mutating func appendInterpolation(link address: String) {
            markup += HTML.isLink(address) ? HTML.escaped(address) : "#"
        }
    }

    static func + (one: HTML, other: HTML) -> HTML { HTML(markup: one.text + other.text) }

    static func += (one: inout HTML, other: HTML) { one.text += other.text }

    /// Whether an address leads to a web page: of this console, or of another server.
    static func isLink(_ address: String) -> Bool {
        let start = address.prefix(8).lowercased()
        if start.hasPrefix("https://") || start.hasPrefix("http://") { return true }
        return address.hasPrefix("/") && !address.hasPrefix("//") && !address.hasPrefix("/\\")
    }

    /// A text with the characters escaped that could end a text or a quoted attribute. Characters that HTML forbids and characters that
    /// change the direction of text are replaced. Of a line end CRLF, only LF is left, as browsers read it.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        var isAfterReturn = false
        for scalar in text.unicodeScalars {
            if isAfterReturn, scalar != "\n" { escaped += "\u{FFFD}" }
            isAfterReturn = scalar == "\r"
            switch scalar {
            case "\r": break
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension Sequence<HTML> {
    func joined(by separator: HTML) -> HTML {
        var whole = HTML()
        for (place, piece) in self.enumerated() {
            if place > 0 { whole += separator }
            whole += piece
        }
        return whole
    }
}
