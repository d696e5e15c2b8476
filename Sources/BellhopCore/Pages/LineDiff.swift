/// The difference between two texts, line by line, as in code reviews.
public struct LineDiff: Sendable, Hashable {
    enum Kind: Character, Sendable, Hashable {
        case same = " "
        case removed = "-"
        case added = "+"
    }

    struct Line: Sendable, Hashable {
        var kind: Kind
        var text: Substring
    }

    let lines: [Line]

    /// The most pairs of lines compared. In a larger change, all old lines are shown as removed and all new ones as added.
    private static let mostPairs = 1 << 20

    public init(from before: String, to after: String) {
        let old = before.split(separator: "\n", omittingEmptySubsequences: false)
        let new = after.split(separator: "\n", omittingEmptySubsequences: false)
        var head = 0
        while head < old.count, head < new.count, old[head] == new[head] { head += 1 }
        var tail = 0
        while tail < old.count - head, tail < new.count - head, old[old.count - 1 - tail] == new[new.count - 1 - tail] {
            tail += 1
        }
        var lines = old[..<head].map { Line(kind: .same, text: $0) }
        lines += Self.middle(Array(old[head..<old.count - tail]), Array(new[head..<new.count - tail]))
        lines += old[(old.count - tail)...].map { Line(kind: .same, text: $0) }
        self.lines = lines
    }

    /// Whether the texts are the same.
    public var isEmpty: Bool { lines.allSatisfy { $0.kind == .same } }

    /// The difference in the format of `diff -u`, with `context` lines around each change, cut off after `limit` bytes.
    public func unified(context: Int = 3, limit: Int = 16 << 10) -> String {
        var text = ""
        var left = 0
        for hunk in hunks(context) {
            for line in hunk {
                guard text.utf8.count + line.utf8.count < limit else {
                    left += 1
                    continue
                }
                if left == 0 { text += line + "\n" } else { left += 1 }
            }
        }
        if left > 0 { text += "… \(left) more lines\n" }
        return text.last == "\n" ? String(text.dropLast()) : text
    }

    /// Each group of changed lines with its context; the first line is its heading.
    private func hunks(_ context: Int) -> [[String]] {
        var ranges: [Range<Int>] = []
        for place in lines.indices where lines[place].kind != .same {
            let range = max(place - context, 0)..<min(place + context + 1, lines.count)
            if let last = ranges.last, last.upperBound >= range.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
        var (old, new, place) = (1, 1, 0)
        return ranges.map { range in
            while place < range.lowerBound { advance(&old, &new, &place) }
            let start = (old: old, new: new)
            while place < range.upperBound { advance(&old, &new, &place) }
            let heading = "@@ -\(start.old),\(old - start.old) +\(start.new),\(new - start.new) @@"
            return [heading] + lines[range].map { String($0.kind.rawValue) + $0.text }
        }
    }

    private func advance(_ old: inout Int, _ new: inout Int, _ place: inout Int) {
        if lines[place].kind != .added { old += 1 }
        if lines[place].kind != .removed { new += 1 }
        place += 1
    }

    /// The lines of both ranges: those of their longest common subsequence are the same, the others removed or added.
    private static func middle(_ old: [Substring], _ new: [Substring]) -> [Line] {
        let replaced = old.map { Line(kind: .removed, text: $0) } + new.map { Line(kind: .added, text: $0) }
        guard !old.isEmpty, !new.isEmpty, old.count * new.count <= mostPairs else { return replaced }
        let width = new.count + 1
        var common = [Int32](repeating: 0, count: (old.count + 1) * width)
        for i in old.indices.reversed() {
            for j in new.indices.reversed() {
                common[i * width + j] =
                    old[i] == new[j]
                    ? common[(i + 1) * width + j + 1] + 1 : max(common[(i + 1) * width + j], common[i * width + j + 1])
            }
        }
        var lines: [Line] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, j < new.count, old[i] == new[j] {
                lines.append(Line(kind: .same, text: old[i]))
                (i, j) = (i + 1, j + 1)
            } else if i < old.count, j == new.count || common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.append(Line(kind: .removed, text: old[i]))
                i += 1
            } else {
                lines.append(Line(kind: .added, text: new[j]))
                j += 1
            }
        }
        return lines
    }
}
