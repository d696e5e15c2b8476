import BellhopCore
import BellhopTesting
import Simulator

@testable import BellhopConnectors

/// The content of a simulated table under random changes, and the state that a poller must know.
///
/// Each change gives its row the next version as its title, in the order of commits.
struct TableWorld {
    let instance: SimulatedInstance
    private var random: SeededRandom
    private(set) var version = 0
    /// Rows whose latest change has a timestamp, so that a window must contain it.
    private(set) var stamped: Set<String> = []
    /// All rows changed since `beginPoll`.
    private(set) var touched: Set<String> = []
    private var hidden: Set<String> = []
    /// The longest delay of a commit before the first poll.
    private let longestDelay: Int64
    /// The earliest possible timestamp of a transaction committed now: the start of the next window. Nil before the first poll.
    var earliest: Timestamp?
    /// The distance of a window's end from the current time.
    private let lag: Int64

    static let query = "active=true^priority=1^NQactive=true^state=2^priorityIN2,3"
    private static let maximumRows = 14

    init(_ instance: SimulatedInstance, seed: UInt64, times: TableTimes) {
        self.instance = instance
        longestDelay = times.overlap.components.seconds
        lag = times.lag.components.seconds
        random = SeededRandom(seed: seed)
        for _ in 0..<Int.random(in: 0...10, using: &random) { create() }
        touched = []
    }

    mutating func beginPoll() { touched = [] }

    /// The rows that the query matches and the account may see, with their versions and times.
    var rows: [String: (version: String, time: String)] {
        var rows: [String: (version: String, time: String)] = [:]
        for task in instance.tasks where !hidden.contains(task.id) && Self.matchesQuery(task) {
            rows[task.id] = (task.title, task["sys_updated_on"])
        }
        return rows
    }

    private static func matchesQuery(_ task: SimulatedTask) -> Bool {
        guard task["active"] == "true" else { return false }
        return task["priority"] == "1" || task["state"] == "2" && ["2", "3"].contains(task["priority"])
    }

    private mutating func nextVersion() -> String {
        version += 1
        return "v\(version)"
    }

    private mutating func create() {
        let task = instance.addTask(
            title: nextVersion(), priority: Int.random(in: 1...3, using: &random), fields: ["state": random.oneIn(2) ? "1" : "2"])
        stamped.insert(task.id)
        touched.insert(task.id)
    }

    mutating func changeRandomRow() {
        let tasks = instance.tasks
        guard let task = tasks.randomElement(using: &random), !(tasks.count < Self.maximumRows && random.oneIn(4)) else {
            return create()
        }
        touched.insert(task.id)
        var values = ["short_description": nextVersion()]
        if random.oneIn(4) { values["priority"] = String(Int.random(in: 1...4, using: &random)) }
        if random.oneIn(6) { values["state"] = String(Int.random(in: 1...2, using: &random)) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3:
            instance.updateTask(task.id, set: values)
            stamped.insert(task.id)
        case 4...6:
            values["sys_updated_on"] = lateStamp()
            values["sys_mod_count"] = String(task.updates + 1)
            instance.setTask(task.id, to: values)
            stamped.insert(task.id)
        case 7:
            instance.setTask(task.id, to: values)
            stamped.remove(task.id)
        case 8: instance.deleteTask(task.id)
        default:
            if hidden.remove(task.id) == nil { hidden.insert(task.id) }
            // A row that becomes visible appears as a change without a new timestamp.
            stamped.remove(task.id)
            let hidden = hidden
            instance.changeUser("john.doe") { $0.hiddenTasks = hidden }
        }
    }

    /// The timestamp of a transaction committed only now: often at the start or end of a window, or equal to that of another row.
    private mutating func lateStamp() -> String {
        let now = instance.time / 1_000_000
        let first = min(earliest?.seconds ?? now - longestDelay, now)
        let others = instance.tasks.compactMap { Timestamp(sql: $0["sys_updated_on"])?.seconds }
        let second =
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1: first
            case 2: min(first + 1, now)
            case 3: max(first, now - lag)
            case 4, 5: others.filter { $0 >= first && $0 <= now }.randomElement(using: &random) ?? now
            default: Int64.random(in: first...now, using: &random)
            }
        return Timestamp(seconds: second).sql
    }
}
