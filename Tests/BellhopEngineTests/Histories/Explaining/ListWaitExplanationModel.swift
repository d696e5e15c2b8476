import BellhopCore
import BellhopRules

/// A list whose elements a rule waits for, and the silence of a source. Nothing but time begins or ends their runs.
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

    /// What became of the waits that the event of a schedule began, by their tasks.
    private struct Tick {
        var begun: [String: Told] = [:]
        var isEnd = false
    }

    private(set) var told: [[String: Told]] = []
    /// Those of the silence that begins with the history.
    private(set) var deliveriesWithoutEvent = 0
    private var ticks: [Tick] = []
    private var tasks: [String: Int] = [:]
    private var holds: [String: (due: Int, tick: Int, hasRun: Bool)] = [:]
    private var nextTick = 2
    private var silence: (due: Int, event: Int?)? = (3, nil)

    var toldOfOwn: [[String: Told]] {
        ticks.map { tick in
            let begun = tick.begun.values
            let runs = begun.filter { $0.verdict == .ran }.count
            let order: [Explanation.Verdict] = [.ran, .waiting, .notTrueWhenDue, .endedEarly]
            var told = order.lazy.compactMap { verdict in begun.first { $0.verdict == verdict } }.first
            told = told ?? (tick.isEnd ? Told(.cancelled) : Told(.ran, "no wait of `for` began or ended"))
            told?.deliveries = 2 * runs
            return ["list": told ?? Told(.ran), "silence": Told(.type)]
        }
    }

    mutating func leave(at now: Int) { fire(at: now) { $0 <= now } }

    /// What is due at this very moment comes before the event, and what was due earlier comes after it. Without an event, all come in
    /// the order in which they were due.
    mutating func happen(_ event: Happening) {
        fire(at: event.minute) { $0 == event.minute }
        tasks[event.id] = event.kind == .removed ? nil : event.fields.priority
        told.append(["list": Told(.type), "silence": Told(.type)])
        guard event.isCreatedOrChanged else { return }
        if let before = silence?.event {
            told[before]["silence"] = Told(.endedEarly, "a later event started it again")
        }
        silence = (event.minute + 3, event.number)
        told[event.number]["silence"] = Told(.waiting, at: event.minute + 3, "this event started `none` again")
    }

    private mutating func fire(at now: Int, _ isDue: (Int) -> Bool) {
        if let (due, event) = silence, isDue(due) {
            silence = nil
            if let event {
                told[event]["silence"] = Told(.ran, deliveries: 2, note: "no event that `none` names came after this one until")
            } else {
                deliveriesWithoutEvent += 2
            }
        }
        let urgent = Set(tasks.filter { $0.value == 1 }.keys)
        for (id, hold) in holds where !hold.hasRun && isDue(hold.due) {
            ticks[hold.tick].begun[id] = urgent.contains(id) ? Told(.ran) : Told(.notTrueWhenDue)
            holds[id] = urgent.contains(id) ? (hold.due, hold.tick, true) : nil
        }
        guard isDue(nextTick) else { return }
        while nextTick <= now { nextTick += 2 }
        var tick = Tick()
        for id in holds.keys where !urgent.contains(id) {
            if let hold = holds.removeValue(forKey: id), !hold.hasRun {
                ticks[hold.tick].begun[id] = Told(.endedEarly, at: now, "the wait of `for` was ended at")
                tick.isEnd = true
            }
        }
        for id in urgent where holds[id] == nil {
            tick.begun[id] = Told(.waiting, at: now + 3, "`for` waits until")
            holds[id] = (now + 3, ticks.count, false)
        }
        ticks.append(tick)
    }
}
