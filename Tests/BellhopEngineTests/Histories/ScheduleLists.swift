/// The rules with schedules: `v` waits with each urgent task, `u` runs once for each, `y` at most every nine minutes, and `l` is a
/// digest.
struct ScheduleLists {
    private struct Wait {
        var due: Int
        var hasRun = false
    }

    /// The next due time and the interval of each rule.
    private var schedules = ["v": (due: 5, every: 5), "u": (due: 3, every: 3), "y": (due: 4, every: 4), "l": (due: 7, every: 7)]
    /// The times at which each rule was due: they are not due again after the clock was set back.
    private var times: [String: Set<Int>] = [:]
    private var waits: [String: Wait] = [:]
    private var once: Set<String> = []
    private var latest: [String: Int] = [:]
    private var undigested: [String] = []

    /// `v` is added again: its interval counts from its loading.
    mutating func load(at now: Int) { schedules["v"]?.due = now + 5 }

    mutating func forgetWaits() { waits = [:] }

    /// The clock may have been set back: a schedule is due at the latest after its interval.
    mutating func correctFutureTimes(to now: Int) {
        for (rule, schedule) in schedules { schedules[rule]?.due = min(schedule.due, now + schedule.every) }
    }

    mutating func apply(_ change: ScheduleModel.Change) { undigested.append("\(change.kind.rawValue) \(change.id)") }

    /// Ends the due waits of elements that are still in the list.
    mutating func fire(_ tasks: [String: Int], _ isDue: (Int) -> Bool) -> [String] {
        var log: [String] = []
        for (id, wait) in waits where !wait.hasRun && isDue(wait.due) {
            if tasks[id] == 1 {
                waits[id]?.hasRun = true
                log.append("v \(id)")
            } else {
                // It may begin again.
                waits[id] = nil
            }
        }
        return log
    }

    /// Runs the rules whose schedules are due. Missed times make one run.
    mutating func run(_ tasks: [String: Int], at now: Int, without removed: Set<String>, _ isDue: (Int) -> Bool) -> [String] {
        var log: [String] = []
        let urgent = Set(tasks.filter { $0.value == 1 }.keys)
        for rule in ["v", "u", "y"] where !removed.contains(rule) && take(rule, at: now, isDue) {
            switch rule {
            case "v":
                waits = waits.filter { urgent.contains($0.key) }
                for id in urgent where waits[id] == nil { waits[id] = Wait(due: now + 7) }
            case "u": log += urgent.filter { once.insert($0).inserted }.map { "u \($0)" }
            default:
                for id in urgent where latest[id].map({ now >= $0 + 9 || now < $0 }) ?? true {
                    latest[id] = now
                    log.append("y \(id)")
                }
            }
        }
        return log
    }

    /// Runs the digest of the changes since the last one, if it is due.
    mutating func digest(at now: Int) -> [String] {
        guard take("l", at: now, { $0 <= now }), !undigested.isEmpty else { return [] }
        defer { undigested = [] }
        return ["l " + undigested.joined(separator: " ")]
    }

    private mutating func take(_ rule: String, at now: Int, _ isDue: (Int) -> Bool) -> Bool {
        guard var schedule = schedules[rule], isDue(schedule.due) else { return false }
        while schedule.due <= now { schedule.due += schedule.every }
        schedules[rule] = schedule
        return times[rule, default: []].insert(schedule.due - schedule.every).inserted
    }
}
