/// The tasks that a source had at its last poll: 56 bytes each, and an index of eight bytes a slot.
///
/// They stand in the order in which they came, which is mostly that of the answers, so that comparing hardly needs the index.
public struct KnownTasks: Sendable {
    private var tasks: [KnownTask] = []
    private var index = KeyIndex()

    /// No tasks.
    public init() {}

    /// These tasks; of two with one key the last.
    public init(_ tasks: some Collection<KnownTask>) {
        reserveCapacity(tasks.count)
        for task in tasks { set(task) }
    }

    /// Makes room for this many tasks.
    public mutating func reserveCapacity(_ count: Int) {
        tasks.reserveCapacity(count)
        index.reserveCapacity(count)
    }

    /// The task with this key.
    public subscript(key: TaskKey) -> KnownTask? { place(of: key).map { tasks[$0] } }

    /// Remembers a task, in the place of the one with its key if there is one.
    public mutating func set(_ task: KnownTask) {
        let present = index.insert(task.key.hash(index.seed), at: tasks.count, unless: { tasks[$0].key == task.key })
        if let present { tasks[present] = task } else { tasks.append(task) }
    }

    /// Forgets a task; false when it was not known. The last task takes its place.
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

    /// Forgets tasks. When they are many, the others keep their order.
    public mutating func remove(_ keys: some Collection<TaskKey>) {
        guard keys.count > tasks.count / 256 else {
            for key in keys { remove(key) }
            return
        }
        let leaving = Set(keys)
        self = KnownTasks(tasks.filter { !leaving.contains($0.key) })
    }

    /// The keys of tasks whose details were last read before `time` or never, the longest ago first, at most `limit` of them.
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
