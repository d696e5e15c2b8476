import CEL

/// A parsed string with `${{ … }}` in it.
struct TemplateText: Sendable, Hashable {
    enum Piece: Sendable, Hashable {
        case text(String)
        /// An expression, with its range in the string, in UTF-8 bytes.
        case expression(String, Range<Int>)
    }

    /// Why a string cannot be parsed.
    struct Problem: Error, Hashable {
        var code: String
        var message: String
        var help: String
        var range: Range<Int>
    }

    var pieces: [Piece]

    /// Whether a string needs parsing: so does the escape `$${{`.
    static func isTemplate(_ text: String) -> Bool {
        var dollar = false
        var braces = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "{"), dollar {
                braces += 1
                if braces == 2 { return true }
            } else {
                dollar = byte == UInt8(ascii: "$")
                braces = 0
            }
        }
        return false
    }

    init(_ text: String) throws(Problem) {
        let bytes = Array(text.utf8)
        let dollar = UInt8(ascii: "$")
        let brace = UInt8(ascii: "{")
        pieces = []
        var plain: [UInt8] = []
        var at = 0
        func opens(_ index: Int) -> Bool {
            index + 2 < bytes.count && bytes[index] == dollar && bytes[index + 1] == brace && bytes[index + 2] == brace
        }
        while at < bytes.count {
            if bytes[at] == dollar, opens(at + 1) {
                plain += [dollar, brace, brace]
                at += 4
            } else if opens(at) {
                guard let end = ExpressionScanner.end(of: bytes, from: at + 3) else {
                    throw Problem(
                        code: "unclosed-template", message: "`${{` is not closed by `}}`",
                        help: "for the literal characters write `$${{`", range: at..<at + 3)
                }
                if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
                plain = []
                let inner = Self.trimmed(bytes, at + 3..<end)
                if inner.isEmpty {
                    throw Problem(
                        code: "empty-template", message: "there is no expression between `${{` and `}}`",
                        help: "such as `${{ task.number }}`", range: at..<end + 2)
                }
                pieces.append(.expression(String(decoding: bytes[inner], as: UTF8.self), inner))
                at = end + 2
            } else {
                plain.append(bytes[at])
                at += 1
            }
        }
        if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
    }

    /// The expression, if the string is nothing else.
    var whole: (text: String, range: Range<Int>)? {
        guard pieces.count == 1, case .expression(let text, let range) = pieces[0] else { return nil }
        return (text, range)
    }

    /// The range without blanks at its ends.
    private static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }
}
