import CRE2

/// Blots out what of a text matches a regular expression (RE2: its time is linear in the text, whatever the expression).
///
/// A class because it owns C++ memory; `@unchecked` because RE2 objects are safe to share between threads once made (re2.h).
final class Blotter: @unchecked Sendable {
    /// Why a text is no expression. One sentence.
    struct Problem: Error, Sendable, Hashable { var message: String }

    /// What stands where something was.
    static let mark = "…"

    private let regex: OpaquePointer

    init(_ pattern: String) throws(Problem) {
        guard pattern.utf8.count <= 4096 else { throw Problem(message: "This regular expression is longer than 4096 bytes.") }
        let made = Array(pattern.utf8).withUnsafeBytes { bytes in
            cre2_new(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, 8 << 20)
        }
        guard let made else { throw Problem(message: "There is no memory for this regular expression.") }
        regex = made
        if let reason = cre2_error(made) {
            throw Problem(message: "`\(pattern)` is no regular expression: \(String(cString: reason)).")
        }
    }

    deinit { cre2_delete(regex) }

    func blotted(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var place = 0
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            while place <= bytes.count {
                var span = cre2_span(start: -1, end: -1)
                guard cre2_match(regex, start, bytes.count, place, &span, 1) else { break }
                // A match of nothing blots nothing.
                let end = max(span.end, span.start)
                result += bytes[place..<span.start]
                if end > span.start {
                    result += Array(Self.mark.utf8)
                    place = end
                } else {
                    if end < bytes.count { result.append(bytes[end]) }
                    place = end + 1
                }
            }
        }
        if place < bytes.count { result += bytes[place...] }
        return String(decoding: result, as: UTF8.self)
    }
}
