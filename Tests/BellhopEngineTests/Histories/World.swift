import BellhopCore
import BellhopTesting

/// A simple model that the engine is compared with: the tasks, and the events that must have been reported.
struct World {
    private(set) var tasks: [String: Snapshot] = [:]
    /// The tasks at the last committed poll; nil before the baseline.
    private var seen: [String: Snapshot]?
    private var departed: Set<String> = []
    /// The events that must have been reported for each task, in order.
    private(set) var reported: [String: [String]] = [:]
    private var version = 0

    private static let keys = (0..<7).map { "k\($0)" }

    /// Makes a random change: a task appears, changes in the listing or only in its details, is touched, or leaves.
    mutating func changeRandomTask(_ random: inout SeededRandom) {
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

    /// Notes a committed poll that saw the tasks as they are.
    mutating func notePoll() {
        defer { seen = tasks }
        guard let seen else { return }
        for (key, task) in tasks {
            if let before = seen[key] {
                if before.title != task.title || before.fields["priority"] != task.fields["priority"] {
                    report(key, "task_changed", task)
                }
            } else {
                report(key, departed.remove(key) == nil ? "task_created" : "task_returned", task)
            }
        }
        for (key, task) in seen where tasks[key] == nil {
            departed.insert(key)
            report(key, "task_removed", task)
        }
    }

    /// Notes a committed poll with a falsely empty list, which shows only which known tasks left.
    mutating func noteEmptyPoll() {
        for (key, task) in seen ?? [:] where tasks[key] == nil {
            seen?[key] = nil
            departed.insert(key)
            report(key, "task_removed", task)
        }
        seen = seen ?? [:]
    }

    private mutating func report(_ key: String, _ type: String, _ task: Snapshot) {
        reported[key, default: []].append(Self.line(type, task))
    }

    private func make(_ key: String, title: String) -> Snapshot {
        // Created after any list that was empty before it.
        task(key, title, ["priority": 3, "sys_mod_count": 0, "created": "2100-01-01T00:00:00Z"])
    }

    static func line(_ type: String, _ task: Snapshot) -> String {
        "\(type) \(task.key.text) \(task.title) \(task.fields["priority"]?.text ?? "")"
    }

    /// A rule that reports every event, in the form of `line`.
    static let rule = """
        rule: tell
        on: [task_created, task_changed, task_returned, task_removed]
        do: [{log: "${{ event.type }} ${{ task.id }} ${{ task.title }} ${{ task.priority }}"}]
        """
}
