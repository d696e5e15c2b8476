import BellhopCore

/// A model of rules that wait, count and gather, written from the documentation of the format, not from the program.
///
/// Each rule logs its letter and the ids of the tasks whose events led to the run.
struct WaitingModel {
    /// The rules, in YAML.
    static let rules = """
        rule: h
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 3m
        do: [{log: "h ${{ task.id }}"}]
        ---
        rule: c
        on: task_created
        count: {at_least: 3, within: 4m, by: task.priority}
        do: [{log: "c ${{ events.map(e, e.task.id).join(' ') }}"}]
        ---
        rule: d
        on: [task_created, task_changed]
        count: {at_least: 2, within: 3m, distinct: task.id}
        do: [{log: "d ${{ events.map(e, e.task.id).join(' ') }}"}]
        ---
        rule: g
        on: [task_created, task_changed, task_removed, task_returned]
        group: {by: task.priority, wait: 2m, every: 5m, max: 4}
        do: [{log: "g ${{ key }} ${{ events.map(e, e.task.id).join(' ') }}"}]
        ---
        rule: x
        on: [task_created, task_changed]
        when: task.priority == 1
        for: 2m
        count: {at_least: 2, within: 6m}
        group: {wait: 1m}
        do: [{log: "x ${{ events.map(e, e.task.id).join(' ') }}"}]
        ---
        rule: p
        on: {all: [task_created, {type: [task_created, task_changed], when: task.priority == 1}], within: 4m}
        do: [{log: "p ${{ events.map(e, e.task.id).join(' ') }} ${{ task.id }}"}]
        ---
        rule: q
        on: {sequence: [[task_created, task_returned], task_changed, task_removed], within: 9m, by: task.id}
        do: [{log: "q ${{ key }} ${{ (since - timestamp('2026-01-05T09:00:00Z')).getMinutes() }}"}]
        ---
        rule: n
        on: {none: {type: task_changed, when: task.priority == 2}, after: [task_created, task_changed], within: 3m, by: task.id}
        when: task.priority == 1
        do: [{log: "n ${{ task.id }} ${{ (since - timestamp('2026-01-05T09:00:00Z')).getMinutes() }}"}]
        ---
        rule: m
        on: {none: task_changed, after: [task_created, task_returned], within: 5m, by: task.priority}
        do: [{log: "m ${{ key }} ${{ task.id }}"}]
        ---
        rule: s
        on: {none: [task_created, task_changed], within: 7m, by: source}
        do: [{log: "s ${{ (since - timestamp('2026-01-05T09:00:00Z')).getMinutes() }}"}]
        ---
        rule: t
        on: {all: [task_created, task_changed], within: 5m, by: task.id}
        when: task.priority == 1
        for: 2m
        do: [{log: "t ${{ events.map(e, e.type).join(' ') }} ${{ task.id }}"}]
        ---
        rule: e
        on: [task_created, task_changed]
        when: task.priority == 1
        do: [{notify: {to: pager, title: "e ${{ task.id }}", thread: "${{ task.id }}"}}]
        escalate:
          - {after: 5m, repeat: {every: 3m, times: 2}, do: [{log: "e1 ${{ task.id }}"}]}
          - {after: 2m, do: [{log: "e0 ${{ task.id }}"}]}
        ---
        rule: f
        on: [task_created, task_changed]
        when: task.priority == 1
        do: [{log: "f ${{ task.id }}"}]
        until: task.priority == 2
        escalate:
          - {after: 3m, do: [{log: "f0 ${{ task.id }}"}]}
          - {after: 9m, do: [{log: "f1 ${{ task.id }}"}]}
        ---
        rule: z
        on: [task_created, task_changed]
        when: task.priority == 2
        quiet: {hours: "09:15-09:25,09:33-09:50,09:52-09:55"}
        do: [{notify: {to: chat, title: "z ${{ task.id }}"}}]
        """

    /// The quiet times of `z`, in minutes after nine, when the histories begin.
    private static let quiet = [15..<25, 33..<50, 52..<55]

    enum Kind { case created, changed, removed, returned }

