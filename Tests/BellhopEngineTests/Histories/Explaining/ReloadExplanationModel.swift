import BellhopRules

/// Rules that reloads change, turn off, remove and add again. A rule's waits end when the parts that decide change.
struct ReloadExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        names.compactMap { name in
            let steps = "do: [{log: \"\(name)\(version)\"}]"
            let escalation = name == "escalate" ? "\nuntil: answered\nescalate: [{after: 4m, \(steps)}]" : ""
            return definition(name, version).map { "rule: \(name)\n\($0)\n\(steps)\(escalation)" }
        }.joined(separator: "\n---\n")
    }

    private static let names = ["hold", "plain", "pair", "none", "off", "count", "group", "escalate", "late"]

    /// The variant of the rules in this version; some reloads change only the steps.
    private static func shape(_ version: Int) -> Int { [0, 0, 1, 2, 2, 0, 1, 1][version % 8] }

    /// The parts of a rule that decide; nil in a version without it.
    private static func definition(_ rule: String, _ version: Int) -> String? {
        let shape = shape(version)
        let events = "on: [task_created, task_changed]"
        return switch rule {
        case "hold": "\(events)\nwhen: task.priority == \(shape == 1 ? 2 : 1)\nfor: \(shape == 2 ? 5 : 3)m"
        case "plain": "on: [\(shape == 2 ? "" : "task_created, ")task_changed]\nwhen: task.priority == \(shape == 1 ? 2 : 1)"
        case "pair":
            """
            on: {all: [[task_created, task_returned], task_changed], within: 9m, by: task.id}
            when: task.priority == \(shape == 2 ? 2 : 1)
            """
        case "none":
            """
            on: {none: {type: task_changed, when: task.priority == 2}, after: [task_created, task_changed], within: \(shape == 1 ? 4 : 3)m, by: task.id}
            when: task.priority == 1
            """
        case "off": "\(events)\ncount: {at_least: 2, within: 6m}\nenabled: \(shape != 1)"
        case "count": shape == 1 ? nil : "\(events)\ncount: {at_least: 3, within: 6m, by: task.priority}"
        case "escalate": shape == 1 ? nil : "\(events)\nenabled: \(shape != 2)"
        case "group": shape == 2 ? nil : "\(events)\ngroup: {by: task.priority, wait: 2m}"
        default: version < 2 ? nil : "\(events)\nwhen: task.priority == 1"
        }
    }

    private struct Wait {
        var due: Int
        var event: Int
        var hasRun = false
    }

    private var version = 0
    /// The minute of each reload, by its version.
    private var reloads = [0]
    private var events: [(change: TaskChange, version: Int)] = []
    /// What is recorded about each event, and what the rule at that time decides without a record.
    private var recorded: [[String: Expected]] = []
    private var judged: [[String: Expected]] = []
    private var holds: [[String]: Wait] = [:]
    private var absences: [String: Wait] = [:]
    private var pairs: [String: [[TaskChange]]] = [:]
    /// What is counted and gathered, by rule and priority.
    private var counted: [String: [Int: [TaskChange]]] = [:]
    private var groups: [Int: (due: Int, events: [TaskChange])] = [:]
    /// The escalations, by their tasks.
    private var escalations: [String: Wait] = [:]
    /// The events that ended one.
    private var endings: Set<Int> = []

    // MARK: Time

    mutating func load(_ version: Int, at now: Int) {
        for rule in Self.names {
            guard let before = Self.definition(rule, self.version), before != Self.definition(rule, version) else { continue }
            let after = Self.definition(rule, version)
            let what = after == nil ? "removed" : Self.isOff(rule, version) ? "turned off" : "changed"
            if rule == "escalate", what != "changed" {
                for wait in escalations.values {
                    recorded[wait.event][rule]?.note = "the escalation has ended: the rule was \(what) at \(Self.clock(now))"
                }
                escalations = [:]
            }
            for event in drop(rule, at: now) {
                recorded[event][rule] = Expected(.endedEarly, at: now, "the rule was \(what) at")
            }
        }
        self.version = version
        reloads.append(now)
    }

    private static func isOff(_ rule: String, _ version: Int) -> Bool {
        rule == "off" && shape(version) == 1 || rule == "escalate" && shape(version) == 2
    }

    /// The events for which a rule still waits.
    private mutating func drop(_ rule: String, at now: Int) -> [Int] {
        switch rule {
        case "hold":
            defer { holds = [:] }
            return holds.values.filter { !$0.hasRun }.map(\.event)
        case "none":
            defer { absences = [:] }
            return absences.values.map(\.event)
        case "pair":
            defer { pairs = [:] }
            return pairs.values.joined().joined().filter { now < $0.minute + 9 }.map(\.number)
        case "off", "count":
            return (counted.removeValue(forKey: rule) ?? [:]).values.joined().filter { now < $0.minute + 6 }.map(\.number)
        case "group":
            defer { groups = [:] }
            return groups.values.flatMap(\.events).map(\.number)
        default: return []
        }
    }

    mutating func beforeChanges(at now: Int) {
        flush(at: now)
        end { $0 == now }
    }

    mutating func afterChanges(at now: Int) {
        end { $0 <= now }
        flush(at: now)
    }

    private mutating func end(_ isDue: (Int) -> Bool) {
        for (key, hold) in holds where !hold.hasRun && isDue(hold.due) {
            holds[key]?.hasRun = true
            recorded[hold.event]["hold"] = Expected(.ran)
        }
        for (id, escalation) in escalations where isDue(escalation.due) {
            escalations[id] = nil
            recorded[escalation.event]["escalate"]?.deliveries += 1
        }
        for (id, absence) in absences where isDue(absence.due) {
            absences[id] = nil
            recorded[absence.event]["none"] = Expected(.ran)
        }
    }

    private mutating func flush(at now: Int) {
        for (priority, group) in groups where group.due <= now {
            use(group.events, "group", in: group.events[0], at: now, "`group` passed it on")
            recorded[group.events[0].number]["group"] = Expected(.ran)
            groups[priority] = nil
        }
    }

    private mutating func use(_ events: [TaskChange], _ rule: String, in run: TaskChange, at now: Int, _ reason: String) {
        for event in events where event.number != run.number {
            recorded[event.number][rule] = Expected(.usedUp, names: run.number, at: now, reason)
        }
    }

    // MARK: Events

    mutating func apply(_ event: TaskChange) {
        events.append((event, version))
        recorded.append([:])
        judged.append([:])
        let (number, now, priority) = (event.number, event.minute, event.fields.priority)
        let shape = Self.shape(version)
        hold(event, wanted: shape == 1 ? 2 : 1, wait: shape == 2 ? 5 : 3)
        none(event, wait: shape == 1 ? 4 : 3)
        pair(event, wanted: shape == 2 ? 2 : 1)
        if event.kind == .removed || event.kind == .changed, escalations.removeValue(forKey: event.id) != nil {
            endings.insert(number)
        }
        guard event.isCreatedOrChanged else { return }
        judged[number]["escalate"] = Expected(.off)
        if shape == 0 {
            escalations[event.id] = Wait(due: now + 4, event: number)
            recorded[number]["escalate"] = Expected(.ran)
        }
        if shape == 2, event.kind == .created {
            judged[number]["plain"] = Expected(.type)
        } else if priority == (shape == 1 ? 2 : 1) {
            recorded[number]["plain"] = Expected(.ran)
        } else {
            judged[number]["plain"] = Expected(.conditionFalse)
        }
        if priority == 1, Self.definition("late", version) != nil {
            recorded[number]["late"] = Expected(.ran)
        } else {
            judged[number]["late"] = Expected(.conditionFalse)
        }
        judged[number]["off"] = Expected(.off)
        if shape != 1 { count("off", 2, 0, event) }
        if shape != 1 { count("count", 3, priority, event) }
        if shape != 2 {
            groups[priority, default: (now + 2, [])].events.append(event)
            recorded[number]["group"] = Expected(.gathering)
        }
    }

    private mutating func hold(_ event: TaskChange, wanted: Int, wait: Int) {
        let (key, number) = ([event.source, event.id], event.number)
        if event.kind == .removed || event.fields.priority != wanted {
            if event.isCreatedOrChanged { judged[number]["hold"] = Expected(.conditionFalse) }
            if let hold = holds.removeValue(forKey: key), !hold.hasRun {
                recorded[number]["hold"] = Expected(.cancelled)
                recorded[hold.event]["hold"] = Expected(.endedEarly, names: number, "the wait of `for`")
            }
        } else if event.isCreatedOrChanged {
            if let hold = holds[key] {
                judged[number]["hold"] = Expected(hold.hasRun ? .once : .waiting, names: hold.event, "`for` had begun before")
            } else {
                recorded[number]["hold"] = Expected(.waiting, at: event.minute + wait, "`for` waits until")
                holds[key] = Wait(due: event.minute + wait, event: number)
            }
        }
    }

    private mutating func none(_ event: TaskChange, wait: Int) {
        let (id, number, priority) = (event.id, event.number, event.fields.priority)
        if event.kind == .removed || event.kind == .changed && priority == 2 {
            if let absence = absences.removeValue(forKey: id) {
                recorded[number]["none"] = Expected(.cancelled)
                recorded[absence.event]["none"] = Expected(.endedEarly, names: number, "the wait of `none`")
                return
            }
        }
        guard event.isCreatedOrChanged else { return }
        if priority == 2 {
            judged[number]["none"] = Expected(.conditionFalse)
        } else if let absence = absences[id] {
            judged[number]["none"] = Expected(.waiting, names: absence.event, "`none` had begun before")
        } else {
            recorded[number]["none"] = Expected(.waiting, at: event.minute + wait, "`none` waits until")
            absences[id] = Wait(due: event.minute + wait, event: number)
        }
    }

    private mutating func pair(_ event: TaskChange, wanted: Int) {
        guard event.kind != .removed else { return }
        var open = pairs[event.id, default: [[], []]].map { $0.filter { event.minute < $0.minute + 9 } }
        open[event.kind == .changed ? 1 : 0].append(event)
        if open.allSatisfy({ !$0.isEmpty }) {
            use(open.indices.map { open[$0].removeFirst() }, "pair", in: event, at: event.minute, "`all` was complete")
            recorded[event.number]["pair"] = event.fields.priority == wanted ? Expected(.ran) : Expected(.conditionFalse)
        } else {
            let half = Expected(.waiting, "has 1 of 2 events")
            recorded[event.number]["pair"] = half.until(event.minute + 9, "`all` was not complete")
        }
        pairs[event.id] = open
    }

    private mutating func count(_ rule: String, _ least: Int, _ key: Int, _ event: TaskChange) {
        let window = counted[rule, default: [:]][key, default: []].filter { event.minute < $0.minute + 6 } + [event]
        let isReached = window.count == least
        if isReached { use(window, rule, in: event, at: event.minute, "`count` had enough") }
        let counts = Expected(.counting, "has \(window.count) of \(least)")
        recorded[event.number][rule] =
            isReached ? Expected(.ran) : counts.until(event.minute + 6, "`count` did not reach \(least)")
        counted[rule, default: [:]][key] = isReached ? [] : window
    }

    // MARK: Expectations

    var expected: [[String: Expected]] {
        events.indices.map { place in
            var expected = recorded[place]
            for rule in Self.names where expected[rule] == nil && Self.definition(rule, version) != nil {
                expected[rule] = judgement(of: rule, at: place)
            }
            // That the event ended an escalation is known even if the rule is gone.
            if endings.contains(place) { expected["escalate"] = expected["escalate"] ?? Expected(.unknown) }
            return expected
        }
    }

    /// What can be explained without a record: what the present rule decides, if it is the rule that saw the event.
    private func judgement(of rule: String, at place: Int) -> Expected {
        let (event, seen) = events[place]
        if Self.isOff(rule, version), event.isCreatedOrChanged { return Expected(.off) }
        let isForType =
            switch rule {
            case "pair": event.kind != .removed
            case "plain": event.kind == .changed || event.kind == .created && Self.shape(version) != 2
            default: event.isCreatedOrChanged
            }
        guard isForType else { return Expected(Self.isOff(rule, version) ? .off : .type) }
        for later in (seen + 1)..<(version + 1) {
            let (before, after) = (Self.definition(rule, later - 1), Self.definition(rule, later))
            guard before != after else { continue }
            if before == nil { return Expected(.unseen, at: reloads[later], "which was added at") }
            return Expected(.unknown, at: reloads[later], after == nil ? "the rule was removed at" : "was changed at")
        }
        return judged[place][rule] ?? Expected(.type)
    }
}
