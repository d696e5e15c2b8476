import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct TrialTimersTests {
    private func timer(_ rule: String, _ key: String = "", due: Int64, note: String = "") -> RuleTimer {
        RuleTimer(.init(rule: rule, kind: .hold, key: key), due: Timestamp(seconds: due), payload: ["note": .string(note)])
    }

    @Test func `timers are ordered by due time, then by the place of their rule, then by when they were set`() {
        var timers = TrialTimers()
        for (rule, key, due, place) in [("b", "1", 5, 1), ("b", "2", 5, 1), ("a", "1", 5, 0), ("c", "1", 4, 2)] {
            timers.set(timer(rule, key, due: Int64(due)), place: place)
        }
        var order: [String] = []
        while let next = timers.first(where: { _ in true }) {
            order.append(next.id.rule + next.id.key)
            timers.remove(next)
        }
        #expect(order == ["c1", "a1", "b1", "b2"])
    }

    @Test func `a timer set again or removed does not fire at its old time, and a replaced timer keeps its order`() {
        var timers = TrialTimers()
        timers.set(timer("a", due: 1), place: 0)
        timers.set(timer("b", due: 2), place: 1)
        timers.set(timer("a", due: 3), place: 0)
        #expect(timers.first { _ in true }?.id.rule == "b")
        timers.remove(timer("b", due: 9))
        #expect(timers.first { _ in true }?.id.rule == "b")
        timers.remove(timer("b", due: 2).id)
        #expect(timers.first { _ in true } == timer("a", due: 3))
        timers.set(timer("z", due: 3), place: 0)
        timers.replace(timer("a", due: 3, note: "new"))
        #expect(timers.first { _ in true } == timer("a", due: 3, note: "new") && timers.all.map(\.id.rule) == ["a", "z"])
        #expect(timers.first { $0.id.rule == "z" } == timer("z", due: 3))
    }

    @Test(arguments: 1...20) func `the timers agree with a sorted list over random changes`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var timers = TrialTimers()
        var list: [(timer: RuleTimer, number: Int)] = []
        for number in 0..<3000 {
            let key = String(random.next() % 40)
            let due = Int64(random.next() % 50)
            switch random.next() % 5 {
            case 0, 1:
                list.removeAll { $0.timer.id.key == key }
                list.append((timer("a", key, due: due), number))
                timers.set(timer("a", key, due: due), place: 0)
            case 2:
                list.removeAll { $0.timer.id.key == key }
                timers.remove(timer("a", key, due: 0).id)
            case 3:
                if let place = list.firstIndex(where: { $0.timer.id.key == key }) {
                    list[place].timer = timer("a", key, due: due, note: "\(number)")
                }
                timers.replace(timer("a", key, due: due, note: "\(number)"))
            default:
                let first = list.min { ($0.timer.due, $0.number) < ($1.timer.due, $1.number) }?.timer
                #expect(timers.first { _ in true } == first)
                if let first {
                    timers.remove(first)
                    list.removeAll { $0.timer == first }
                }
            }
        }
        #expect(timers.all == list.sorted { ($0.timer.due, $0.number) < ($1.timer.due, $1.number) }.map(\.timer))
    }
}