    private struct Waits {
        var due: Int
        /// The number of the wait: waits of one moment end in the order in which they began.
        var number: Int
        var hasRun = false
    }

    /// The counted or gathered events of a rule: their tasks and minutes.
    private typealias Window = [(id: String, at: Int)]

    private struct Group {
        var events: Window = []
        var due = 0
        var last: Int?
        /// Its place among the timers of the same moment: the one set first comes first.
        var number = 0
    }

    /// The last known priorities of the tasks.
    private(set) var tasks: [String: Int] = [:]
    private var (hold, chainHold): ([String: Waits], [String: Waits]) = ([:], [:])
    private var created: [Int: Window] = [:]
    private var distinct: Window = []
    private var chainCount: Window = []
    private var groups: [Int: Group] = [:]
    private var chainGroup = Group()
    /// By rule and task. Those of e stay after their last step, because an answer closes their pages.
    private var escalations: [String: [String: Escalation]] = [:]
    private var begun = 0
    /// The events of `p` that wait for the other entry, by entry; the sequences of `q`, each with its start.
    private var together: [Window] = [[], []]
    private var sequences: [String: [(start: Int, count: Int)]] = [:]
    /// The absences of `n` by task and of `m` by priority, with the task that began them and the minute.
    private var unchanged: [String: Int] = [:]
    private var untouched: [Int: (id: String, at: Int)] = [:]
    /// The start of the silence, until it is reported.
    private var silence: Int? = 0
    /// The events of `t` that wait for the other entry, and the waits of `t`.
    private var pairs: [String: [[Int]]] = [:]
    private var pairHold: [String: Waits] = [:]
    /// The tasks of the messages of `z` that are kept back.
    private var keptBack: [String] = []
    private(set) var log: [String] = []

    /// Fires the timers that come before the events of a moment: due groups, and waits that end at this moment. Waits that ended during
    /// downtime come after the events.
    mutating func beforeChanges(at now: Int) {
        fireGroups(until: now)
        fireHolds(at: now)
        flushChain(until: now)
        escalate(now) { $0 == now }
    }

    /// Fires the timers that come after the events of a moment.
    mutating func afterChanges(at now: Int) {
        fireHolds(until: now)
        fireGroups(until: now)
        escalate(now) { $0 <= now }
        if !keptBack.isEmpty, !Self.isQuiet(now) {
            log.append(keptBack.count == 1 ? "chat: z \(keptBack[0])" : "chat: \(keptBack.count) messages were kept back")
            keptBack = []
        }
    }

    private static func isQuiet(_ minute: Int) -> Bool { quiet.contains { $0.contains(minute) } }

    /// Applies an event of a task with this priority; for a removed task, its last known one.
    mutating func apply(_ kind: Kind, _ id: String, _ priority: Int, at now: Int) {
        // h and x
        let (holds, begins) = (priority == 1, kind == .created || kind == .changed)
        applyToPatterns(kind, id, priority, at: now)
        for (waits, minutes) in [(\WaitingModel.hold, 3), (\.chainHold, 2)] {
            if kind == .removed || !holds {
                self[keyPath: waits][id] = nil
            } else if begins, self[keyPath: waits][id] == nil {
                self[keyPath: waits][id] = Waits(due: now + minutes, number: begun)
                begun += 1
            }
        }
        tasks[id] = kind == .removed ? nil : priority
        escalate(kind, id, begins: begins && holds, at: now)
        // z
        if begins, priority == 2 {
            if Self.isQuiet(now) { keptBack.append(id) } else { log.append("chat: z \(id)") }
        }
        // c
        if kind == .created {
            var window = created[priority, default: []].filter { now < $0.at + 4 } + [(id, now)]
            if window.count >= 3 {
                log.append("c " + window.map(\.id).joined(separator: " "))
                window = []
            }
            created[priority] = window
        }
        // d
        if begins {
            distinct = distinct.filter { now < $0.at + 3 && $0.id != id } + [(id, now)]
            if distinct.count >= 2 {
                log.append("d " + distinct.map(\.id).joined(separator: " "))
                distinct = []
            }
        }
        // g
        var group = groups[priority] ?? Group()
        if group.events.isEmpty { group.due = max(now + 2, group.last.map { $0 + 5 } ?? 0) }
        group.events.append((id, now))
        if group.events.count >= 4 { flush(&group, "g \(priority) ", at: now) }
        groups[priority] = group
    }

