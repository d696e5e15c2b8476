/// The name that was probably meant.
enum Suggestion {
    /// The closest choice by letters inserted, dropped, changed and swapped; nil if none is close: at most a third of the letters
    /// may differ, and never all of them.
    static func closest(to name: String, among choices: some Sequence<String>) -> String? {
        let wanted = Array(name.lowercased().utf8)
        let allowed = max(1, wanted.count / 3)
        var best: (name: String, distance: Int)?
        for choice in choices where choice != name {
            let distance = distance(wanted, Array(choice.lowercased().utf8), atMost: allowed)
            guard distance <= allowed, distance < max(wanted.count, choice.utf8.count) else { continue }
            if best.map({ distance < $0.distance || (distance == $0.distance && choice < $0.name) }) ?? true {
                best = (choice, distance)
            }
        }
        return best?.name
    }

    private static func distance(_ a: [UInt8], _ b: [UInt8], atMost limit: Int) -> Int {
        guard abs(a.count - b.count) <= limit else { return limit + 1 }
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1] + Array(repeating: 0, count: b.count)
            for j in 0..<b.count {
                row[j + 1] = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { row[j + 1] = min(row[j + 1], before[j - 1] + 1) }
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
