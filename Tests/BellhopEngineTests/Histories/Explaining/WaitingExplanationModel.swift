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
        rule: k
        on: [task_created, task_changed]
        when: task.priority == 1
        for: {time: 4m, by: task.state}
        do: [{log: "k\(version)"}]
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

    private(set) var expected: [[String: Expected]] = []
    private var holds: [[String]: (due: Int, event: Int, hasRun: Bool)] = [:]
    /// The waits of `k`, which several tasks share, by their states.
    private var keyed: [Int: (due: Int, began: TaskChange, hasRun: Bool)] = [:]
    private var tasks: [String: TaskChange.Fields] = [:]
    private var counted: [Int: [TaskChange]] = [:]
    /// The latest event of each task that is counted.
    private var distinct: [TaskChange] = []
    private var groups: [Int: (due: Int, events: [Int])] = [:]

    /// Due groups, and waits that end at this very moment, come before the events of a poll.
    mutating func beforeChanges(at now: Int) {
        flush(at: now)
        end { $0 == now }
    }

    mutating func afterChanges(at now: Int) {
        end { $0 <= now }
        flush(at: now)
    }

    mutating func apply(_ event: TaskChange) {
        let (key, now, priority) = ([event.source, event.id], event.minute, event.fields.priority)
        let isHeld = holds[key].map { !$0.hasRun } ?? false
        tasks[event.id] = event.kind == .removed ? nil : event.fields
        var expected = [
            "h": Expected(.type), "k": keyed(event), "c": Expected(.type), "d": Expected(.type), "g": Expected(.gathering),
        ]
        if event.kind == .removed || priority != 1 {
            if event.isCreatedOrChanged { expected["h"] = Expected(.conditionFalse) }
            if isHeld {
                expected["h"] = Expected(.cancelled, "it ended the wait of `for`")
                if let hold = holds[key] {
                    self.expected[hold.event]["h"] = Expected(.endedEarly, names: event.number, "the wait of `for`")
                }
            }
            holds[key] = nil
        } else if event.isCreatedOrChanged {
            if let hold = holds[key] {
                expected["h"] = Expected(hold.hasRun ? .once : .waiting, names: hold.event, "`for` had begun before")
            } else {
                expected["h"] = Expected(.waiting, at: now + 3, "`for` waits until")
                holds[key] = (now + 3, event.number, false)
            }
        }
        if event.isCreatedOrChanged {
            let window = counted[priority, default: []].filter { now < $0.minute + 6 } + [event]
            let counts = Expected(.counting, "has \(window.count) of 3").until(now + 6, "`count` did not reach 3")
            expected["c"] = window.count == 3 ? Expected(.ran) : counts
            if window.count == 3 { use(window.dropLast(), "c", in: event, "`count` had enough") }
            counted[priority] = window.count == 3 ? [] : window
            distinct = distinct.filter { now < $0.minute + 8 && $0.id != event.id } + [event]
            let countsValue = Expected(.counting, "has \(distinct.count) of 3").until(now + 8, "the latest event counts")
            expected["d"] = distinct.count == 3 ? Expected(.ran) : countsValue
            if distinct.count == 3 {
                use(distinct.dropLast(), "d", in: event, "`count` had enough")
                distinct = []
            }
        }
        groups[priority, default: (now + 2, [])].events.append(event.number)
        self.expected.append(expected)
    }

    /// Any event of the key may end a wait, but a task that leaves ends only those that it has begun.
    private mutating func keyed(_ event: TaskChange) -> Expected {
        let (priority, state) = (event.fields.priority, event.fields.state)
        var expected = Expected(.type)
        if event.isCreatedOrChanged, priority == 1 { expected = Expected(.keyFailed, "`by` of `for` has no value") }
        if event.isCreatedOrChanged, priority != 1 { expected = Expected(.conditionFalse) }
        for (key, wait) in keyed {
            let ends = event.kind == .removed ? wait.began.id == event.id : key == state && priority != 1
            guard ends else { continue }
            keyed[key] = nil
            if wait.hasRun { continue }
            expected = Expected(.cancelled)
            self.expected[wait.began.number]["k"] = Expected(.endedEarly, names: event.number, "the wait of `for`")
        }
        guard event.isCreatedOrChanged, priority == 1, let state else { return expected }
        if let wait = keyed[state] {
            return Expected(wait.hasRun ? .once : .waiting, names: wait.began.number, "`for` had begun before")
        }
        keyed[state] = (event.minute + 4, event, false)
        return Expected(.waiting, at: event.minute + 4, "`for` waits until")
    }

    private mutating func use(_ events: [TaskChange], _ rule: String, in run: TaskChange, _ reason: String) {
        for event in events { expected[event.number][rule] = Expected(.usedUp, names: run.number, reason) }
    }

    private mutating func end(_ isDue: (Int) -> Bool) {
        for (key, hold) in holds where !hold.hasRun && isDue(hold.due) {
            holds[key]?.hasRun = true
            expected[hold.event]["h"] = Expected(.ran)
        }
        for (key, wait) in keyed where !wait.hasRun && isDue(wait.due) {
            let task = tasks[wait.began.id]
            let isTrue = task?.priority == 1 && task?.state == key
            keyed[key] = isTrue ? (wait.due, wait.began, true) : nil
            expected[wait.began.number]["k"] = Expected(isTrue ? .ran : .notTrueWhenDue)
        }
    }

    private mutating func flush(at now: Int) {
        for (priority, group) in groups where group.due <= now {
            for event in group.events {
                expected[event]["g"] = Expected(.usedUp, names: group.events[0], at: now, "`group` passed it on")
            }
            expected[group.events[0]]["g"] = Expected(.ran, deliveries: 2)
            groups[priority] = nil
        }
    }
}
