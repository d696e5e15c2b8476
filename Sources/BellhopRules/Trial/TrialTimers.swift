import BellhopCore

/// The timers of a trial, by when they are due, then by the place of their rule, then by when they were set.
struct TrialTimers: Sendable {
    private struct Entry {
        var timer: RuleTimer
        var place: Int
        var number: Int

        var order: (Timestamp, Int, Int) { (timer.due, place, number) }
    }

    private var entries: [Entry] = []
    /// What finds each timer's entry.
    private var byID: [RuleTimer.ID: (due: Timestamp, place: Int, number: Int)] = [:]
    private var count = 0

    /// In the order in which they are due.
    var all: [RuleTimer] { entries.map(\.timer) }

    func first(where isMeant: (RuleTimer) -> Bool) -> RuleTimer? { entries.first { isMeant($0.timer) }?.timer }

    subscript(id: RuleTimer.ID) -> RuleTimer? {
        byID[id].map { entries[index(of: ($0.due, $0.place, $0.number))].timer }
    }

    mutating func set(_ timer: RuleTimer, place: Int) {
        remove(timer.id)
        count += 1
        let entry = Entry(timer: timer, place: place, number: count)
        entries.insert(entry, at: index(of: entry.order))
        byID[timer.id] = (timer.due, place, count)
    }

    /// Replaces a timer and leaves it in its order among those of the same moment.
    mutating func replace(_ timer: RuleTimer) {
        guard let known = byID[timer.id] else { return }
        entries.remove(at: index(of: (known.due, known.place, known.number)))
        let entry = Entry(timer: timer, place: known.place, number: known.number)
        entries.insert(entry, at: index(of: entry.order))
        byID[timer.id] = (timer.due, known.place, known.number)
    }

    mutating func remove(_ id: RuleTimer.ID) {
        guard let known = byID.removeValue(forKey: id) else { return }
        entries.remove(at: index(of: (known.due, known.place, known.number)))
    }

    /// Removes a timer, unless it was set anew meanwhile.
    mutating func remove(_ timer: RuleTimer) { if self[timer.id] == timer { remove(timer.id) } }

    /// Where the first entry stands that does not come before this order.
    private func index(of order: (Timestamp, Int, Int)) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].order < order { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
