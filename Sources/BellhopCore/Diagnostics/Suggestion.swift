/// Corrects a misspelled word by the nearest known one.
public enum Suggestion {
    /// The candidate nearest to `word`, if near enough: up to a third of the letters may differ, but not all of them.
    public static func closest(to word: String, among candidates: some Sequence<String>) -> String? {
        let wanted = Array(word.lowercased().unicodeScalars)
        guard !wanted.isEmpty, wanted.count <= 80 else { return nil }
        var best: (distance: Int, name: String)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased().unicodeScalars))
            if distance < best?.distance ?? .max { best = (distance, candidate) }
        }
        guard let best, best.distance <= max(1, wanted.count / 3),
            best.distance < max(wanted.count, best.name.unicodeScalars.count)
        else { return nil }
        return best.name
    }

    /// ``did you mean `priority`?``, or nil.
    public static func didYouMean(_ word: String, among candidates: some Sequence<String>) -> String? {
        closest(to: word, among: candidates).map { "did you mean `\($0)`?" }
    }

    /// Optimal string alignment: an insertion, deletion, substitution or swap of neighbours counts as one step.
    static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var before: [Int] = []
        var previous = Array(0...b.count)
        for i in 1...a.count {
            var row = [i] + Array(repeating: 0, count: b.count)
            for j in 1...b.count {
                let same = a[i - 1] == b[j - 1]
                row[j] = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            before = previous
            previous = row
        }
        return previous[b.count]
    }
}

extension [String] {
    /// The names as a sentence lists them: `` `a`, `b` and `c` ``.
    public var listed: String { quoted(before: "and") }

    /// The names as choices: `` `a`, `b` or `c` ``.
    public var alternatives: String { quoted(before: "or") }

    /// The names after a colon or a verb: `` `a`, `b`, `c` ``.
    public var quotedList: String { inBackticks.joined(separator: ", ") }

    private var inBackticks: [String] { map { "`\($0)`" } }

    private func quoted(before last: String) -> String {
        let names = inBackticks
        return names.count < 2 ? names.joined() : names.dropLast().joined(separator: ", ") + " \(last) " + names[names.count - 1]
    }
}
