import BellhopCore
import HeapModule

/// The timers of a trial, by when they are due, then by the place of their rule, then by when they were set.
///
/// A timer that was removed or set anew stays in the heap until it is first in order, or until such timers are the majority. The heap
/// gives only the order.
struct TrialTimers: Sendable {
    private struct Entry: Comparable, Sendable {
        var timer: RuleTimer
        var place: Int
        var number: Int

        static func < (left: Entry, right: Entry) -> Bool {
            (left.timer.due, left.place, left.number) < (right.timer.due, right.place, right.number)
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.number == right.number && left.timer.due == right.timer.due && left.place == right.place
        }
    }

    private var byID: [RuleTimer.ID: Entry] = [:]
    private var heap = Heap<Entry>()
    private var count = 0

    /// In the order in which they are due.
    var all: [RuleTimer] { byID.values.sorted().map(\.timer) }

    mutating func first(where mayFire: (RuleTimer) -> Bool) -> RuleTimer? {
        while let entry = heap.min, byID[entry.timer.id] != entry { heap.removeMin() }
        guard let id = heap.min?.timer.id, let first = self[id] else { return nil }
        return mayFire(first) ? first : all.first(where: mayFire)
    }

    subscript(id: RuleTimer.ID) -> RuleTimer? { byID[id]?.timer }

    mutating func set(_ timer: RuleTimer, place: Int) {
        count += 1
        add(Entry(timer: timer, place: place, number: count))
    }

    /// Replaces a timer and leaves it in its order among those of the same moment.
    mutating func replace(_ timer: RuleTimer) {
        guard var entry = byID[timer.id] else { return }
        entry.timer = timer
        add(entry)
    }

    mutating func remove(_ id: RuleTimer.ID) { byID[id] = nil }

    /// Removes a timer, unless it was set anew meanwhile.
    mutating func remove(_ timer: RuleTimer) { if self[timer.id] == timer { remove(timer.id) } }

    mutating func removeAll(of rule: String) { byID = byID.filter { $0.key.rule != rule } }

    private mutating func add(_ entry: Entry) {
        byID[entry.timer.id] = entry
        if heap.count > 2 * byID.count + 64 { heap = Heap(byID.values) } else { heap.insert(entry) }
    }
}
