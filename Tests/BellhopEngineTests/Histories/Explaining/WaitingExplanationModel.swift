import BellhopRules

/// Rules that wait by a key, count distinct values, and gather events of every type.
struct WaitingExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: k
        on: [task_created, task_changed]
        when: task.priority == 1
        for: {time: 4m, by: task.state}
        do: [{log: "k\(version)"}]
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
    /// The waits of `k`, which several tasks share, by their states.
    private var keyed: [Int: (due: Int, began: TaskChange, hasRun: Bool)] = [:]
    private var tasks: [String: TaskChange.Fields] = [:]
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
        let now = event.minute
        tasks[event.id] = event.kind == .removed ? nil : event.fields
        var expected = ["k": keyed(event), "d": Expected(.type), "g": Expected(.gathering)]
        if event.isCreatedOrChanged {
            distinct = distinct.filter { now < $0.minute + 8 && $0.id != event.id } + [event]
            let countsValue = Expected(.counting, "has \(distinct.count) of 3").until(now + 8, "the latest event counts")
            expected["d"] = distinct.count == 3 ? Expected(.ran) : countsValue
            if distinct.count == 3 {
                for used in distinct.dropLast() {
                    self.expected[used.number]["d"] = Expected(.usedUp, names: event.number, "`count` had enough")
                }
                distinct = []
            }
        }
        groups[event.fields.priority, default: (now + 2, [])].events.append(event.number)
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

    private mutating func end(_ isDue: (Int) -> Bool) {
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
