/// The tasks of a source at its last poll: 56 bytes each, and an index with eight bytes per slot.
///
/// They are in order of arrival, mostly the order of the answers, so that comparing rarely needs the index.
public struct KnownTasks: Sendable {
    private var tasks: [KnownTask] = []
    private var index = KeyIndex()

    public init() {}

    /// These tasks; of duplicate keys the last.
    public init(_ tasks: some Collection<KnownTask>) {
        reserveCapacity(tasks.count)
        for task in tasks { set(task) }
    }

    /// Makes room for this many tasks.
    public mutating func reserveCapacity(_ count: Int) {
        tasks.reserveCapacity(count)
        index.reserveCapacity(count)
    }

    public subscript(key: TaskKey) -> KnownTask? { place(of: key).map { tasks[$0] } }

    /// Adds a task, or replaces the one with its key.
    public mutating func set(_ task: KnownTask) {
        let present = index.insert(task.key.hash(index.seed), at: tasks.count, unless: { tasks[$0].key == task.key })
        if let present { tasks[present] = task } else { tasks.append(task) }
    }

    /// Removes a task; false if it was not known. The last task takes its position.
    @discardableResult
    public mutating func remove(_ key: TaskKey) -> Bool {
        guard let place = place(of: key) else { return false }
        index.remove(key.hash(index.seed), at: place)
        let last = tasks.removeLast()
        if last.key != key {
            index.move(last.key.hash(index.seed), from: tasks.count, to: place)
            tasks[place] = last
        }
        return true
    }

    /// Removes tasks. If they are many, the others keep their order.
    public mutating func remove(_ keys: some Collection<TaskKey>) {
        guard keys.count > tasks.count / 256 else {
            for key in keys { remove(key) }
            return
        }
        let leaving = Set(keys)
        self = KnownTasks(tasks.filter { !leaving.contains($0.key) })
    }

    /// The keys of tasks whose details were last read before `time` or never, the oldest first, at most `limit`.
    public func stale(before time: Timestamp, limit: Int = .max) -> [TaskKey] {
        let stale = tasks.filter { ($0.refreshed ?? .distantPast) < time }
        return stale.sorted { ($0.refreshed ?? .distantPast) < ($1.refreshed ?? .distantPast) }.prefix(limit).map(\.key)
    }

    @inline(__always)
    func place(of key: TaskKey) -> Int? { index.find(key.hash(index.seed)) { tasks[$0].key == key } }
}

extension KnownTasks: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { tasks.count }
    public subscript(position: Int) -> KnownTask { tasks[position] }
}
