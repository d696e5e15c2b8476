import BellhopRules

/// Rules for several events, and rules that escalate.
struct PatternExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
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
    /// The events of `held` that wait for others, by task: those of each entry.
    private var waiting: [String: [[TaskChange]]] = [:]
    private var holds: [String: (due: Int, event: Int, hasRun: Bool)] = [:]
    /// The sequences under way, with the events that have come.
    private var sequences: [String: [[TaskChange]]] = [:]
    private var escalations: [String: Escalation] = [:]
    /// The last event that started the silence again.
    private var silence: Int?

    private struct Escalation {
        var event: Int
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
            "held": held(event), "sequence": sequence(event),
            "silence": event.isCreatedOrChanged ? Expected(.waiting, "this event started `none` again") : Expected(.type),
            "escalated": escalated(event),
        ]
        guard event.isCreatedOrChanged else { return }
        if let before = silence { expected[before]["silence"] = Expected(.endedEarly, "a later event started it again") }
        silence = event.number
    }

    /// Whether the event completes a pair; nil if it fits no entry.
    private mutating func completesPair(_ event: TaskChange) -> Bool? {
        guard event.kind != .removed else { return nil }
        var open = waiting[event.id, default: [[], []]].map { $0.filter { event.minute < $0.minute + 9 } }
        open[event.kind == .changed ? 1 : 0].append(event)
        let isComplete = open.allSatisfy { !$0.isEmpty }
        if isComplete { use(open.indices.map { open[$0].removeFirst() }, "held", in: event, "`all` was complete") }
        waiting[event.id] = open
        return isComplete
    }

    /// The events that the last one of a run uses up.
    private mutating func use(_ events: [TaskChange], _ rule: String, in run: TaskChange, _ reason: String) {
        for event in events where event.number != run.number {
            expected[event.number][rule] = Expected(.usedUp, names: run.number, reason)
        }
    }

    private static func half(_ event: TaskChange, note: String = "") -> Expected {
        Expected(.waiting, "has 1 of 2 events", note: note).until(event.minute + 9, "`all` was not complete")
    }

    private mutating func held(_ event: TaskChange) -> Expected {
        let isComplete = completesPair(event)
        if event.kind == .removed || event.fields.priority != 1 {
            let hold = holds.removeValue(forKey: event.id)
            let isHeld = hold.map { !$0.hasRun } ?? false
            if let hold, isHeld { expected[hold.event]["held"] = Expected(.endedEarly, names: event.number, "the wait of `for`") }
            // An event that waits for the other of its pair may end the wait of the pair before.
            let ended = isHeld ? "ended the wait of `for`" : ""
            return switch isComplete {
            case nil: Expected(isHeld ? .cancelled : .type)
            case true?: Expected(isHeld ? .cancelled : .conditionFalse)
            case false?: Self.half(event, note: ended)
            }
        }
        guard isComplete == true else { return Self.half(event) }
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
