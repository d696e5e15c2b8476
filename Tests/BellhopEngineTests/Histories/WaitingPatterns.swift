import BellhopCore

/// The part of `WaitingModel` for rules for several events: `on` with `all`, `sequence` and `none`.
struct WaitingPatterns {
    /// The rules by their letters, in YAML.
    static let rules = [
        "p": """
        rule: p
        on: {all: [task_created, {type: [task_created, task_changed], when: task.priority == 1}], within: 4m}
        when: WHEN
        do: [{log: "p ${{ events.map(e, e.task.id).join(' ') }} ${{ task.id }}", if: "ACTION >= 0"}]
        """,
        "q": """
        rule: q
        on: {sequence: [[task_created, task_returned], task_changed, task_removed], within: 9m, by: task.id}
        when: WHEN
        do: [{log: "q ${{ key }} \(minute("since"))", if: "ACTION >= 0"}]
        """,
        "n": """
        rule: n
        on: {none: {type: task_changed, when: task.priority == 2}, after: [task_created, task_changed], within: 3m, by: task.id}
        when: task.priority == 1 && WHEN
        do: [{log: "n ${{ task.id }} \(minute("since"))", if: "ACTION >= 0"}]
        """,
        "m": """
        rule: m
        on: {none: task_changed, after: [task_created, task_returned], within: 5m, by: task.priority}
        when: WHEN
        do: [{log: "m ${{ key }} ${{ task.id }}", if: "ACTION >= 0"}]
        """,
        "s": """
        rule: s
        on: {none: [task_created, task_changed], within: 7m, by: source}
        when: source != 'vCONDITION'
        do: [{log: "s \(minute("since"))", if: "ACTION >= 0"}]
        """,
        "t": """
        rule: t
        on: {all: [task_created, task_changed], within: 5m, by: task.id}
        when: task.priority == 1 && WHEN
        for: 2m
        do: [{log: "t ${{ events.map(e, e.type).join(' ') }} ${{ task.id }}", if: "ACTION >= 0"}]
        """,
    ]

    /// Writes a time as the minutes after the start of the history.
    private static func minute(_ time: String) -> String {
        "${{ (\(time) - timestamp('2026-01-05T09:00:00Z')).getMinutes() }}"
    }

    /// The events of `p` that wait for the other entry, by entry; the sequences of `q`, each with its start.
    private var together: [[(id: String, at: Int)]] = [[], []]
    private var sequences: [String: [(start: Int, count: Int)]] = [:]
    /// The absences of `n` by task and of `m` by priority, with the task that began them and the minute.
    private var unchanged: [String: Int] = [:]
    private var untouched: [Int: (id: String, at: Int)] = [:]
    /// The start of the silence, until it is reported.
    private var silence: Int? = 0
    /// The events of `t` that wait for the other entry, and the ends of the waits of `t`: nil after the end.
    private var pairs: [String: [[Int]]] = [:]
    private var pairHold: [String: Int?] = [:]
    private var absent: Set<String> = []

    /// Reloads the rules: the restarted and the absent ones lose their state.
    mutating func load(restarted: Set<String>, without absent: Set<String>, at now: Int) {
        let ended = restarted.union(absent)
        if ended.contains("p") { together = [[], []] }
        if ended.contains("q") { sequences = [:] }
        if ended.contains("n") { unchanged = [:] }
        if ended.contains("m") { untouched = [:] }
        if ended.contains("t") { (pairs, pairHold) = ([:], [:]) }
        // A silence begins when its rule is loaded, also when it is added again.
        if absent.contains("s") {
            silence = nil
        } else if restarted.contains("s") || self.absent.contains("s") {
            silence = now
        }
        self.absent = absent
    }

    /// Applies an event of a task with this priority. Returns the logged lines.
    mutating func apply(_ kind: WaitingModel.Kind, _ id: String, _ priority: Int, at now: Int) -> [String] {
        var log: [String] = []
        if !absent.contains("p") { log += applyToAll(kind, id, priority, at: now) }
        if !absent.contains("q") { log += applyToSequence(kind, id, at: now) }
        let begins = kind == .created || kind == .changed
        if !absent.contains("n") {
            if kind == .removed || kind == .changed && priority == 2 { unchanged[id] = nil }
            if begins, priority == 1, unchanged[id] == nil { unchanged[id] = now }
        }
        if !absent.contains("m") {
            // Any change of the key ends it, and the task that began it when it leaves.
            if kind == .changed { untouched[priority] = nil }
            if kind == .removed { untouched = untouched.filter { $0.value.id != id } }
            if kind == .created || kind == .returned, untouched[priority] == nil { untouched[priority] = (id, now) }
        }
        if !absent.contains("s"), begins { silence = now }
        if !absent.contains("t") { wait(kind, id, priority, at: now) }
        return log
    }

    /// p: the oldest of each entry that is in time, each used once. A clock that was set back makes a later event an older one.
    private mutating func applyToAll(_ kind: WaitingModel.Kind, _ id: String, _ priority: Int, at now: Int) -> [String] {
        let fits = [kind == .created, (kind == .created || kind == .changed) && priority == 1]
        guard fits.contains(true) else { return [] }
        // Events that were too old for a fitting event are gone, also when the clock is set back.
        together = together.map { $0.filter { now < $0.at + 4 } }
        guard let entry = [0, 1].filter({ fits[$0] }).min(by: { together[$0].count < together[$1].count }) else { return [] }
        together[entry].append((id, now))
        if together.contains(where: \.isEmpty) { return [] }
        let used = [0, 1].compactMap { entry in
            together[entry].indices.min { together[entry][$0].at < together[entry][$1].at }.map {
                together[entry].remove(at: $0).id
            }
        }
        return ["p \(used.joined(separator: " ")) \(id)"]
    }

    /// q: the oldest sequence that wants the event, else one begins.
    private mutating func applyToSequence(_ kind: WaitingModel.Kind, _ id: String, at now: Int) -> [String] {
        var open = sequences[id, default: []].filter { now < $0.start + 9 }
        defer { sequences[id] = open }
        let place =
            switch kind {
            case .created, .returned: 0
            case .changed: 1
            case .removed: 2
            }
        let wanting = open.indices.filter { open[$0].count == place }.min { open[$0].start < open[$1].start }
        if let wanting {
            open[wanting].count += 1
            if open[wanting].count == 3 { return ["q \(id) \(open.remove(at: wanting).start)"] }
        } else if place == 0 {
            open.append((now, 1))
        }
        return []
    }

    /// t: begins when both came, and ends by any event on which the condition does not hold.
    private mutating func wait(_ kind: WaitingModel.Kind, _ id: String, _ priority: Int, at now: Int) {
        var isComplete = false
        if kind == .created || kind == .changed {
            var waiting = pairs[id, default: [[], []]].map { $0.filter { now < $0 + 5 } }
            waiting[kind == .created ? 0 : 1].append(now)
            isComplete = waiting.allSatisfy { !$0.isEmpty }
            pairs[id] = isComplete ? waiting.map { Array($0.sorted().dropFirst()) } : waiting
        }
        if kind == .removed || priority != 1 {
            pairHold[id] = nil
        } else if isComplete, pairHold[id] == nil {
            pairHold[id] = .some(now + 2)
        }
    }

    /// Ends the due waits. Returns the logged lines.
    mutating func fire(_ isDue: (Int) -> Bool) -> [String] {
        var log: [String] = []
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
        for (id, wait) in pairHold {
            guard let due = wait, isDue(due) else { continue }
            log.append("t task_created task_changed \(id)")
            pairHold[id] = .some(nil)
        }
        return log
    }
}
