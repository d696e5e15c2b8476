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
    /// Whether the lines are those of files: then each has its newline, except for a last one that lacks it.
    private let isOfFiles: Bool

    /// The most pairs of lines compared. In a larger change, all old lines are shown as removed and all new ones as added.
    private static let maxPairs = 1 << 20

    /// The difference of two texts, split at their newlines.
    public init(from before: String, to after: String) {
        self.init(
            before.split(separator: "\n" as Unicode.Scalar), after.split(separator: "\n" as Unicode.Scalar), isOfFiles: false)
    }

    private init(_ old: [Substring], _ new: [Substring], isOfFiles: Bool) {
        // Lines are the same if their bytes are: strings also compare equal if only their encoding of a character differs.
        var numbers: [[UInt8]: Int] = [:]
        func number(_ line: Substring) -> Int {
            let bytes = Array(line.utf8)
            if let known = numbers[bytes] { return known }
            numbers[bytes] = numbers.count
            return numbers.count - 1
        }
        let (olds, news) = (old.map(number), new.map(number))
        var head = 0
        while head < old.count, head < new.count, olds[head] == news[head] { head += 1 }
        var tail = 0
        while tail < old.count - head, tail < new.count - head, olds[old.count - 1 - tail] == news[new.count - 1 - tail] {
            tail += 1
        }
        var lines = old[..<head].map { Line(kind: .same, text: $0) }
        let (oldMiddle, newMiddle) = (head..<old.count - tail, head..<new.count - tail)
        lines += Self.kinds(Array(olds[oldMiddle]), Array(news[newMiddle])).map { kind, place in
            Line(kind: kind, text: kind == .added ? new[head + place] : old[head + place])
        }
        lines += old[(old.count - tail)...].map { Line(kind: .same, text: $0) }
        (self.lines, self.isOfFiles) = (lines, isOfFiles)
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
        if left > 0 { text += "… \(counted(left, "more line"))\n" }
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
        var (old, new, place) = (0, 0, 0)
        return ranges.map { range in
            while place < range.lowerBound { advance(&old, &new, &place) }
            let start = (old: old, new: new)
            while place < range.upperBound { advance(&old, &new, &place) }
            let heading = "@@ -\(Self.range(start.old, old)) +\(Self.range(start.new, new)) @@"
            return [heading] + lines[range].flatMap(shown)
        }
    }

    /// A line as `diff -u` prints it.
    private func shown(_ line: Line) -> [String] {
        let text = String(line.kind.rawValue) + line.text
        guard isOfFiles else { return [text] }
        if line.text.unicodeScalars.last == "\n" { return [String(text.unicodeScalars.dropLast())] }
        return [text, "\\ No newline at end of file"]
    }

    /// A range of lines in a heading: the first line and their number, or for an empty range the line before it.
    private static func range(_ before: Int, _ through: Int) -> String {
        let count = through - before
        return count == 1 ? "\(through)" : "\(count == 0 ? before : before + 1),\(count)"
    }

    private func advance(_ old: inout Int, _ new: inout Int, _ place: inout Int) {
        if lines[place].kind != .added { old += 1 }
        if lines[place].kind != .removed { new += 1 }
        place += 1
    }

    /// Marks the lines of both ranges, each given by its place in its range: those of the longest common subsequence are the same, the
    /// others removed or added.
    private static func kinds(_ old: [Int], _ new: [Int]) -> [(kind: Kind, place: Int)] {
        guard !old.isEmpty, !new.isEmpty, old.count * new.count <= maxPairs else {
            return old.indices.map { (.removed, $0) } + new.indices.map { (.added, $0) }
        }
        let width = new.count + 1
        var common = [Int32](repeating: 0, count: (old.count + 1) * width)
        for i in old.indices.reversed() {
            for j in new.indices.reversed() {
                common[i * width + j] =
                    old[i] == new[j]
                    ? common[(i + 1) * width + j + 1] + 1 : max(common[(i + 1) * width + j], common[i * width + j + 1])
            }
        }
        var kinds: [(kind: Kind, place: Int)] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if i < old.count, j < new.count, old[i] == new[j] {
                kinds.append((.same, i))
                (i, j) = (i + 1, j + 1)
            } else if i < old.count, j == new.count || common[(i + 1) * width + j] >= common[i * width + j + 1] {
                kinds.append((.removed, i))
                i += 1
            } else {
                kinds.append((.added, j))
                j += 1
            }
        }
        return kinds
    }
}

extension LineDiff {
    /// The change of a file as `diff -u` prints it and `patch -p1` applies it; empty if nothing changes.
    ///
    /// - Parameter before: the text of the file; nil for a new one.
    public static func patch(of path: String, from before: String?, to after: String) -> String {
        let difference = LineDiff((before ?? "").fileLines, after.fileLines, isOfFiles: true)
        if difference.isEmpty { return "" }
        let name = path.hasPrefix("/") ? path : "/" + path
        let heading = ["--- " + (before == nil ? "/dev/null" : ("a" + name).patchName), "+++ " + ("b" + name).patchName]
        return (heading + difference.hunks(3).joined()).map { $0 + "\n" }.joined()
    }
}

extension String {
    /// The texts between the separators, also empty ones. Unlike splitting by a character it splits `\r\n`, too.
    fileprivate func split(separator: Unicode.Scalar) -> [Substring] {
        unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map(Substring.init)
    }

    /// The lines of a file, each with its newline; the last may lack it.
    fileprivate var fileLines: [Substring] {
        var lines: [Substring] = []
        var rest = unicodeScalars[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: "\n").map { rest.index(after: $0) } ?? rest.endIndex
            lines.append(Substring(rest[..<end]))
            rest = rest[end...]
        }
        return lines
    }

    /// A file's name in the heading of a patch: in quotes with unusual characters, and ended by a tab with blanks, as `patch` reads it.
    fileprivate var patchName: String {
        let isPlain = unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f && $0 != "\"" && $0 != "\\" }
        if isPlain { return contains(" ") ? self + "\t" : self }
        let quoted = utf8.map { byte in
            switch byte {
            case 0x22, 0x5c: "\\" + String(UnicodeScalar(byte))
            case 0x20...0x7e: String(UnicodeScalar(byte))
            default: "\\" + String(Int(byte) + 0o1000, radix: 8).dropFirst()
            }
        }
        return "\"" + quoted.joined() + "\""
    }
}
