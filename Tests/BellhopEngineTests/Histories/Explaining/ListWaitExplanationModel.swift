import BellhopCore
import BellhopRules

/// A list whose elements a rule waits for, and the silence of a source. Only time begins or ends their runs.
struct ListWaitExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: list
        on: {every: 2m}
        each: tasks.filter(t, t.priority == 1)
        for: 3m
        do: [{log: "list\(version)"}, {log: "again\(version)"}]
        ---
        rule: silence
        on: {none: [task_created, task_changed], within: 3m, by: source}
        do: [{log: "silence\(version)"}, {log: "still\(version)"}]
        """
    }

    static let own: EventType? = .scheduleDue

    /// The outcomes of the waits that one event of a schedule began, by task.
    private struct Tick {
        var begun: [String: Expected] = [:]
        var isEnd = false
    }

    private(set) var expected: [[String: Expected]] = []
    /// Those of the silence that starts with the history.
    private(set) var deliveriesWithoutEvent = 0
    private var ticks: [Tick] = []
    private var tasks: [String: Int] = [:]
    private var holds: [String: (due: Int, tick: Int, hasRun: Bool)] = [:]
    private var nextTick = 2
    private var silence: (due: Int, event: Int?)? = (3, nil)

    var expectedOfOwn: [[String: Expected]] {
        ticks.map { tick in
            let begun = tick.begun.values
            let runs = begun.filter { $0.verdict == .ran }.count
            let order: [Explanation.Verdict] = [.ran, .waiting, .notTrueWhenDue, .endedEarly]
            var expected = order.lazy.compactMap { verdict in begun.first { $0.verdict == verdict } }.first
            expected = expected ?? (tick.isEnd ? Expected(.cancelled) : Expected(.ran, "no wait of `for` began or ended"))
            expected?.deliveries = 2 * runs
            return ["list": expected ?? Expected(.ran), "silence": Expected(.type)]
        }
    }

    mutating func afterChanges(at now: Int) { fire(at: now) { $0 <= now } }

    /// Timers of this very moment fire before the event, earlier ones after it. Without an event, all fire in the order of their times.
    mutating func apply(_ event: TaskChange) {
        fire(at: event.minute) { $0 == event.minute }
        tasks[event.id] = event.kind == .removed ? nil : event.fields.priority
        expected.append(["list": Expected(.type), "silence": Expected(.type)])
        guard event.isCreatedOrChanged else { return }
        if let before = silence?.event {
            expected[before]["silence"] = Expected(.endedEarly, "a later event started it again")
        }
        silence = (event.minute + 3, event.number)
        expected[event.number]["silence"] = Expected(.waiting, at: event.minute + 3, "this event started `none` again")
    }

    private mutating func fire(at now: Int, _ isDue: (Int) -> Bool) {
        if let (due, event) = silence, isDue(due) {
            silence = nil
            if let event {
                expected[event]["silence"] = Expected(
                    .ran, deliveries: 2, note: "no event that `none` names came after this one until")
            } else {
                deliveriesWithoutEvent += 2
            }
        }
        let urgent = Set(tasks.filter { $0.value == 1 }.keys)
        for (id, hold) in holds where !hold.hasRun && isDue(hold.due) {
            ticks[hold.tick].begun[id] = urgent.contains(id) ? Expected(.ran) : Expected(.notTrueWhenDue)
            holds[id] = urgent.contains(id) ? (hold.due, hold.tick, true) : nil
        }
        guard isDue(nextTick) else { return }
        while nextTick <= now { nextTick += 2 }
        var tick = Tick()
        for id in holds.keys where !urgent.contains(id) {
            if let hold = holds.removeValue(forKey: id), !hold.hasRun {
                ticks[hold.tick].begun[id] = Expected(.endedEarly, at: now, "the wait of `for` was ended at")
                tick.isEnd = true
            }
        }
        for id in urgent where holds[id] == nil {
            tick.begun[id] = Expected(.waiting, at: now + 3, "`for` waits until")
            holds[id] = (now + 3, ticks.count, false)
        }
        ticks.append(tick)
    }
}
