import BellhopCore
import BellhopTesting

/// What tasks there are and what an observer must have been told of them: the simple model that the engine is held against.
struct World {
    /// The tasks as they are.
    private(set) var tasks: [String: Snapshot] = [:]
    /// The tasks as they were when a poll was last kept; nil before the baseline.
    private var seen: [String: Snapshot]?
    private var departed: Set<String> = []
    /// What must have been told of each task, in order.
    private(set) var told: [String: [String]] = [:]
    private var version = 0

    private static let keys = (0..<7).map { "k\($0)" }

    /// Lets something happen: a task comes, changes where the listing shows it or where it does not, is merely touched, or goes.
    mutating func happen(_ random: inout SeededRandom) {
        guard let key = Self.keys.randomElement(using: &random) else { return }
        version += 1
        guard var task = tasks[key] else {
            tasks[key] = make(key, title: "title \(version)")
            return
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: task.title = "title \(version)"
        case 2: task.fields["priority"] = .int(Int64(version))
        case 3:
            task.title = "title \(version)"
            task.fields["priority"] = .int(Int64(version))
        case 4: task.fields["sys_mod_count"] = .int(Int64(version))
        default:
            tasks[key] = nil
            return
        }
        tasks[key] = task
    }

    /// Notes that a poll was kept that saw the tasks as they are.
    mutating func look() {
        defer { seen = tasks }
        guard let seen else { return }
        for (key, task) in tasks {
            if let before = seen[key] {
                if before.title != task.title || before.fields["priority"] != task.fields["priority"] {
                    tell(key, "task_changed", task)
                }
            } else {
                tell(key, departed.remove(key) == nil ? "task_created" : "task_returned", task)
            }
        }
        for (key, task) in seen where tasks[key] == nil {
            departed.insert(key)
            tell(key, "task_removed", task)
        }
    }

    /// Notes that a poll was kept whose list was empty: it saw of known tasks alone whether they are there.
    mutating func lookAtRecords() {
        for (key, task) in seen ?? [:] where tasks[key] == nil {
            seen?[key] = nil
            departed.insert(key)
            tell(key, "task_removed", task)
        }
        seen = seen ?? [:]
    }

    private mutating func tell(_ key: String, _ type: String, _ task: Snapshot) {
        told[key, default: []].append(Self.line(type, task))
    }

    private func make(_ key: String, title: String) -> Snapshot {
        // Made after whatever list was empty before it.
        task(key, title, ["priority": 3, "sys_mod_count": 0, "created": "2100-01-01T00:00:00Z"])
    }

    static func line(_ type: String, _ task: Snapshot) -> String {
        "\(type) \(task.key.text) \(task.title) \(task.fields["priority"]?.text ?? "")"
    }

    /// The rule that tells of everything, as `line` does.
    static let rule = """
        rule: tell
        on: [task_created, task_changed, task_returned, task_removed]
        do: [{log: "${{ event.type }} ${{ task.id }} ${{ task.title }} ${{ task.priority }}"}]
        """
}
