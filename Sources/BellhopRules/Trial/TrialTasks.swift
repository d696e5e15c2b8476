import BellhopCore

/// The tasks of a trial by scope, as its sources show them.
struct TrialTasks: Sendable {
    /// The tasks of the scopes whose lists rules read, in the order of each list.
    private(set) var lists: [Scope.ID: [Snapshot]] = [:]
    /// A number for each task in ``lists``, which stays the same when other tasks leave: with ``order``, it finds the task's place
    /// without a search through the list.
    private var slots: [Scope.ID: [TaskKey: Int]] = [:]
    /// The numbers of the tasks of each list, in its order.
    private var order: [Scope.ID: [Int]] = [:]
    private let listed: Set<Scope.ID>
    private var present: [Scope.ID: [TaskKey: Snapshot]] = [:]
    private var departed: [Scope.ID: TrialDepartures] = [:]

    /// - Parameter listed: the scopes whose lists rules read.
    init(listed: Set<Scope.ID>) {
        self.listed = listed
        for scope in listed { lists[scope] = [] }
    }

    /// Whether rules read the list of the scope.
    func isListed(_ scope: Scope.ID) -> Bool { listed.contains(scope) }

    var count: Int { present.values.map(\.count).reduce(0, +) }

    subscript(scope: Scope.ID, key: TaskKey) -> Snapshot? { present[scope]?[key] }

    /// A task that is present or has left; if it has left, also why.
    func remembered(_ key: TaskKey, in scope: Scope.ID, at now: Timestamp) -> RememberedTask? {
        if let task = present[scope]?[key] { return RememberedTask(snapshot: task, generation: 0) }
        return departed[scope]?[key].map {
            RememberedTask(snapshot: $0.task, generation: 0, removed: now, reason: $0.reason)
        }
    }

    /// The tasks with these keys: those that are present, and those that left.
    func find(
        _ wanted: [Scope.ID: Set<TaskKey>]
    ) -> (present: [Scope.ID: [TaskKey: Snapshot]], departed: [Scope.ID: [TaskKey: Snapshot]]) {
        var (found, gone): ([Scope.ID: [TaskKey: Snapshot]], [Scope.ID: [TaskKey: Snapshot]]) = ([:], [:])
        for (scope, keys) in wanted {
            for key in keys {
                if let task = present[scope]?[key] {
                    found[scope, default: [:]][key] = task
                } else if let departure = departed[scope]?[key] {
                    gone[scope, default: [:]][key] = departure.task
                }
            }
        }
        return (found, gone)
    }

    mutating func set(_ list: [Snapshot], of scope: Scope.ID) {
        lists[scope] = list
        slots[scope] = Dictionary(list.enumerated().map { ($1.key, $0) }) { first, _ in first }
        order[scope] = Array(list.indices)
        present[scope] = Dictionary(list.map { ($0.key, $0) }) { first, _ in first }
    }

    /// Makes the tasks of a scope unknown, as they are before the first poll of its source.
    mutating func forgetList(of scope: Scope.ID) { lists[scope] = nil }

    /// Adds a task at the end of its list, or replaces it where it is.
    mutating func add(_ task: Snapshot, to scope: Scope.ID) {
        if present[scope, default: [:]].updateValue(task, forKey: task.key) == nil { departed[scope]?.remove(task.key) }
        guard listed.contains(scope) else { return }
        if let slot = slots[scope]?[task.key], let place = order[scope]?.place(of: slot) {
            lists[scope]?[place] = task
        } else {
            let slot = (order[scope]?.last ?? -1) + 1
            slots[scope, default: [:]][task.key] = slot
            order[scope, default: []].append(slot)
            lists[scope, default: []].append(task)
        }
    }

    mutating func remove(_ task: Snapshot, _ reason: RemovalReason?, from scope: Scope.ID) {
        departed[scope, default: TrialDepartures()].add(task, reason)
        present[scope]?[task.key] = nil
        if let slot = slots[scope]?.removeValue(forKey: task.key), let place = order[scope]?.place(of: slot) {
            order[scope]?.remove(at: place)
            lists[scope]?.remove(at: place)
        }
    }

    /// Forgets the tasks that are in no list, except those with these keys.
    mutating func forget(except keys: Set<TaskKey>) {
        for scope in Array(present.keys) where !listed.contains(scope) {
            present[scope] = present[scope]?.filter { keys.contains($0.key) }
        }
    }
}

/// The tasks that left a scope in a trial, at least the latest of them.
struct TrialDepartures {
    /// At least this many of the latest departures are kept, and at most twice as many.
    private let most: Int
    private var (recent, older): ([TaskKey: Departure], [TaskKey: Departure]) = ([:], [:])

    struct Departure {
        var task: Snapshot
        var reason: RemovalReason?
    }

    init(most: Int = 50_000) { self.most = most }

    subscript(key: TaskKey) -> Departure? { recent[key] ?? older[key] }

    mutating func add(_ task: Snapshot, _ reason: RemovalReason?) {
        recent[task.key] = Departure(task: task, reason: reason)
        if recent.count > most { (recent, older) = ([:], recent) }
    }

    mutating func remove(_ key: TaskKey) {
        recent[key] = nil
        older[key] = nil
    }
}

extension [Int] {
    /// The index of a number in this ascending list; nil if it is not in the list.
    fileprivate func place(of number: Int) -> Int? {
        let index = partitioningIndex { $0 >= number }
        return index < count && self[index] == number ? index : nil
    }
}
