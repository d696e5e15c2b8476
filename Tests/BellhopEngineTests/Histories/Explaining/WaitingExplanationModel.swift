import BellhopRules

/// Rules that wait, count and gather.
struct WaitingExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: h
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 3m
        do: [{log: "h\(version) ${{ task.id }}"}]
        ---
        rule: c
        on: [task_created, task_changed]
        count: {at_least: 3, within: 6m, by: task.priority}
        do: [{log: "c\(version)"}]
        ---
        rule: d
        on: [task_created, task_changed]
        count: {at_least: 3, within: 8m, distinct: task.id}
        do: [{log: "d\(version)"}]
        ---
        rule: g
        on: [task_created, task_changed, task_removed, task_returned]
        group: {by: task.priority, wait: 2m}
        do: [{notify: {to: [chat, pager], title: "g\(version)"}}]
        """
    }

    private(set) var told: [[String: Told]] = []
    private var holds: [[String]: (due: Int, event: Int, hasRun: Bool)] = [:]
    private var counted: [Int: [Int]] = [:]
    /// When each task was counted last, by its source and id.
    private var distinct: [(id: String, at: Int)] = []
    private var groups: [Int: (due: Int, first: Int)] = [:]

    /// Groups that are due, and waits that are over at this very moment, come before the events of a look.
    mutating func arrive(at now: Int) {
        flush(at: now)
        end { $0 == now }
    }

    mutating func leave(at now: Int) {
        end { $0 <= now }
        flush(at: now)
    }

    mutating func happen(_ event: Happening) {
        let (key, now, priority) = ([event.source, event.id], event.minute, event.fields.priority)
        let isHeld = holds[key].map { !$0.hasRun } ?? false
        var told = ["h": Told(.type), "c": Told(.type), "d": Told(.type), "g": Told(.gathering)]
        if event.kind == .removed || priority != 1 {
            if event.isCreatedOrChanged { told["h"] = Told(.conditionFalse) }
            if isHeld { told["h"] = Told(.cancelled) }
            holds[key] = nil
        } else if event.isCreatedOrChanged {
            told["h"] = Told(.waiting)
            if holds[key] == nil { holds[key] = (now + 3, event.number, false) }
        }
        if event.isCreatedOrChanged {
            let window = counted[priority, default: []].filter { now < $0 + 6 } + [now]
            told["c"] = window.count == 3 ? Told(.ran) : Told(.counting, "has \(window.count) of 3")
            counted[priority] = window.count == 3 ? [] : window
            distinct = distinct.filter { now < $0.at + 8 && $0.id != event.id } + [(event.id, now)]
            told["d"] = distinct.count == 3 ? Told(.ran) : Told(.counting, "has \(distinct.count) of 3")
            if distinct.count == 3 { distinct = [] }
        }
        if groups[priority] == nil { groups[priority] = (now + 2, event.number) }
        self.told.append(told)
    }

    private mutating func end(_ isDue: (Int) -> Bool) {
        for (key, hold) in holds where !hold.hasRun && isDue(hold.due) {
            holds[key]?.hasRun = true
            told[hold.event]["h"] = Told(.ran)
        }
    }

    private mutating func flush(at now: Int) {
        for (priority, group) in groups where group.due <= now {
            told[group.first]["g"] = Told(.ran, deliveries: 2)
            groups[priority] = nil
        }
    }
}