    /// The rules for several events.
    private mutating func applyToPatterns(_ kind: Kind, _ id: String, _ priority: Int, at now: Int) {
        // p: the oldest of each entry that is in time, each used once
        together = together.map { $0.filter { now < $0.at + 4 } }
        let fits = [kind == .created, (kind == .created || kind == .changed) && priority == 1]
        if let entry = [0, 1].filter({ fits[$0] }).min(by: { together[$0].count < together[$1].count }) {
            together[entry].append((id, now))
            if !together[0].isEmpty, !together[1].isEmpty {
                log.append("p \(together[0].removeFirst().id) \(together[1].removeFirst().id) \(id)")
            }
        }
        // q: the oldest sequence that wants the event, else one begins
        var open = sequences[id, default: []].filter { now < $0.start + 9 }
        let place =
            switch kind {
            case .created, .returned: 0
            case .changed: 1
            case .removed: 2
            }
        if let wanting = open.firstIndex(where: { $0.count == place }) {
            open[wanting].count += 1
            if open[wanting].count == 3 { log.append("q \(id) \(open.remove(at: wanting).start)") }
        } else if place == 0 {
            open.append((now, 1))
        }
        sequences[id] = open
        // n
        if kind == .removed || kind == .changed && priority == 2 { unchanged[id] = nil }
        if kind == .created || kind == .changed, priority == 1, unchanged[id] == nil { unchanged[id] = now }
        // m: any change of the key ends it, and the task that began it when it leaves
        if kind == .changed { untouched[priority] = nil }
        if kind == .removed { untouched = untouched.filter { $0.value.id != id } }
        if kind == .created || kind == .returned, untouched[priority] == nil { untouched[priority] = (id, now) }
        // s
        if kind == .created || kind == .changed { silence = now }
        // t: begins when both came, ends by any event on which the condition does not hold
        var waiting = pairs[id, default: [[], []]].map { $0.filter { now < $0 + 5 } }
        if kind == .created || kind == .changed { waiting[kind == .created ? 0 : 1].append(now) }
        let isComplete = !waiting[0].isEmpty && !waiting[1].isEmpty
        if isComplete { for entry in [0, 1] { waiting[entry].removeFirst() } }
        pairs[id] = waiting
        if kind == .removed || priority != 1 {
            pairHold[id] = nil
        } else if isComplete, pairHold[id] == nil {
            pairHold[id] = Waits(due: now + 2, number: 0)
        }
    }

    private mutating func fireAbsences(_ isDue: (Int) -> Bool) {
        for (id, begin) in unchanged where isDue(begin + 3) {
            log.append("n \(id) \(begin)")
            unchanged[id] = nil
        }
        for (priority, began) in untouched where isDue(began.at + 5) {
            log.append("m \(priority) \(began.id)")
            untouched[priority] = nil
        }
        if let begin = silence, isDue(begin + 7) {
            log.append("s \(begin)")
            silence = nil
        }
        for (id, wait) in pairHold where !wait.hasRun && isDue(wait.due) {
            pairHold[id]?.hasRun = true
            log.append("t task_created task_changed \(id)")
        }
    }

    /// Waits that are over at this very moment come before its events.
    private mutating func fireHolds(at now: Int) {
        fireAbsences { $0 == now }
        fireHolds { $0 == now }
    }

    private mutating func fireHolds(until now: Int) {
        fireAbsences { $0 <= now }
        fireHolds { $0 <= now }
    }

    private mutating func fireHolds(_ isDue: (Int) -> Bool) {
        func due(_ waits: [String: Waits]) -> [(id: String, due: Int, number: Int)] {
            waits.filter { !$0.value.hasRun && isDue($0.value.due) }
                .sorted { ($0.value.due, $0.value.number) < ($1.value.due, $1.value.number) }.map {
                    ($0.key, $0.value.due, $0.value.number)
                }
        }
        for wait in due(hold) { run(wait.id) }
        for wait in due(chainHold) {
            // A group that an earlier wait began may be due before the next wait is over.
            if (chainGroup.due, chainGroup.number) < (wait.due, wait.number) { flushChain(until: wait.due) }
            chain(wait.id, at: wait.due)
        }
    }

