import BellhopCore

/// A model of rules with schedules, lists, `existing`, `once`, `throttle` or a canary, written from the documentation of the format,
/// not from the program.
///
/// Each rule logs its letter and the ids of its tasks. A poll shows at most one change.
struct ScheduleModel {
    enum Kind: String {
        case created = "task_created"
        case changed = "task_changed"
        case removed = "task_removed"
        case returned = "task_returned"
    }

    struct Change {
        var kind: Kind
        var id: String
        /// For a removed task, its last known one.
        var priority: Int
    }

    /// The last known priorities of the tasks.
    private(set) var tasks: [String: Int]
    var log: [String] = []
    var lists = ScheduleLists()
    var events = ScheduleEvents()
    private var removed: Set<String> = []
    /// The time of the first of the latest failed polls in a row.
    private var failingSince: Int?
    var isFailing: Bool { failingSince != nil }

    init(_ tasks: [String: Int]) {
        self.tasks = tasks
        events.load(tasks, at: 0)
    }

    /// Loads a changed rule. Its effects come with the next poll.
    mutating func load(_ writing: ScheduleRules.Change, at now: Int) {
        switch writing {
        case .action: return
        case .condition(let letter):
            if letter == "v" { lists.forgetWaits() }
            if letter == "i" { events.load(tasks, at: now) }
        case .absence(let letter):
            removed.insert(letter)
            if letter == "v" { lists.forgetWaits() }
            if letter == "i" { events.forget() }
        case .presence(let letter):
            removed.remove(letter)
            if letter == "v" { lists.load(at: now) }
            if letter == "i" { events.load(tasks, at: now) }
        }
    }

    /// The agent starts, polls its source and fires due timers. Timers of this very moment come before the polled change; timers that
    /// came due during downtime come after it.
    mutating func poll(at now: Int, _ change: Change?) {
        failingSince = nil
        lists.correctFutureTimes(to: now)
        let before = tasks
        log += events.fire(before) { $0 == now }
        if !removed.contains("v") { log += lists.fire(before) { $0 == now } }
        log += lists.run(before, at: now, without: removed) { $0 == now }
        if let change {
            tasks[change.id] = change.kind == .removed ? nil : change.priority
            lists.apply(change)
            log += events.apply(change, at: now, without: removed)
        }
        log += events.fire(tasks) { $0 <= now }
        if !removed.contains("v") { log += lists.fire(tasks) { $0 <= now } }
        log += lists.run(tasks, at: now, without: removed) { $0 < now }
        // The polled change is on the bus before the schedule's event.
        log += lists.digest(at: now)
    }

    /// The agent starts, and its source fails. Waits are delayed for 15 minutes of failures, schedules are not.
    mutating func fail(at now: Int) {
        let since = failingSince ?? now
        failingSince = since
        lists.correctFutureTimes(to: now)
        if now >= since + 15 {
            log += events.fire(tasks) { $0 <= now }
            if !removed.contains("v") { log += lists.fire(tasks) { $0 <= now } }
        }
        log += lists.run(tasks, at: now, without: removed) { $0 <= now }
        log += lists.digest(at: now)
    }
}
