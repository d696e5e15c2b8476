import BellhopCore

/// The rules for events: `i` waits with urgent tasks, also with known ones, `o` runs once for each new task, `w` at most every five
/// minutes for each priority, and `k` is a canary. An earlier run that lies in the future, because the clock was set back, throttles
/// nothing.
struct ScheduleEvents {
    private struct Wait {
        var due: Int
        /// Whether the task was known when the rule was loaded, so that no event began the wait.
        var isKnown: Bool
        var hasRun = false
    }

    private var waits: [String: Wait] = [:]
    private var once: Set<String> = []
    private var latest: [Int: Int] = [:]

    /// `i` is loaded, or its condition has changed: the waits of known tasks begin now.
    mutating func load(_ tasks: [String: Int], at now: Int) {
        waits = tasks.filter { $0.value == 1 }.mapValues { _ in Wait(due: now + 4, isKnown: true) }
    }

    mutating func forget() { waits = [:] }

    mutating func fire(_ tasks: [String: Int], _ isDue: (Int) -> Bool) -> [String] {
        var log: [String] = []
        for (id, wait) in waits where !wait.hasRun && isDue(wait.due) {
            waits[id]?.hasRun = true
            log.append("i \(id) \(wait.isKnown ? "known" : "task_changed")")
        }
        return log
    }

    mutating func apply(_ change: ScheduleModel.Change, at now: Int, without removed: Set<String>) -> [String] {
        var log: [String] = []
        let (id, priority) = (change.id, change.priority)
        if change.kind == .removed || priority != 1 {
            waits[id] = nil
        } else if change.kind == .changed, waits[id] == nil, !removed.contains("i") {
            waits[id] = Wait(due: now + 4, isKnown: false)
        }
        switch change.kind {
        case .created, .returned: if once.insert(id).inserted { log.append("o \(id)") }
        case .changed:
            if latest[priority].map({ now >= $0 + 5 || now < $0 }) ?? true {
                latest[priority] = now
                log.append("w \(id)")
            }
            if Canary(percent: 50).includes(id, of: "k") { log.append("k \(id)") }
        case .removed: break
        }
        return log
    }
}
