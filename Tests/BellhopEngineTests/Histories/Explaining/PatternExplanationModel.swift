import BellhopRules

/// Rules for several events, and rules that escalate.
struct PatternExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: all
        on: {all: [task_created, task_changed], within: 5m, by: task.id}
        when: task.priority == 1
        do: [{log: "all\(version)"}]
        ---
        rule: held
        on: {all: [[task_created, task_returned], task_changed], within: 9m, by: task.id}
        when: task.priority == 1
        for: 2m
        do: [{log: "held\(version)"}]
        ---
        rule: sequence
        on: {sequence: [[task_created, task_returned], {type: task_changed, when: "task.priority == 2"}, task_changed], within: 9m, by: task.id}
        do: [{log: "sequence\(version)"}]
        ---
        rule: none
        on: {none: {type: task_changed, when: task.priority == 2}, after: [task_created, task_changed], within: 3m, by: task.id}
        when: task.priority == 1
        do: [{log: "none\(version)"}]
        ---
        rule: silence
        on: {none: [task_created, task_changed], within: 400d, by: source}
        do: [{log: "silence\(version)"}]
        ---
        rule: escalated
        on: [task_created, task_changed]
        when: task.priority == 1
        do: [{notify: {to: pager, title: "escalated\(version)", thread: "${{ task.id }}"}}]
        escalate:
          - {after: 5m, repeat: {every: 3m, times: 2}, do: [{log: "late\(version)"}]}
          - {after: 2m, do: [{log: "early\(version)"}]}
        """
    }

    private(set) var expected: [[String: Expected]] = []
    /// The events that wait for others, by rule and task: those of each entry.
    private var waiting: [[String]: [[TaskChange]]] = [:]
    private var holds: [String: (due: Int, event: Int, hasRun: Bool)] = [:]
    /// The sequences under way, with the events that have come.
    private var sequences: [String: [[TaskChange]]] = [:]
    private var absences: [String: (due: Int, event: Int)] = [:]
    private var escalations: [String: Escalation] = [:]
    /// The last event that started the silence again.
    private var silence: Int?

    private struct Escalation {
        var event: Int
        /// The minutes of each step.
        var steps: [[Int]]

        var next: Int? { steps.compactMap(\.first).min() }

        /// Of missed repetitions, one runs.
        mutating func take(at now: Int) {
            guard let next, let place = steps.firstIndex(where: { $0.first == next }) else { return }
            steps[place].removeFirst()
            while let due = steps[place].first, due <= now { steps[place].removeFirst() }
        }
    }

    mutating func beforeChanges(at now: Int) { fire(at: now) { $0 == now } }

    mutating func afterChanges(at now: Int) { fire(at: now) { $0 <= now } }

    private mutating func fire(at now: Int, _ isDue: (Int) -> Bool) {
        for (id, absence) in absences where isDue(absence.due) {
            expected[absence.event]["none"] = Expected(.ran)
            absences[id] = nil
        }
        for (id, hold) in holds where !hold.hasRun && isDue(hold.due) {
            holds[id]?.hasRun = true
            expected[hold.event]["held"] = Expected(.ran)
        }
        for id in escalations.keys {
            while let escalation = escalations[id], let next = escalation.next, isDue(next) {
                expected[escalation.event]["escalated"]?.deliveries += 1
                escalations[id]?.take(at: now)
                let hasEnded = escalations[id]?.next == nil
                expected[escalation.event]["escalated"]?.note = hasEnded ? "the escalation has ended" : Self.next
            }
        }
    }

    mutating func apply(_ event: TaskChange) {
        expected.append([:])
        expected[event.number] = [
            "all": all(event), "held": held(event), "sequence": sequence(event), "none": none(event),
            "silence": event.isCreatedOrChanged ? Expected(.waiting, "this event started `none` again") : Expected(.type),
            "escalated": escalated(event),
        ]
        guard event.isCreatedOrChanged else { return }
        if let before = silence { expected[before]["silence"] = Expected(.endedEarly, "a later event started it again") }
        silence = event.number
    }

    /// Whether the event completes a pair; nil if it fits no entry.
    private mutating func pair(_ rule: String, _ entry: Int?, within: Int, _ event: TaskChange) -> Bool? {
        guard let entry else { return nil }
        var open = waiting[[rule, event.id], default: [[], []]].map { $0.filter { event.minute < $0.minute + within } }
        open[entry].append(event)
        let isComplete = open.allSatisfy { !$0.isEmpty }
        if isComplete { use(open.indices.map { open[$0].removeFirst() }, rule, in: event, "`all` was complete") }
        waiting[[rule, event.id]] = open
        return isComplete
    }

    /// The events that the last one of a run uses up.
    private mutating func use(_ events: [TaskChange], _ rule: String, in run: TaskChange, _ reason: String) {
        for event in events where event.number != run.number {
            expected[event.number][rule] = Expected(.usedUp, names: run.number, reason)
        }
    }

    private mutating func all(_ event: TaskChange) -> Expected {
        let entry = event.kind == .created ? 0 : event.kind == .changed ? 1 : nil
        guard let isComplete = pair("all", entry, within: 5, event) else { return Expected(.type) }
        if !isComplete { return Self.half(event, within: 5) }
        return event.fields.priority == 1 ? Expected(.ran) : Expected(.conditionFalse)
    }

    private static func half(_ event: TaskChange, within: Int, note: String = "") -> Expected {
        Expected(.waiting, "has 1 of 2 events", note: note).until(event.minute + within, "`all` was not complete")
    }

    private mutating func held(_ event: TaskChange) -> Expected {
        let entry = event.kind == .removed ? nil : event.kind == .changed ? 1 : 0
        let isComplete = pair("held", entry, within: 9, event)
        if event.kind == .removed || event.fields.priority != 1 {
            let hold = holds.removeValue(forKey: event.id)
            let isHeld = hold.map { !$0.hasRun } ?? false
            if let hold, isHeld { expected[hold.event]["held"] = Expected(.endedEarly, names: event.number, "the wait of `for`") }
            // An event that waits for the other of its pair may end the wait of the pair before.
            let ended = isHeld ? "ended the wait of `for`" : ""
            return switch isComplete {
            case nil: Expected(isHeld ? .cancelled : .type)
            case true?: Expected(isHeld ? .cancelled : .conditionFalse)
            case false?: Self.half(event, within: 9, note: ended)
            }
        }
        guard isComplete == true else { return Self.half(event, within: 9) }
        if let hold = holds[event.id] {
            return Expected(hold.hasRun ? .once : .waiting, names: hold.event, "`for` had begun before")
        }
        holds[event.id] = (event.minute + 2, event.number, false)
        return Expected(.waiting, "waits until")
    }

    private mutating func sequence(_ event: TaskChange) -> Expected {
        var open = sequences[event.id, default: []].filter { event.minute < $0[0].minute + 9 }
        defer { sequences[event.id] = open }
        switch event.kind {
        case .removed: return Expected(.type)
        case .created, .returned:
            open.append([event])
            return Expected(.waiting, "has 1 of 3 events").until(event.minute + 9, "`sequence` was not complete")
        case .changed: break
        }
        let fits = event.fields.priority == 2 ? [1, 2] : [2]
        guard let place = open.firstIndex(where: { fits.contains($0.count) }) else {
            return Expected(.conditionFalse, "no `sequence`")
        }
        open[place].append(event)
        if open[place].count < 3 {
            return Expected(.waiting, "has 2 of 3 events").until(open[place][0].minute + 9, "`sequence` was not complete")
        }
        use(open.remove(at: place), "sequence", in: event, "`sequence` was complete")
        return Expected(.ran)
    }

    private mutating func none(_ event: TaskChange) -> Expected {
        let isOpen = absences[event.id] != nil
        func end() {
            guard let absence = absences.removeValue(forKey: event.id) else { return }
            expected[absence.event]["none"] = Expected(.endedEarly, names: event.number, "the wait of `none`")
        }
        switch event.kind {
        case .returned: return Expected(.type)
        case .removed:
            end()
            return isOpen ? Expected(.cancelled) : Expected(.type)
        case .created, .changed:
            if event.fields.priority == 1 {
                if let absence = absences[event.id] { return Expected(.waiting, names: absence.event, "`none` had begun before") }
                absences[event.id] = (event.minute + 3, event.number)
                return Expected(.waiting, "waits until")
            }
            if event.kind == .changed { end() }
            return isOpen && event.kind == .changed ? Expected(.cancelled) : Expected(.conditionFalse)
        }
    }

    /// An event of a task that has an escalation answers it, and closes the alert.
    private mutating func escalated(_ event: TaskChange) -> Expected {
        if event.kind == .changed || event.kind == .removed, let answered = escalations.removeValue(forKey: event.id) {
            expected[answered.event]["escalated"]?.deliveries += 1
            expected[answered.event]["escalated"]?.note = "the escalation has ended"
        }
        guard event.isCreatedOrChanged else { return Expected(.type) }
        if event.fields.priority != 1 { return Expected(.conditionFalse) }
        let now = event.minute
        escalations[event.id] = Escalation(event: event.number, steps: [[now + 5, now + 8, now + 11], [now + 2]])
        return Expected(.ran, note: Self.next)
    }

    private static let next = "the next step of the escalation waits until"
}
