import BellhopRules

/// Rules that count or gather after a wait, and runs without a step.
struct ChainExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        let steps = "do: [{log: \"made\(version)\", if: task.state > 0}]"
        return """
            rule: counted
            on: [task_created, task_changed]
            when: task.priority == 1
            for: 2m
            count: {at_least: 2, within: 6m}
            do: [{log: "counted\(version)"}]
            ---
            rule: gathered
            on: [task_created, task_changed]
            when: task.priority == 1
            for: 1m
            group: {wait: 3m}
            do: [{log: "gathered\(version)"}]
            ---
            rule: for
            on: [task_created, task_changed]
            when: task.priority == 1
            for: 3m
            \(steps)
            ---
            rule: count
            on: [task_created, task_changed]
            count: {at_least: 2, within: 6m, by: task.priority}
            \(steps)
            ---
            rule: group
            on: [task_created, task_changed]
            group: {by: task.priority, wait: 2m}
            do: [{log: "made\(version)", if: "events.exists(e, e.task.state > 0)"}]
            ---
            rule: none
            on: {none: {type: task_changed, when: task.priority == 2}, after: [task_created, task_changed], within: 2m, by: task.id}
            when: task.priority == 1
            \(steps)
            ---
            rule: escalate
            on: [task_created, task_changed]
            when: task.priority == 1
            \(steps)
            escalate: [{after: 2m, do: [{log: "late\(version)", if: task.state > 1}]}]
            """
    }

    /// A timer of a rule; those of one time come in the order in which they were set.
    private struct Timer {
        var due: Int
        var place: Int
    }

    private struct Wait {
        var event: TaskChange
        var timer: Timer
        var hasRun = false
    }

    private struct Group {
        var events: [TaskChange]
        var timer: Timer
    }

    private(set) var expected: [[String: Expected]] = []
    private var tasks: [String: TaskChange.Fields] = [:]
    /// The waits of `for`, by rule and task.
    private var holds: [String: [String: Wait]] = ["counted": [:], "gathered": [:], "for": [:]]
    private static let waits = ["counted": 2, "gathered": 1, "for": 3]
    private var absences: [String: Wait] = [:]
    private var escalations: [String: Wait] = [:]
    /// The groups, by rule and key.
    private var groups: [[String]: Group] = [:]
    /// The counted events after their waits, with the ends of the waits.
    private var held: [(event: TaskChange, at: Int)] = []
    private var counted: [Int: [TaskChange]] = [:]
    private var place = 0

    private mutating func timer(_ due: Int) -> Timer {
        place += 1
        return Timer(due: due, place: place)
    }

    // MARK: Time

    mutating func afterChanges(at now: Int) { fire(at: now) { $0 <= now } }

    private mutating func fire(at now: Int, _ isDue: (Int) -> Bool) {
        while true {
            var next: (timer: Timer, fire: (inout Self) -> Void)?
            func take(_ timer: Timer, _ fire: @escaping (inout Self) -> Void) {
                if next.map({ (timer.due, timer.place) < ($0.timer.due, $0.timer.place) }) ?? true { next = (timer, fire) }
            }
            for (rule, waits) in holds {
                for (id, wait) in waits where !wait.hasRun && isDue(wait.timer.due) {
                    take(wait.timer) { $0.endHold(rule, id, wait, at: now) }
                }
            }
            for (key, group) in groups where group.timer.due <= now {
                take(group.timer) { $0.flush(key, group, at: now) }
            }
            for (id, wait) in absences where isDue(wait.timer.due) {
                take(wait.timer) {
                    $0.absences[id] = nil
                    $0.run("none", wait.event, $0.tasks[id])
                }
            }
            for (id, wait) in escalations where isDue(wait.timer.due) {
                take(wait.timer) {
                    $0.escalations[id] = nil
                    $0.escalate(wait.event, $0.tasks[id])
                }
            }
            guard let next else { return }
            next.fire(&self)
        }
    }

    private mutating func endHold(_ rule: String, _ id: String, _ wait: Wait, at now: Int) {
        holds[rule]?[id]?.hasRun = true
        let (event, due) = (wait.event, wait.timer.due)
        switch rule {
        case "counted":
            held = held.filter { due < $0.at + 6 } + [(event, due)]
            if held.count < 2 {
                expected[event.number][rule] = Expected(.counting, "has 1 of 2").until(due + 6, "`count` did not reach 2")
            } else {
                expected[event.number][rule] = Expected(.ran)
                expected[held[0].event.number][rule] = Expected(.usedUp, names: event.number, at: now, "`count` had enough")
                held = []
            }
        // A wait that comes over a minute late counts from then.
        case "gathered": gather(event, [rule], due: (now - due > 1 ? now : due) + 3)
        default: run(rule, event, tasks[id])
        }
    }

    private mutating func gather(_ event: TaskChange, _ key: [String], due: Int) {
        var group = groups[key] ?? Group(events: [], timer: timer(due))
        group.events.append(event)
        groups[key] = group
        expected[event.number][key[0]] = Expected(.gathering)
    }

    private mutating func flush(_ key: [String], _ group: Group, at now: Int) {
        groups[key] = nil
        let events = group.events.sorted { $0.number < $1.number }
        for event in events.dropFirst() {
            expected[event.number][key[0]] = Expected(.usedUp, names: events[0].number, at: now, "`group` passed it on")
        }
        if key[0] == "gathered" {
            expected[events[0].number][key[0]] = Expected(.ran)
        } else {
            let states = events.map(\.fields.state)
            let state = states.contains { $0 ?? 0 > 0 } ? 1 : states.contains(nil) ? nil : 0
            run(key[0], events[0], TaskChange.Fields(state: state))
        }
    }

    /// A run for an event: its only step is for tasks with a state.
    private mutating func run(_ rule: String, _ event: TaskChange, _ task: TaskChange.Fields?) {
        let state = task?.state
        expected[event.number][rule] =
            state ?? 0 > 0
            ? Expected(.ran)
            : Expected(
                .ran, deliveries: 0, "no step had anything to do",
                note: state == nil ? "`if` of step 0 (`log`) is unknown" : "`if` of step 0 (`log`) is false")
    }

    private mutating func escalate(_ event: TaskChange, _ task: TaskChange.Fields?) {
        if task?.state ?? 0 > 1 {
            expected[event.number]["escalate"]?.deliveries += 1
        } else {
            expected[event.number]["escalate"]?.note = "a step of the escalation had nothing to do"
        }
    }

    // MARK: Events

    mutating func apply(_ event: TaskChange) {
        let (id, now, fields) = (event.id, event.minute, event.fields)
        // Due groups, and waits that end at this very moment, come before the event.
        fire(at: now) { $0 == now }
        tasks[id] = event.kind == .removed ? nil : fields
        let rules = ["counted", "gathered", "for", "count", "group", "none", "escalate"]
        expected.append(Dictionary(uniqueKeysWithValues: rules.map { ($0, Expected(.type)) }))
        for rule in ["counted", "gathered", "for"] { hold(rule, event) }
        if event.isCreatedOrChanged {
            count(event)
            gather(event, ["group", "\(fields.priority)"], due: now + 2)
        }
        none(event)
        if event.kind == .removed || event.kind == .changed { escalations[id] = nil }
        guard event.isCreatedOrChanged else { return }
        if fields.priority == 1 {
            run("escalate", event, fields)
            let timer = timer(now + 2)
            escalations[id] = Wait(event: event, timer: timer)
        } else {
            expected[event.number]["escalate"] = Expected(.conditionFalse)
        }
    }

    private mutating func hold(_ rule: String, _ event: TaskChange) {
        let number = event.number
        if event.kind == .removed || event.fields.priority != 1 {
            if event.isCreatedOrChanged { expected[number][rule] = Expected(.conditionFalse) }
            guard let wait = holds[rule]?.removeValue(forKey: event.id), !wait.hasRun else { return }
            expected[number][rule] = Expected(.cancelled, "it ended the wait of `for`")
            expected[wait.event.number][rule] = Expected(.endedEarly, names: number, "the wait of `for`")
        } else if event.isCreatedOrChanged {
            if let wait = holds[rule]?[event.id] {
                expected[number][rule] = Expected(
                    wait.hasRun ? .once : .waiting, names: wait.event.number, "`for` had begun before")
            } else {
                let due = event.minute + (Self.waits[rule] ?? 0)
                expected[number][rule] = Expected(.waiting, at: due, "`for` waits until")
                let timer = timer(due)
                holds[rule]?[event.id] = Wait(event: event, timer: timer)
            }
        }
    }

    private mutating func count(_ event: TaskChange) {
        let window = counted[event.fields.priority, default: []].filter { event.minute < $0.minute + 6 } + [event]
        if window.count == 2 {
            expected[window[0].number]["count"] = Expected(.usedUp, names: event.number, "`count` had enough")
            run("count", event, event.fields)
        } else {
            expected[event.number]["count"] = Expected(.counting, "has 1 of 2").until(event.minute + 6, "`count` did not reach 2")
        }
        counted[event.fields.priority] = window.count == 2 ? [] : window
    }

    private mutating func none(_ event: TaskChange) {
        let (id, number) = (event.id, event.number)
        if event.kind == .removed || event.kind == .changed && event.fields.priority == 2 {
            if let wait = absences.removeValue(forKey: id) {
                expected[number]["none"] = Expected(.cancelled)
                expected[wait.event.number]["none"] = Expected(.endedEarly, names: number, "the wait of `none`")
                return
            }
        }
        guard event.isCreatedOrChanged else { return }
        if event.fields.priority == 2 {
            expected[number]["none"] = Expected(.conditionFalse)
        } else if let wait = absences[id] {
            expected[number]["none"] = Expected(.waiting, names: wait.event.number, "`none` had begun before")
        } else {
            expected[number]["none"] = Expected(.waiting, at: event.minute + 2, "`none` waits until")
            let timer = timer(event.minute + 2)
            absences[id] = Wait(event: event, timer: timer)
        }
    }
}
