import BellhopRules

/// Rules that count and gather replayed events: a replay counts by itself, from its own time.
struct ReplayedCountModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: count
        on: [task_created, task_changed]
        count: {at_least: 3, within: 6m, by: task.priority}
        do: [{log: "count\(version)"}]
        ---
        rule: distinct
        on: [task_created, task_changed]
        count: {at_least: 2, within: 5m, distinct: task.id}
        do: [{log: "distinct\(version)"}]
        ---
        rule: group
        on: [task_created, task_changed]
        group: {by: task.priority, wait: 2m, max: 3}
        do: [{log: "group\(version)"}]
        """
    }

    static let hasReplays = true

    /// A run that is counted or gathered: of an event, or of its replay.
    private struct Run {
        var event: TaskChange
        var at: Int
        var isReplay: Bool
    }

    private struct Group {
        var runs: [Run]
        var due: Int
    }

    private(set) var expected: [[String: Expected]] = []
    private var counted: [Int: [Run]] = [:]
    private var distinct: [Run] = []
    private var groups: [Int: Group] = [:]

    /// A due group flushes before the events of the moment.
    mutating func beforeChanges(at now: Int) { flush(at: now) }

    mutating func afterChanges(at now: Int) { flush(at: now) }

    mutating func apply(_ event: TaskChange) {
        expected.append(["count": Expected(.type), "distinct": Expected(.type), "group": Expected(.type)])
        if event.isCreatedOrChanged { take(Run(event: event, at: event.minute, isReplay: false)) }
    }

    mutating func replay(_ event: TaskChange, isForced: Bool, at now: Int) {
        if event.isCreatedOrChanged { take(Run(event: event, at: now, isReplay: true)) }
    }

    private mutating func take(_ run: Run) {
        let (now, priority) = (run.at, run.event.fields.priority)
        let window = counted[priority, default: []].filter { now < $0.at + 6 } + [run]
        counted[priority] = window.count == 3 ? [] : window
        let counts = Expected(.counting, "`count` has \(window.count) of 3").until(now + 6, "`count` did not reach 3")
        record(run, "count", window.count == 3 ? nil : counts)
        if window.count == 3 { use(window.dropLast(), "count", in: run, "`count` had enough", at: now) }

        // A value counts once, by its latest run.
        distinct = distinct.filter { now < $0.at + 5 && $0.event.id != run.event.id } + [run]
        let countsValue = Expected(.counting, "`count` has 1 of 2").until(now + 5, "`count` did not reach 2")
        record(run, "distinct", distinct.count == 2 ? nil : countsValue)
        if distinct.count == 2 {
            use(distinct.dropLast(), "distinct", in: run, "`count` had enough", at: now)
            distinct = []
        }

        var group = groups[priority] ?? Group(runs: [], due: now + 2)
        group.runs.append(run)
        groups[priority] = group.runs.count == 3 ? nil : group
        let gathered = "`group` has gathered \(group.runs.count)"
        record(run, "group", group.runs.count == 3 ? nil : Expected(.gathering, gathered))
        if group.runs.count == 3 { use(group.runs.dropLast(), "group", in: run, "`group` passed it on", at: now) }
    }

    /// A flush belongs to the oldest of the runs, which are in the order of their times; those of one time in the order of the bus.
    private mutating func flush(at now: Int) {
        for (priority, group) in groups where group.due <= now {
            let oldest = group.runs.min { ($0.at, $0.event.number) < ($1.at, $1.event.number) }
            guard let oldest else { continue }
            let own = [oldest.event.number, oldest.at, oldest.isReplay ? 1 : 0]
            let others = group.runs.filter { [$0.event.number, $0.at, $0.isReplay ? 1 : 0] != own }
            use(others, "group", in: oldest, "`group` passed it on", at: now)
            record(oldest, "group", nil)
            groups[priority] = nil
        }
    }

    /// These runs are used up by another run.
    private mutating func use(_ runs: [Run], _ rule: String, in other: Run, _ reason: String, at now: Int) {
        for run in runs { record(run, rule, Expected(.usedUp, names: run.isReplay ? nil : other.event.number, at: now, reason)) }
    }

    /// - Parameter stop: nil if it ran.
    private mutating func record(_ run: Run, _ rule: String, _ stop: Expected?) {
        let number = run.event.number
        if run.isReplay {
            let prefix = "replayed at \(Self.clock(run.at)): "
            expected[number][rule]?.note = prefix + (stop?.reason ?? "it ran")
            expected[number][rule]?.noteLimit = stop?.limit.map { .init(minute: $0.minute, reason: prefix + $0.reason) }
        } else if var stop {
            // Its replays may have run: they stay in the note.
            stop.deliveries = expected[number][rule]?.deliveries ?? 0
            stop.note = expected[number][rule]?.note ?? ""
            stop.noteLimit = expected[number][rule]?.noteLimit
            expected[number][rule] = stop
        } else {
            expected[number][rule]?.verdict = .ran
            expected[number][rule]?.reason = ""
            expected[number][rule]?.limit = nil
        }
        if stop == nil { expected[number][rule]?.deliveries += 1 }
    }
}
