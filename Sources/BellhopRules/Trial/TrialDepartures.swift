import BellhopCore

/// The tasks that left a scope in a trial, at least the latest of them.
struct TrialDepartures {
    /// How many of the latest are known for certain; at most twice as many are kept.
    private let most: Int
    private var (young, old): ([TaskKey: Departure], [TaskKey: Departure]) = ([:], [:])

    struct Departure {
        var task: Snapshot
        var reason: RemovalReason?
    }

    init(most: Int = 50_000) { self.most = most }

    subscript(key: TaskKey) -> Departure? { young[key] ?? old[key] }

    mutating func add(_ task: Snapshot, _ reason: RemovalReason?) {
        young[task.key] = Departure(task: task, reason: reason)
        if young.count > most { (young, old) = ([:], young) }
    }

    mutating func remove(_ key: TaskKey) {
        young[key] = nil
        old[key] = nil
    }
}
