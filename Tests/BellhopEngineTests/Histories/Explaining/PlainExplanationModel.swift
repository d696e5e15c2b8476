import BellhopCore
import BellhopRules

/// Rules without waits: their events, sources and conditions, `throttle`, `once`, `limit`, modes, silences and quiet times.
struct PlainExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: unknown
        on: [task_created, task_changed]
        when: task.state < 2
        do: [{log: "unknown\(version)"}]
        ---
        rule: failed
        on: [task_created, task_changed]
        when: 6 / task.state > 2
        do: [{log: "failed\(version)"}]
        ---
        rule: elsewhere
        on: [task_created, task_changed]
        from: elsewhere
        do: [{log: "elsewhere\(version)"}]
        ---
        rule: field
        on: {task_changed: {priority: {to: 1}}}
        do: [{log: "field\(version)"}]
        ---
        rule: disabled
        on: task_created
        enabled: false
        do: [{log: "disabled\(version)"}]
        ---
        rule: once
        on: [task_created, task_changed, task_returned]
        once: task.id
        do: [{log: "once\(version)"}]
        ---
        rule: throttled
        on: [task_created, task_changed]
        throttle: {by: task.state, every: 5m}
        do: [{log: "throttled\(version)"}]
        ---
        rule: both
        on: [task_created, task_changed, task_removed]
        when: task.priority == 1
        throttle: {every: 3m}
        once: "task.id + string(task.state == 1)"
        do: [{log: "both\(version)"}, {log: "more\(version)", if: task.state == 1}]
        ---
        rule: steps
        on: [task_created, task_changed]
        do: [{log: "steps\(version)", if: task.state == 1}]
        ---
        rule: shadow
        on: task_changed
        mode: shadow
        once: task.id
        do: [{log: "shadow\(version)"}]
        ---
        rule: canary
        on: task_changed
        mode: {canary: 50%}
        throttle: {every: 4m}
        do: [{log: "canary\(version)"}]
        ---
        rule: limited
        on: [task_created, task_changed]
        limit: 2/10m
        do: [{comment: "limited\(version)"}]
        ---
        rule: silenced
        on: [task_created, task_changed]
        do: [{notify: {to: chat, title: "silenced\(version)"}}]
        ---
        rule: quiet
        on: [task_created, task_changed]
        quiet: {hours: "09:10-09:20,09:33-12:00"}
        do: [{notify: {to: chat, title: "quiet\(version)"}}]
        ---
        rule: dropped
        on: [task_created, task_changed]
        quiet: {hours: "09:05-09:15,09:33-09:50", then: drop, except: task.priority == 2}
        do: [{notify: {to: pager, title: "dropped\(version)"}}]
        """
    }

    private static let silence = 12..<22
    private static let quiet = [10..<20, 33..<180]
    private static let dropping = [5..<15, 33..<50]

    static func silences(from start: Timestamp) -> [Silence] {
        [
            Silence(
                when: "task.priority == 1", rules: ["silenced"], starts: start + .seconds(60 * silence.lowerBound),
                ends: start + .seconds(60 * silence.upperBound), reason: "x", by: "ann")
        ]
    }

    private(set) var expected: [[String: Expected]] = []
    /// The changes for which rules ran, by rule and key.
    private var runs: [[String]: TaskChange] = [:]
    /// The minutes of writes to a task.
    private var writes: [String: [Int]] = [:]
    /// The messages that the quiet time holds, and its end.
    private var kept: [(event: Int, until: Int)] = []

    mutating func afterChanges(at now: Int) {
        let released = kept.filter { $0.until <= now }
        for (place, message) in released.enumerated() {
            // Several are coalesced into one message, which belongs to the first of them.
            expected[message.event]["quiet"] = Expected(.ran, deliveries: place == 0 && released.count > 1 ? 2 : 1)
        }
        kept.removeAll { $0.until <= now }
    }

    mutating func apply(_ event: TaskChange) {
        var expected: [String: Expected] = [:]
        let (fits, fields) = (event.isCreatedOrChanged, event.fields)
        func when(_ fits: Bool, _ verdict: Expected) -> Expected { fits ? verdict : Expected(.type, "`on` does not name") }

        expected["unknown"] = when(
            fits, fields.state.map { $0 < 2 ? Expected(.ran) : Expected(.conditionFalse) } ?? Expected(.conditionUnknown))
        expected["failed"] = when(
            fits,
            fields.state.map {
                $0 == 0 ? Expected(.conditionFailed, "by zero") : 6 / $0 > 2 ? Expected(.ran) : Expected(.conditionFalse)
            } ?? Expected(.conditionUnknown))
        expected["elsewhere"] = when(
            fits, event.source == "elsewhere" ? Expected(.ran) : Expected(.source, "does not name the source `my-work`"))
        let isNewlyFirst = fields.priority == 1 && event.before?.priority != 1
        expected["field"] = when(event.kind == .changed, isNewlyFirst ? Expected(.ran) : Expected(.field))
        expected["disabled"] = Expected(.off)
        expected["once"] = when(event.kind != .removed, once("once", event.id, event))
        expected["throttled"] = when(
            fits, fields.state.map { throttle("throttled", String($0), 5, event) } ?? Expected(.keyFailed, "`by` has no value"))
        expected["both"] = both(event)
        expected["steps"] = when(fits, Expected(.ran, deliveries: fields.state == 1 ? 1 : 0))
        var shadow = when(event.kind == .changed, once("shadow", event.id, event))
        if shadow.verdict == .ran { shadow.verdict = .shadow }
        expected["shadow"] = shadow
        expected["canary"] = when(event.kind == .changed, canary(event))
        expected["limited"] = when(fits, limited(event))
        let isSilenced = Self.silence.contains(event.minute) && fields.priority == 1
        expected["silenced"] = when(fits, Expected(isSilenced ? .silenced : .ran, deliveries: 1))
        expected["quiet"] = when(fits, quiet(event))
        let isDropped = Self.dropping.contains { $0.contains(event.minute) } && fields.priority == 1
        expected["dropped"] = when(fits, Expected(isDropped ? .quiet : .ran, deliveries: 1, isDropped ? "dropped" : ""))
        self.expected.append(expected)
    }

    /// Ran, if the rule has not run for the key. The run is not recorded if the event does not fit.
    private mutating func once(_ rule: String, _ key: String, _ event: TaskChange) -> Expected {
        if event.kind == .removed || rule == "shadow" && event.kind != .changed { return Expected(.type) }
        if let earlier = runs[[rule, key]] { return Expected(.once, names: earlier.number, "\"\(key)\"") }
        runs[[rule, key]] = event
        return Expected(.ran)
    }

    private mutating func throttle(_ rule: String, _ key: String, _ minutes: Int, _ event: TaskChange) -> Expected {
        guard event.isCreatedOrChanged else { return Expected(.type) }
        if let earlier = runs[[rule, key]], event.minute < earlier.minute + minutes {
            return Expected(.throttled, names: earlier.number, "less than \(minutes)m before")
        }
        runs[[rule, key]] = event
        return Expected(.ran)
    }

    /// `throttle` is evaluated first; a run that `once` stops does not count for `throttle`.
    private mutating func both(_ event: TaskChange) -> Expected {
        if event.kind == .returned { return Expected(.type) }
        if event.fields.priority != 1 { return Expected(.conditionFalse) }
        if let earlier = runs[["both", "throttle"]], event.minute < earlier.minute + 3 {
            return Expected(.throttled, names: earlier.number)
        }
        let key = event.id + String(event.fields.state == 1)
        if let earlier = runs[["both", "once", key]] { return Expected(.once, names: earlier.number, "\"\(key)\"") }
        runs[["both", "throttle"]] = event
        runs[["both", "once", key]] = event
        return Expected(.ran, deliveries: event.fields.state == 1 ? 2 : 1)
    }

    /// Live runs and recorded runs have separate throttles.
    private mutating func canary(_ event: TaskChange) -> Expected {
        guard event.kind == .changed else { return Expected(.type) }
        let isLive = Canary(percent: 50).includes(event.id, of: "canary")
        var expected = throttle("canary", String(isLive), 4, event)
        if expected.verdict == .ran, !isLive { expected.verdict = .canary }
        return expected
    }

    private mutating func limited(_ event: TaskChange) -> Expected {
        guard event.isCreatedOrChanged else { return Expected(.type) }
        // Both sources read the same system, where a task is the same one.
        let within = writes[event.id, default: []].filter { event.minute < $0 + 10 }
        writes[event.id] = within.count < 2 ? within + [event.minute] : within
        return Expected(within.count < 2 ? .ran : .budget, deliveries: 1)
    }

    private mutating func quiet(_ event: TaskChange) -> Expected {
        guard event.isCreatedOrChanged, let end = Self.quiet.first(where: { $0.contains(event.minute) })?.upperBound else {
            return Expected(.ran)
        }
        kept.append((event.number, end))
        return Expected(.quiet, deliveries: 1)
    }
}
