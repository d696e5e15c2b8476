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
        // A search for one byte takes far less than one for three, and few texts have it.
        text.utf8.contains(UInt8(ascii: "$")) && text.utf8.firstRange(of: "${{".utf8) != nil
    }

    init(_ text: String) throws(Problem) {
        let bytes = Array(text.utf8)
        pieces = []
        var plain: [UInt8] = []
        var at = 0
        func opens(_ index: Int) -> Bool { bytes[index...].starts(with: "${{".utf8) }
        while at < bytes.count {
            if bytes[at] != UInt8(ascii: "$") {
                plain.append(bytes[at])
                at += 1
            } else if opens(at + 1) {
                plain += "${{".utf8
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
