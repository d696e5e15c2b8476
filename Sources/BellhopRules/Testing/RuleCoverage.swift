public import BellhopCore

/// Which rules, conditions, steps and templates the tests of rules cover.
public struct RuleCoverage: Sendable, Hashable {
    /// Something that tests can cover.
    public struct Point: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable {
            case rule
            /// A part of a condition that must be both true and false.
            case condition
            case step
            /// An expression whose value is used.
            case template
        }

        public var place: Diagnostic.Place
        public var kind: Kind
        /// The point in words: `` `when`: task.priority == 1 ``.
        public var text: String
        /// Nil if the tests cover it.
        public var missing: Missing?
    }

    public enum Missing: String, Sendable, Hashable {
        /// A rule or a step that never ran, an expression that was never evaluated.
        case notMet = "not_met"
        case neverTrue = "never_true"
        case neverFalse = "never_false"
    }

    /// The points of one file, in its order.
    public struct File: Sendable, Hashable {
        public var path: String
        public var points: [Point]

        public var covered: Int { points.count { $0.missing == nil } }
        public var percent: Int { RuleCoverage.percent(covered, of: points.count) }
    }

    public var files: [File]

    init(_ points: [Point]) {
        let byFile = Dictionary(grouping: points, by: \.place.file)
        files = byFile.map { path, points in
            let sorted = points.sorted {
                ($0.place.line, $0.place.column, $0.kind.rawValue, $0.text) < (
                    $1.place.line, $1.place.column, $1.kind.rawValue, $1.text
                )
            }
            return File(path: path, points: sorted)
        }.sorted { $0.path < $1.path }
    }

    public var all: Int { files.reduce(0) { $0 + $1.points.count } }
    public var covered: Int { files.reduce(0) { $0 + $1.covered } }
    /// The share of the points that are covered, rounded down; 100 without points.
    public var percent: Int { Self.percent(covered, of: all) }

    private static func percent(_ covered: Int, of all: Int) -> Int { all == 0 ? 100 : covered * 100 / all }
}

extension RuleCoverage {
    /// For programs: the totals, and each file with its points.
    public var json: JSON {
        [
            "percent": .int(Int64(percent)), "covered": .int(Int64(covered)), "all": .int(Int64(all)),
            "files": .array(files.map { .object($0.json) }),
        ]
    }

    /// A file line by line: `✓` before lines whose points are all covered, `✗` before those whose points were never reached, `~`
    /// before the others; below each line its missing points.
    ///
    /// - Parameter text: the file's text.
    public static func lines(of file: File, in text: String) -> [(mark: Character, line: String, isSource: Bool)] {
        let byLine = Dictionary(grouping: file.points, by: \.place.line)
        var lines: [(mark: Character, line: String, isSource: Bool)] = []
        // In files from Windows, the end of a line is another character than `\n`.
        let all = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (number, line) in all.enumerated() {
            let points = byLine[number + 1] ?? []
            let missing = points.filter { $0.missing != nil }
            let isUnmet = points.allSatisfy { $0.missing == .notMet }
            let mark: Character = points.isEmpty ? " " : missing.isEmpty ? "✓" : isUnmet ? "✗" : "~"
            lines.append((mark, String(line), true))
            lines += missing.map { (" ", "\($0.words)", false) }
        }
        if lines.last?.line.isEmpty == true { lines.removeLast() }
        return lines
    }
}

extension RuleCoverage.File {
    /// For programs: the file with its points.
    public var json: JSON.Object {
        [
            "file": .string(path), "percent": .int(Int64(percent)),
            "points": .array(
                points.map { point in
                    [
                        "line": .int(Int64(point.place.line)), "column": .int(Int64(point.place.column)),
                        "kind": .string(point.kind.rawValue), "text": .string(point.text),
                        "missing": .optional(point.missing?.rawValue),
                    ]
                }),
        ]
    }
}

extension RuleCoverage.Point {
    /// The points that the tests do not cover, in words.
    public var words: String {
        switch (missing, kind) {
        case (.neverTrue, _): "never true: \(text)"
        case (.neverFalse, _): "never false: \(text)"
        case (.notMet, .rule), (.notMet, .step): "never ran: \(text)"
        case (.notMet, .condition), (.notMet, .template): "never evaluated: \(text)"
        case (nil, _): text
        }
    }
}
