import BellhopRules

/// Rules with replayed events: a replay is explained in a note of its own, and its waits are separate.
struct ReplayExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: plain
        on: [task_created, task_changed]
        when: task.priority == 1
        do: [{log: "plain\(version)"}]
        ---
        rule: once
        on: [task_created, task_changed]
        once: task.id
        do: [{log: "once\(version)"}]
        ---
        rule: throttled
        on: [task_created, task_changed]
        throttle: {every: 4m}
        do: [{log: "throttled\(version)"}]
        ---
        rule: held
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 3m
        do: [{log: "held\(version)"}]
        """
    }

    static let hasReplays = true

    private struct Wait {
        var due: Int
        var event: Int
        var replay: Int?
        var hasRun = false
    }

    private(set) var expected: [[String: Expected]] = []
    private var tasks: [String: Int] = [:]
    private var ran: Set<String> = []
    private var last: Int?
    private var holds: [String: Wait] = [:]

    mutating func beforeChanges(at now: Int) { end { $0 == now } }

    mutating func afterChanges(at now: Int) { end { $0 <= now } }

    /// The condition is evaluated with the task's state at the end. Only the wait of a replay can have a task that has changed.
    private mutating func end(_ isDue: (Int) -> Bool) {
        for (id, wait) in holds where !wait.hasRun && isDue(wait.due) {
            let holds = tasks[id] == 1
            self.holds[id]?.hasRun = true
            if !holds { self.holds[id] = nil }
            if let replay = wait.replay {
                note(wait.event, "held", replay, holds ? "it ran" : "`when` did not hold", deliveries: holds ? 1 : 0)
            } else {
                expected[wait.event]["held"]?.verdict = .ran
                expected[wait.event]["held"]?.deliveries += 1
                expected[wait.event]["held"]?.reason = ""
            }
        }
    }

    mutating func apply(_ event: TaskChange) {
        tasks[event.id] = event.kind == .removed ? nil : event.fields.priority
        var expected = ["plain": Expected(.type), "once": Expected(.type), "throttled": Expected(.type), "held": Expected(.type)]
        let isHeld = holds[event.id].map { !$0.hasRun } ?? false
        if event.isCreatedOrChanged {
            expected["plain"] = Expected(event.fields.priority == 1 ? .ran : .conditionFalse)
            expected["once"] = Expected(ran.insert(event.id).inserted ? .ran : .once)
            let isThrottled = last.map { event.minute < $0 + 4 } ?? false
            if !isThrottled { last = event.minute }
            expected["throttled"] = Expected(isThrottled ? .throttled : .ran)
        }
        if event.kind == .removed || event.fields.priority != 1 {
            if event.isCreatedOrChanged { expected["held"] = Expected(.conditionFalse) }
            if isHeld { expected["held"] = Expected(.cancelled) }
            if let wait = holds.removeValue(forKey: event.id), !wait.hasRun {
                if let replay = wait.replay {
                    note(wait.event, "held", replay, "the wait of `for` was ended at")
                } else {
                    self.expected[wait.event]["held"]?.verdict = .endedEarly
                    self.expected[wait.event]["held"]?.reason = "the wait of `for` was ended at"
                    self.expected[wait.event]["held"]?.names = event.number
                }
            }
        } else if event.isCreatedOrChanged {
            if let wait = holds[event.id] {
                expected["held"] = Expected(
                    wait.hasRun ? .once : .waiting, names: wait.event, at: wait.due - 3, "`for` had begun before")
            } else {
                expected["held"] = Expected(.waiting, "`for` waits until")
                holds[event.id] = Wait(due: event.minute + 3, event: event.number)
            }
        }
        self.expected.append(expected)
    }

    /// A replay is treated like an event of now, and ends no wait.
    mutating func replay(_ event: TaskChange, isForced: Bool, at now: Int) {
        guard event.isCreatedOrChanged else { return }
        if event.fields.priority == 1 { note(event.number, "plain", now, "it ran", deliveries: 1) }
        let isFirst = ran.insert(event.id).inserted
        note(event.number, "once", now, isFirst || isForced ? "it ran" : "`once` stopped it", isFirst || isForced)
        let isThrottled = last.map { now < $0 + 4 } ?? false
        if !isThrottled { last = now }
        note(
            event.number, "throttled", now, isThrottled && !isForced ? "`throttle` stopped it" : "it ran",
            !isThrottled || isForced)
        guard event.fields.priority == 1 else { return }
        if holds[event.id] != nil { return note(event.number, "held", now, "`for` had begun before, with event") }
        holds[event.id] = Wait(due: now + 3, event: event.number, replay: now)
        note(event.number, "held", now, "`for` waits until")
    }

    private mutating func note(_ event: Int, _ rule: String, _ at: Int, _ text: String, _ ran: Bool) {
        note(event, rule, at, text, deliveries: ran ? 1 : 0)
    }

    private mutating func note(_ event: Int, _ rule: String, _ at: Int, _ text: String, deliveries: Int = 0) {
        expected[event][rule]?.note = "replayed at \(Self.clock(at)): \(text)"
        expected[event][rule]?.deliveries += deliveries
    }
}
