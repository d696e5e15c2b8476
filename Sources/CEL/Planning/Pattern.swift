import CRE2

/// An RE2 regular expression: matching takes time linear in the text, whatever the pattern.
///
/// A class because it owns C++ memory; `@unchecked` because RE2 objects are safe to share between threads once made (re2.h).
final class Pattern: @unchecked Sendable {
    private let regex: OpaquePointer

    /// The memory that RE2 may use for one pattern, in bytes.
    private static let memory: Int64 = 8 << 20

    init(_ text: String, limit: Int = Limits().patternBytes) throws(EvaluationError) {
        guard text.utf8.count <= limit else { throw .badPattern("it is longer than \(limit) bytes") }
        let made = text.withBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { cre2_new($0.baseAddress, bytes.count, Self.memory) }
        }
        guard let made else { throw .badPattern("out of memory") }
        regex = made
        // deinit deletes a refused pattern: all properties are set by now.
        if let reason = cre2_error(made) { throw .badPattern(String(cString: reason)) }
    }

    deinit { cre2_delete(regex) }

    /// The number of capture groups.
    var groups: Int { Int(cre2_groups(regex)) }

    /// The cost of compiling the pattern, in units of work, estimated from the size of its program.
    var work: Int { 128 + Int(cre2_size(regex)) * 16 }

    /// The cost of a refused pattern, perhaps because its program became too large.
    static let refusedWork = 1 << 16

    func isFound(in text: String) -> Bool { text.withBytes(isFound) }

    @Sendable
    func isFound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.withMemoryRebound(to: CChar.self) { cre2_match(regex, $0.baseAddress, bytes.count, 0, nil, 0) }
    }

    /// The byte ranges of the first match at or after an offset: the whole match first, then each group; nil for a group that did not match.
    func match(in text: String, from start: Int) -> [Range<Int>?]? {
        var spans = Array(repeating: cre2_span(start: -1, end: -1), count: groups + 1)
        let found = text.withBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cre2_match(regex, $0.baseAddress, bytes.count, start, &spans, Int32(spans.count))
            }
        }
        return found ? spans.map { $0.start < 0 ? nil : $0.start..<$0.end } : nil
    }
}

/// The patterns that an activation has used, so that one in a loop is compiled once.
struct PatternCache {
    private var known: [String: Pattern] = [:]
    private static let most = 64

    subscript(text: String) -> Pattern? { known[text] }

    mutating func add(_ pattern: Pattern, for text: String) {
        if known.count >= Self.most { known.removeAll() }
        known[text] = pattern
    }
}
