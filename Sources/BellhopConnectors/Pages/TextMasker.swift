import CRE2

/// Masks the parts of a text that match a regular expression (RE2).
///
/// RE2 finds one match in linear time. To find all matches in linear time, each search is limited to a window: the part of a
/// match more than ``reach`` bytes after its beginning may be missed.
///
/// A class because it owns C++ memory; `@unchecked` because RE2 objects are safe to share between threads once made (re2.h).
final class TextMasker: @unchecked Sendable {
    static let mark = "…"

    private let regex: OpaquePointer

    init(_ pattern: String) throws(InvalidValue) {
        guard pattern.utf8.count <= 4096 else {
            throw InvalidValue(message: "This regular expression is longer than 4096 bytes.")
        }
        let made = Array(pattern.utf8).withUnsafeBytes { bytes in
            cre2_new(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, 8 << 20)
        }
        guard let made else { throw InvalidValue(message: "There is not enough memory for this regular expression.") }
        regex = made
        if let reason = cre2_error(made) {
            throw InvalidValue(message: "`\(pattern)` is not a regular expression: \(String(cString: reason)).")
        }
    }

    deinit { cre2_delete(regex) }

    /// In bytes. A match of at most this length is always found.
    static let reach = 1024

    func masked(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var place = 0
        // The end of a match that the window cut off. A match that begins there continues it.
        var cut = -1
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            while place <= bytes.count {
                let end = min(place + 2 * Self.reach, bytes.count)
                let isWhole = end == bytes.count
                var span = cre2_span(start: -1, end: -1)
                guard cre2_match_within(regex, start, bytes.count, place, end, &span, 1) else {
                    if isWhole { break }
                    // Everything before this place has been searched completely.
                    result += bytes[place..<end - Self.reach]
                    place = end - Self.reach
                    continue
                }
                result += bytes[place..<span.start]
                if !isWhole, span.start > end - Self.reach {
                    place = span.start  // searched again with more of the following text
                } else if span.end > span.start {
                    if span.start != cut { result += Array(Self.mark.utf8) }
                    place = span.end
                    cut = !isWhole && span.end == end ? end : -1
                } else {
                    // An empty match masks nothing.
                    if span.end < bytes.count { result.append(bytes[span.end]) }
                    place = span.end + 1
                }
            }
        }
        if place < bytes.count { result += bytes[place...] }
        return String(decoding: result, as: UTF8.self)
    }
}