    private mutating func run(_ id: String) {
        hold[id]?.hasRun = true
        log.append("h \(id)")
    }

    /// x goes on: its count, then its group, both from the moment at which the wait was over.
    private mutating func chain(_ id: String, at due: Int) {
        chainHold[id]?.hasRun = true
        chainCount = (chainCount.filter { due < $0.at + 6 } + [(id, due)]).sorted { $0.at < $1.at }
        guard chainCount.count >= 2 else { return }
        if chainGroup.events.isEmpty {
            (chainGroup.due, chainGroup.number) = (due + 1, begun)
            begun += 1
        }
        // Waits that ended during downtime may join after later ones.
        chainGroup.events = (chainGroup.events + chainCount).sorted { $0.at < $1.at }
        chainCount = []
    }

    // MARK: e and f

    /// Applies an event to the escalations: it ends them first, then may begin new ones.
    private mutating func escalate(_ kind: Kind, _ id: String, begins: Bool, at now: Int) {
        if kind == .removed || kind == .changed, escalations["e"]?.removeValue(forKey: id) != nil {
            log.append("pager closes \(id)")
        }
        if kind == .removed { escalations["f"]?[id] = nil }
        guard begins else { return }
        log += ["pager: e \(id)", "f \(id)"]
        // The steps with the minutes at which they come.
        escalations["e", default: [:]][id] = Escalation(steps: [("e0", [now + 2]), ("e1", [now + 5, now + 8, now + 11])])
        if escalations["f"]?[id]?.isOver ?? true {
            escalations["f", default: [:]][id] = Escalation(steps: [("f0", [now + 3]), ("f1", [now + 9])])
        }
    }

    /// Runs the due steps in their order. Of missed repetitions, one runs.
    private mutating func escalate(_ now: Int, _ isDue: (Int) -> Bool) {
        for (rule, ofRule) in escalations {
            for id in ofRule.keys {
                while let next = escalations[rule]?[id]?.next, isDue(next.due) {
                    if rule == "e" ? tasks[id] != 1 : tasks[id] == 2 {
                        escalations[rule]?[id] = nil
                        break
                    }
                    log.append("\(next.name) \(id)")
                    escalations[rule]?[id]?.take(at: now)
                }
            }
        }
    }

    private struct Escalation {
        var steps: [(name: String, times: [Int])]

        var isOver: Bool { steps.allSatisfy(\.times.isEmpty) }
        var next: (name: String, due: Int)? {
            steps.compactMap { step in step.times.first.map { (step.name, $0) } }.min { $0.1 < $1.1 }
        }

        mutating func take(at now: Int) {
            guard let name = next?.name, let place = steps.firstIndex(where: { $0.name == name }) else { return }
            steps[place].times.removeFirst()
            while let due = steps[place].times.first, due <= now { steps[place].times.removeFirst() }
        }
    }

    private mutating func fireGroups(until now: Int) {
        for priority in groups.keys.sorted() {
            guard var group = groups[priority], !group.events.isEmpty, group.due <= now else { continue }
            flush(&group, "g \(priority) ", at: group.due)
            groups[priority] = group
        }
        // Waits of this very moment that were set earlier come first.
        let isFirst = !chainHold.values.contains { !$0.hasRun && $0.due == now && $0.number < chainGroup.number }
        flushChain(until: isFirst ? now : now - 1)
    }

    private mutating func flushChain(until now: Int) {
        guard !chainGroup.events.isEmpty, chainGroup.due <= now else { return }
        var group = chainGroup
        flush(&group, "x ", at: group.due)
        chainGroup = group
    }

    private mutating func flush(_ group: inout Group, _ prefix: String, at now: Int) {
        log.append(prefix + group.events.map(\.id).joined(separator: " "))
        group.events = []
        group.last = now
    }
}
