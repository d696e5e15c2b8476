import BellhopCore
import BellhopRules

/// Rules with schedules, with and without a list. The history starts on the hour.
struct ScheduleExplanationModel: ExplanationModel {
    static func rules(_ version: Int) -> String {
        """
        rule: every
        on: {every: 5m}
        do: [{log: "every\(version)"}]
        ---
        rule: cron
        on: {schedule: "*/4 * * * *", missed: skip}
        when: event.data.missed == 0
        do: [{log: "cron\(version)"}]
        ---
        rule: all
        on: {schedule: "*/3 * * * *", missed: all}
        throttle: {every: 5m}
        do: [{log: "all\(version)"}]
        ---
        rule: list
        on: {schedule: "*/6 * * * *"}
        each: tasks.filter(t, t.priority == 1)
        do: [{log: "list\(version)"}]
        ---
        rule: once
        on: {every: 7m}
        each: tasks.filter(t, t.priority == 1)
        once: task.id
        do: [{log: "once\(version)"}]
        """
    }

    static let own: EventType? = .scheduleDue

    private(set) var expected: [[String: Expected]] = []
    /// Sorted by schedule, because the order of different schedules after downtime is not compared.
    var expectedOfOwn: [[String: Expected]] { Self.schedules.sorted().flatMap { expectedOf[$0] ?? [] } }
    private var expectedOf: [String: [[String: Expected]]] = [:]
    private var tasks: [String: Int] = [:]
    private var due = ["every": 5, "cron": 4, "all": 3, "list": 6, "once": 7]
    private var every = ["every": 5, "cron": 4, "all": 3, "list": 6, "once": 7]
    private var lastOfAll: Int?
    private var seen: Set<String> = []
    private static let schedules = ["every", "cron", "all", "list", "once"]

    /// Schedules come before the polled changes, except those that read tasks and came due during downtime.
    mutating func beforeChanges(at now: Int) { fire(at: now) { $0 == now || !["list", "once"].contains($1) && $0 <= now } }

    mutating func afterChanges(at now: Int) { fire(at: now) { due, _ in due <= now } }

    mutating func apply(_ event: TaskChange) {
        tasks[event.id] = event.kind == .removed ? nil : event.fields.priority
        expected.append(Dictionary(uniqueKeysWithValues: Self.schedules.map { ($0, Expected(.type)) }))
    }

    private mutating func fire(at now: Int, _ isDue: (Int, String) -> Bool) {
        // Timers fire in the order of their due times, those of one time in the order of the rules.
        var firing: [(due: Int, rule: Int)] = []
        for (place, name) in Self.schedules.enumerated() {
            if let due = due[name], isDue(due, name) { firing.append((due, place)) }
        }
        var events: [String] = []
        for one in firing.sorted(by: { ($0.due, $0.rule) < ($1.due, $1.rule) }) {
            let name = Self.schedules[one.rule]
            guard let every = every[name] else { continue }
            let times = Array(stride(from: one.due, through: now, by: every))
            due[name] = one.due + times.count * every
            switch name {
            case "all": events += times.map { _ in name }
            // A time that is more than a minute old counts as missed and is skipped.
            case "cron": events += now - (times.last ?? 0) <= 1 ? [name] : []
            default: events.append(name)
            }
        }
        for name in events { come(name, at: now) }
    }

    private mutating func come(_ schedule: String, at now: Int) {
        var expected = Dictionary(
            uniqueKeysWithValues: Self.schedules.map { ($0, Expected(.source, "the schedule of another rule")) })
        let urgent = tasks.filter { $0.value == 1 }.keys
        switch schedule {
        case "every": expected["every"] = Expected(.ran)
        case "cron": expected["cron"] = Expected(.ran)
        case "all":
            let isThrottled = lastOfAll.map { now < $0 + 5 } ?? false
            if !isThrottled { lastOfAll = now }
            expected["all"] = Expected(isThrottled ? .throttled : .ran)
        case "list": expected["list"] = Expected(.ran, deliveries: urgent.count)
        default:
            let new = urgent.filter { seen.insert($0).inserted }
            expected["once"] = Expected(new.isEmpty && !urgent.isEmpty ? .once : .ran, deliveries: new.count)
        }
        expectedOf[schedule, default: []].append(expected)
    }
}
