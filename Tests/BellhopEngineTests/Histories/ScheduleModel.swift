import BellhopCore

/// What rules with schedules and lists, with `existing`, `once`, `throttle` and a share of the tasks must do, written from what the
/// format and the guide say of them, not from the program.
///
/// Each rule logs its letter and the ids of its tasks. A look at the source shows at most one change.
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
        /// For a removed task as it was last seen.
        var priority: Int
    }

    /// The tasks' priorities as they were last seen.
    private(set) var tasks: [String: Int]
    var log: [String] = []
    var lists = ScheduleLists()
    var events = ScheduleEvents()
    private var removed: Set<String> = []
    /// When the source failed first, of the latest looks in a row.
    private var failingSince: Int?
    var isFailing: Bool { failingSince != nil }

    init(_ tasks: [String: Int]) {
        self.tasks = tasks
        events.load(tasks, at: 0)
    }

    /// A new text of a rule takes effect; what follows from it happens with the next look.
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

    /// The agent starts, looks at its source, and does what is due. What is due at this very moment comes before the change that the look
    /// shows; what came due while nobody looked comes after it.
    mutating func poll(at now: Int, _ change: Change?) {
        failingSince = nil
        lists.bringForward(to: now)
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
        // What the look has shown is on the bus before the schedule's event.
        log += lists.tell(at: now)
    }

    /// The agent starts, and its source fails. Rules that wait are kept back for a quarter of an hour of failures, schedules are not.
    mutating func fail(at now: Int) {
        let since = failingSince ?? now
        failingSince = since
        lists.bringForward(to: now)
        if now >= since + 15 {
            log += events.fire(tasks) { $0 <= now }
            if !removed.contains("v") { log += lists.fire(tasks) { $0 <= now } }
        }
        log += lists.run(tasks, at: now, without: removed) { $0 <= now }
        log += lists.tell(at: now)
    }
}
