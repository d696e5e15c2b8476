public import BellhopCore

/// Tasks as they were before certain events.
public struct TasksBefore: Sendable {
    /// The earlier state of each task that the events changed; nil for a task that did not exist.
    private var tasks: [Scope.ID: [TaskKey: Snapshot?]] = [:]

    public init() {}

    /// The tasks of a scope that the events changed.
    public subscript(scope: Scope.ID) -> [TaskKey: Snapshot?]? { tasks[scope] }

    /// Adds later events. A task is as it was before the first event that changed it.
    public mutating func add(_ events: [StoredEvent], by book: RuleBook) {
        for stored in events {
            let event = stored.event
            guard let task = event.task, let scope = book.scope(of: event.source),
                tasks[scope]?.keys.contains(task.key) != true
            else { continue }
            switch event.type {
            case .taskCreated, .taskReturned: tasks[scope, default: [:]].updateValue(nil, forKey: task.key)
            case .taskRemoved: tasks[scope, default: [:]].updateValue(task, forKey: task.key)
            default:
                guard let before = event.data[.before].flatMap(Snapshot.init(json:)) else { continue }
                tasks[scope, default: [:]].updateValue(before, forKey: task.key)
            }
        }
    }

    /// All tasks of a scope in their earlier state. Those that have left since are last.
    public func list(_ present: [Snapshot], of scope: Scope.ID) -> [Snapshot] {
        guard let changed = tasks[scope] else { return present }
        var known: Set<TaskKey> = []
        var list = present.compactMap { task in
            known.insert(task.key)
            return changed[task.key] ?? task
        }
        list += changed.filter { !known.contains($0.key) }.values.compactMap(\.self).sorted { $0.key.text < $1.key.text }
        return list
    }
}
