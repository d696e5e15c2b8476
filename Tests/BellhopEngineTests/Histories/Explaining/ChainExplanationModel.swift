import BellhopRules

/// Rules that count and gather what has waited, and runs whose steps have nothing to do.
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
        var event: Happening
        var timer: Timer
        var hasRun = false
    }

    private struct Group {
        var events: [Happening]
        var timer: Timer
    }

    private(set) var told: [[String: Told]] = []
    private var tasks: [String: Happening.Fields] = [:]
    /// The waits of `for`, by rule and task.
    private var holds: [String: [String: Wait]] = ["counted": [:], "gathered": [:], "for": [:]]
    private static let waits = ["counted": 2, "gathered": 1, "for": 3]
    private var absences: [String: Wait] = [:]
    private var escalations: [String: Wait] = [:]
    /// The groups, by rule and key.
    private var groups: [[String]: Group] = [:]
    /// What has waited and is counted, with when its wait was over.
    private var held: [(event: Happening, at: Int)] = []
    private var counted: [Int: [Happening]] = [:]
    private var place = 0

    private mutating func timer(_ due: Int) -> Timer {
        place += 1
        return Timer(due: due, place: place)
    }

    // MARK: Time

    mutating func leave(at now: Int) { fire(at: now) { $0 <= now } }

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
                told[event.number][rule] = Told(.counting, "has 1 of 2").until(due + 6, "`count` did not reach 2")
            } else {
                told[event.number][rule] = Told(.ran)
                told[held[0].event.number][rule] = Told(.usedUp, names: event.number, at: now, "`count` had enough")
                held = []
            }
        case "gathered": gather(event, [rule], due: due + 3)
        default: run(rule, event, tasks[id])
        }
    }

    private mutating func gather(_ event: Happening, _ key: [String], due: Int) {
        var group = groups[key] ?? Group(events: [], timer: timer(due))
        group.events.append(event)
        groups[key] = group
        told[event.number][key[0]] = Told(.gathering)
    }

    private mutating func flush(_ key: [String], _ group: Group, at now: Int) {
        groups[key] = nil
        let events = group.events.sorted { $0.number < $1.number }
        for event in events.dropFirst() {
            told[event.number][key[0]] = Told(.usedUp, names: events[0].number, at: now, "`group` passed it on")
        }
        if key[0] == "gathered" {
            told[events[0].number][key[0]] = Told(.ran)
        } else {
            let states = events.map(\.fields.state)
            let state = states.contains { $0 ?? 0 > 0 } ? 1 : states.contains(nil) ? nil : 0
            run(key[0], events[0], Happening.Fields(state: state))
        }
    }

    /// A run for an event: its only step is for tasks with a state.
    private mutating func run(_ rule: String, _ event: Happening, _ task: Happening.Fields?) {
        let state = task?.state
        told[event.number][rule] =
            state ?? 0 > 0
            ? Told(.ran)
            : Told(
                .ran, deliveries: 0, "no step had anything to do",
                note: state == nil ? "`if` of step 0 (`log`) is unknown" : "`if` of step 0 (`log`) is false")
    }

    private mutating func escalate(_ event: Happening, _ task: Happening.Fields?) {
        if task?.state ?? 0 > 1 {
            told[event.number]["escalate"]?.deliveries += 1
        } else {
            told[event.number]["escalate"]?.note = "a step of the escalation had nothing to do"
        }
    }

    // MARK: Events

    mutating func happen(_ event: Happening) {
        let (id, now, fields) = (event.id, event.minute, event.fields)
        // Groups that are due, and waits that are over at this very moment, come before the event.
        fire(at: now) { $0 == now }
        tasks[id] = event.kind == .removed ? nil : fields
        let rules = ["counted", "gathered", "for", "count", "group", "none", "escalate"]
        told.append(Dictionary(uniqueKeysWithValues: rules.map { ($0, Told(.type)) }))
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
            told[event.number]["escalate"] = Told(.conditionFalse)
        }
    }

    private mutating func hold(_ rule: String, _ event: Happening) {
        let number = event.number
        if event.kind == .removed || event.fields.priority != 1 {
            if event.isCreatedOrChanged { told[number][rule] = Told(.conditionFalse) }
            guard let wait = holds[rule]?.removeValue(forKey: event.id), !wait.hasRun else { return }
            told[number][rule] = Told(.cancelled)
            told[wait.event.number][rule] = Told(.endedEarly, names: number, "the wait of `for`")
        } else if event.isCreatedOrChanged {
            if let wait = holds[rule]?[event.id] {
                told[number][rule] = Told(wait.hasRun ? .once : .waiting, names: wait.event.number, "`for` had begun before")
            } else {
                let due = event.minute + (Self.waits[rule] ?? 0)
                told[number][rule] = Told(.waiting, at: due, "`for` waits until")
                let timer = timer(due)
                holds[rule]?[event.id] = Wait(event: event, timer: timer)
            }
        }
    }

    private mutating func count(_ event: Happening) {
        let window = counted[event.fields.priority, default: []].filter { event.minute < $0.minute + 6 } + [event]
        if window.count == 2 {
            told[window[0].number]["count"] = Told(.usedUp, names: event.number, "`count` had enough")
            run("count", event, event.fields)
        } else {
            told[event.number]["count"] = Told(.counting, "has 1 of 2").until(event.minute + 6, "`count` did not reach 2")
        }
        counted[event.fields.priority] = window.count == 2 ? [] : window
    }

    private mutating func none(_ event: Happening) {
        let (id, number) = (event.id, event.number)
        if event.kind == .removed || event.kind == .changed && event.fields.priority == 2 {
            if let wait = absences.removeValue(forKey: id) {
                told[number]["none"] = Told(.cancelled)
                told[wait.event.number]["none"] = Told(.endedEarly, names: number, "the wait of `none`")
                return
            }
        }
        guard event.isCreatedOrChanged else { return }
        if event.fields.priority == 2 {
            told[number]["none"] = Told(.conditionFalse)
        } else if let wait = absences[id] {
            told[number]["none"] = Told(.waiting, names: wait.event.number, "`none` had begun before")
        } else {
            told[number]["none"] = Told(.waiting, at: event.minute + 2, "`none` waits until")
            let timer = timer(event.minute + 2)
            absences[id] = Wait(event: event, timer: timer)
        }
    }
}
