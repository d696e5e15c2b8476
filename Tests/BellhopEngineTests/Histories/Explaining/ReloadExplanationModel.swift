import BellhopRules

/// Rules that reloads change, turn off, remove and add again. What a rule waited for ends with what it was made from.
struct ReloadExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        names.compactMap { name in
            let steps = "do: [{log: \"\(name)\(version)\"}]"
            let escalation = name == "escalate" ? "\nuntil: answered\nescalate: [{after: 4m, \(steps)}]" : ""
            return definition(name, version).map { "rule: \(name)\n\($0)\n\(steps)\(escalation)" }
        }.joined(separator: "\n---\n")
    }

    private static let names = ["hold", "plain", "pair", "none", "off", "count", "group", "escalate", "late"]

    /// How the rules are in this version: some reloads change only what they do.
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
    private var events: [(happening: Happening, version: Int)] = []
    /// What is recorded of each event, and what the rule at that time says of it otherwise.
    private var recorded: [[String: Told]] = []
    private var judged: [[String: Told]] = []
    private var holds: [[String]: Wait] = [:]
    private var absences: [String: Wait] = [:]
    private var pairs: [String: [[Happening]]] = [:]
    /// What is counted and gathered, by rule and priority.
    private var counted: [String: [Int: [Happening]]] = [:]
    private var groups: [Int: (due: Int, events: [Happening])] = [:]
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
                recorded[event][rule] = Told(.endedEarly, at: now, "the rule was \(what) at")
            }
        }
        self.version = version
        reloads.append(now)
    }

    private static func isOff(_ rule: String, _ version: Int) -> Bool {
        rule == "off" && shape(version) == 1 || rule == "escalate" && shape(version) == 2
    }

    private static func clock(_ minute: Int) -> String {
        "2026-01-05T\(minute < 60 ? "09" : minute < 120 ? "10" : "11"):\(minute % 60 < 10 ? "0" : "")\(minute % 60):00Z"
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

    mutating func arrive(at now: Int) {
        flush(at: now)
        end { $0 == now }
    }

    mutating func leave(at now: Int) {
        end { $0 <= now }
        flush(at: now)
    }

    private mutating func end(_ isDue: (Int) -> Bool) {
        for (key, hold) in holds where !hold.hasRun && isDue(hold.due) {
            holds[key]?.hasRun = true
            recorded[hold.event]["hold"] = Told(.ran)
        }
        for (id, escalation) in escalations where isDue(escalation.due) {
            escalations[id] = nil
            recorded[escalation.event]["escalate"]?.deliveries += 1
        }
        for (id, absence) in absences where isDue(absence.due) {
            absences[id] = nil
            recorded[absence.event]["none"] = Told(.ran)
        }
    }

    private mutating func flush(at now: Int) {
        for (priority, group) in groups where group.due <= now {
            use(group.events, "group", in: group.events[0], at: now, "`group` passed it on")
            recorded[group.events[0].number]["group"] = Told(.ran)
            groups[priority] = nil
        }
    }

    private mutating func use(_ events: [Happening], _ rule: String, in run: Happening, at now: Int, _ reason: String) {
        for event in events where event.number != run.number {
            recorded[event.number][rule] = Told(.usedUp, names: run.number, at: now, reason)
        }
    }

    // MARK: Events

    mutating func happen(_ event: Happening) {
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
        judged[number]["escalate"] = Told(.off)
        if shape == 0 {
            escalations[event.id] = Wait(due: now + 4, event: number)
            recorded[number]["escalate"] = Told(.ran)
        }
        if shape == 2, event.kind == .created {
            judged[number]["plain"] = Told(.type)
        } else if priority == (shape == 1 ? 2 : 1) {
            recorded[number]["plain"] = Told(.ran)
        } else {
            judged[number]["plain"] = Told(.conditionFalse)
        }
        if priority == 1, Self.definition("late", version) != nil {
            recorded[number]["late"] = Told(.ran)
        } else {
            judged[number]["late"] = Told(.conditionFalse)
        }
        judged[number]["off"] = Told(.off)
        if shape != 1 { count("off", 2, 0, event) }
        if shape != 1 { count("count", 3, priority, event) }
        if shape != 2 {
            groups[priority, default: (now + 2, [])].events.append(event)
            recorded[number]["group"] = Told(.gathering)
        }
    }

    private mutating func hold(_ event: Happening, wanted: Int, wait: Int) {
        let (key, number) = ([event.source, event.id], event.number)
        if event.kind == .removed || event.fields.priority != wanted {
            if event.isCreatedOrChanged { judged[number]["hold"] = Told(.conditionFalse) }
            if let hold = holds.removeValue(forKey: key), !hold.hasRun {
                recorded[number]["hold"] = Told(.cancelled)
                recorded[hold.event]["hold"] = Told(.endedEarly, names: number, "the wait of `for`")
            }
        } else if event.isCreatedOrChanged {
            if let hold = holds[key] {
                judged[number]["hold"] = Told(hold.hasRun ? .once : .waiting, names: hold.event, "`for` had begun before")
            } else {
                recorded[number]["hold"] = Told(.waiting, at: event.minute + wait, "`for` waits until")
                holds[key] = Wait(due: event.minute + wait, event: number)
            }
        }
    }

    private mutating func none(_ event: Happening, wait: Int) {
        let (id, number, priority) = (event.id, event.number, event.fields.priority)
        if event.kind == .removed || event.kind == .changed && priority == 2 {
            if let absence = absences.removeValue(forKey: id) {
                recorded[number]["none"] = Told(.cancelled)
                recorded[absence.event]["none"] = Told(.endedEarly, names: number, "the wait of `none`")
                return
            }
        }
        guard event.isCreatedOrChanged else { return }
        if priority == 2 {
            judged[number]["none"] = Told(.conditionFalse)
        } else if let absence = absences[id] {
            judged[number]["none"] = Told(.waiting, names: absence.event, "`none` had begun before")
        } else {
            recorded[number]["none"] = Told(.waiting, at: event.minute + wait, "`none` waits until")
            absences[id] = Wait(due: event.minute + wait, event: number)
        }
    }

    private mutating func pair(_ event: Happening, wanted: Int) {
        guard event.kind != .removed else { return }
        var open = pairs[event.id, default: [[], []]].map { $0.filter { event.minute < $0.minute + 9 } }
        open[event.kind == .changed ? 1 : 0].append(event)
        if open.allSatisfy({ !$0.isEmpty }) {
            use(open.indices.map { open[$0].removeFirst() }, "pair", in: event, at: event.minute, "`all` was complete")
            recorded[event.number]["pair"] = event.fields.priority == wanted ? Told(.ran) : Told(.conditionFalse)
        } else {
            let half = Told(.waiting, "has 1 of 2 events")
            recorded[event.number]["pair"] = half.until(event.minute + 9, "`all` was not complete")
        }
        pairs[event.id] = open
    }

    private mutating func count(_ rule: String, _ least: Int, _ key: Int, _ event: Happening) {
        let window = counted[rule, default: [:]][key, default: []].filter { event.minute < $0.minute + 6 } + [event]
        let isReached = window.count == least
        if isReached { use(window, rule, in: event, at: event.minute, "`count` had enough") }
        let counts = Told(.counting, "has \(window.count) of \(least)")
        recorded[event.number][rule] =
            isReached ? Told(.ran) : counts.until(event.minute + 6, "`count` did not reach \(least)")
        counted[rule, default: [:]][key] = isReached ? [] : window
    }

    // MARK: What is told

    var told: [[String: Told]] {
        events.indices.map { place in
            var told = recorded[place]
            for rule in Self.names where told[rule] == nil && Self.definition(rule, version) != nil {
                told[rule] = judgement(of: rule, at: place)
            }
            // What the event ended is known even if the rule is gone.
            if endings.contains(place) { told["escalate"] = told["escalate"] ?? Told(.unknown) }
            return told
        }
    }

    /// What can be told without a record: only what the present rule says, and only if it is the rule that saw the event.
    private func judgement(of rule: String, at place: Int) -> Told {
        let (event, seen) = events[place]
        if Self.isOff(rule, version), event.isCreatedOrChanged { return Told(.off) }
        let isForType =
            switch rule {
            case "pair": event.kind != .removed
            case "plain": event.kind == .changed || event.kind == .created && Self.shape(version) != 2
            default: event.isCreatedOrChanged
            }
        guard isForType else { return Told(Self.isOff(rule, version) ? .off : .type) }
        for later in (seen + 1)..<(version + 1) {
            let (before, after) = (Self.definition(rule, later - 1), Self.definition(rule, later))
            guard before != after else { continue }
            if before == nil { return Told(.unseen, at: reloads[later], "which was added at") }
            return Told(.unknown, at: reloads[later], after == nil ? "the rule was removed at" : "was changed at")
        }
        return judged[place][rule] ?? Told(.type)
    }
}
