/// How a listing differs from the known tasks: which records must be read, and which tasks have left.
///
/// A record with different bytes counts as changed, even if only the order of its members differs. Later its details show whether
/// the task has changed.
public struct Comparison: Sendable, Hashable {
    /// The entries of the listing that are not known.
    public var new: [Int] = []
    /// The entries of the listing with a different fingerprint.
    public var changed: [Int] = []
    /// The known tasks that are no longer in the listing, in their known order.
    public var gone: [TaskKey] = []
    public var unchanged = 0

    public init() {}

    /// Whether all tasks are unchanged.
    public var isEmpty: Bool { new.isEmpty && changed.isEmpty && gone.isEmpty }
}

extension KnownTasks {
    /// Compares an answer with the known tasks: a partial answer removes nothing.
    public func compare(with answer: Answer) -> Comparison {
        switch answer.coverage {
        case .whole: compare(with: answer.listing)
        case .part: compare(with: answer.listing, isWhole: false)
        case .same: Comparison()
        }
    }

    /// Compares a listing with the known tasks.
    ///
    /// For each entry, the known task after the last match is tried first; the index is used only if that fails.
    /// - Parameter isWhole: false if an unlisted task may still exist.
    public func compare(with listing: Listing, isWhole: Bool = true) -> Comparison {
        var comparison = Comparison()
        var isListed = [UInt64](repeating: 0, count: isWhole ? (count + 63) / 64 : 0)
        var listed = 0
        var expected = 0  // the next known task in the answer's order
        var displaced = count  // the known task after the latest one that was found out of order
        for place in listing.entries.indices {
            let found: Int?
            if expected < count, self[expected].key == listing.entries[place].key {
                found = expected
                expected += 1
            } else if displaced < count, self[displaced].key == listing.entries[place].key {
                found = displaced
                displaced += 1
            } else {
                found = self.place(of: listing.entries[place].key)
                if let found {
                    // A short jump forward skips tasks that have left; any other jump is a task out of order.
                    if found > expected, found - expected < 64 { expected = found + 1 } else { displaced = found + 1 }
                }
            }
            guard let found else {
                comparison.new.append(place)
                continue
            }
            if isWhole { isListed[found >> 6] |= 1 << UInt64(found & 63) }
            listed += 1
            if self[found].listed == listing.entries[place].fingerprint {
                comparison.unchanged += 1
            } else {
                comparison.changed.append(place)
            }
        }
        if isWhole, listed < count {
            comparison.gone.reserveCapacity(count - listed)
            for place in indices where isListed[place >> 6] & (1 << UInt64(place & 63)) == 0 {
                comparison.gone.append(self[place].key)
            }
        }
        return comparison
    }
}

/// The tasks of a source at its last poll: 56 bytes each, and an index with eight bytes per slot.
///
/// They are in order of arrival, mostly the order of the answers, so that comparing rarely needs the index.
public struct KnownTasks: Sendable {
    private var tasks: [KnownTask] = []
    private var index = KeyIndex()

    public init() {}

    /// Of several tasks with the same key, the last counts.
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

/// The facts about a task that are kept between polls: enough to see whether it has changed.
public struct KnownTask: Sendable, Hashable {
    // In this order a task takes 56 bytes.
    /// The task's identity in its source.
    public let key: TaskKey
    /// The revision of the ``FieldDefinitions`` by which its details were last read.
    public var revision: UInt16
    private var refreshedSecond: UInt32
    /// The fingerprint of the task's bytes in the last listing that had it.
    public var listed: Fingerprint
    /// The fingerprint of its details when they were last read; ``Fingerprint/zero`` if they were never read.
    public var content: Fingerprint

    public init(
        key: TaskKey, listed: Fingerprint, content: Fingerprint = .zero, revision: UInt16 = 0, refreshed: Timestamp? = nil
    ) {
        self.key = key
        self.revision = revision
        self.listed = listed
        self.content = content
        refreshedSecond = Self.second(of: refreshed)
    }

    /// When the details were last read, to the second, between 1970 and 2106; nil if never.
    public var refreshed: Timestamp? {
        get { refreshedSecond == 0 ? nil : Timestamp(seconds: Int64(refreshedSecond)) }
        set { refreshedSecond = Self.second(of: newValue) }
    }

    /// 0 means never, so that second 0 is stored as second 1.
    private static func second(of time: Timestamp?) -> UInt32 {
        time.map { UInt32(min(max($0.seconds, 1), Int64(UInt32.max))) } ?? 0
    }
}
