import BellhopCore

/// Matching brackets and backticks of a text, found in one pass so that no text is slow to parse.
struct MarkdownMarks {
    /// The closing position of each closed bracket.
    private(set) var closing: [Int: Int] = [:]
    /// The start positions of backtick runs, by length.
    private var backticks: [Int: [Int]] = [:]
    private let units: [MarkdownTemplate.Unit]

    init(_ units: [MarkdownTemplate.Unit]) {
        self.units = units
        var at = 0
        while at < units.count {
            let length = units[at] == .scalar("`") ? run(at) : 1
            if units[at] == .scalar("`") { backticks[length, default: []].append(at) }
            at += length
        }
        pairBrackets()
    }

    private mutating func pairBrackets() {
        var square: [Int] = []
        var round: [Int] = []
        let all = 0..<units.count
        var at = 0
        while at < units.count {
            switch units[at] {
            case .scalar("["): square.append(at)
            case .scalar("("): round.append(at)
            case .scalar("]"): if let open = square.popLast() { closing[open] = at }
            case .scalar(")"): if let open = round.popLast() { closing[open] = at }
            default: break
            }
            at = skip(at, within: all)
        }
    }

    private func run(_ at: Int) -> Int { units[at...].prefix { $0 == units[at] }.count }

    /// The position after an escape, a code span, or one unit.
    func skip(_ at: Int, within range: Range<Int>) -> Int {
        if units[at] == .scalar("\\"), at + 1 < range.upperBound { return at + 2 }
        guard units[at] == .scalar("`") else { return at + 1 }
        let length = run(at)
        return codeSpan(at, within: range).map { $0.upperBound + length } ?? min(at + length, range.upperBound)
    }

    /// The text between this run of backticks and the next of the same length.
    func codeSpan(_ at: Int, within range: Range<Int>) -> Range<Int>? {
        let length = run(at)
        let places = backticks[length] ?? []
        let next = places.partitioningIndex { $0 >= at + length }
        guard next < places.count, places[next] + length <= range.upperBound else { return nil }
        return at + length..<places[next]
    }
}
