import BellhopCore

/// A task as one poll read it.
struct ReadTask: Sendable {
    var key: TaskKey
    /// The fingerprint of the task's entry in the listing.
    var listed: Fingerprint
    var text: SnapshotText
    /// The fingerprint of the whole snapshot.
    var content: Fingerprint
    /// Whether it equals the stored form, so that no row must be written.
    var isAsStored: Bool
    /// True if the listing showed no difference: it was read because its details were old.
    var wasStale: Bool
    /// When its details were read before; nil if never.
    var readBefore: Timestamp?

    /// False if only the listing's own data could be read.
    var isRead: Bool { text.isRead }

    /// When its details were read: unreadable details keep their old time.
    func refreshed(at now: Timestamp) -> Timestamp? { isRead && !isCompleted ? now : readBefore }

    private(set) var isCompleted = false

    /// Uses the stored details if the task's details could not be read: missing access is not a change of the task.
    mutating func complete(by stored: Snapshot?, content known: Fingerprint?) {
        guard !isRead, let stored, !stored.className.isEmpty else { return }
        isCompleted = true
        var snapshot = text.snapshot
        snapshot.className = stored.className
        snapshot.fields = stored.fields
        snapshot.labels = stored.labels
        text = SnapshotText(snapshot)
        content = text.fingerprint
        isAsStored = known == content
    }
}

/// The tasks whose details a poll reads, in the order of their events: new, changed, then those with old details.
struct TasksToRead: Sendable {
    private(set) var keys: [TaskKey] = []
    /// The listing's fingerprints of new and changed tasks, which come first.
    private var listed: [Fingerprint] = []

    init(_ listing: Listing, _ comparison: Comparison, stale: [TaskKey]) {
        keys.reserveCapacity(comparison.new.count + comparison.changed.count + stale.count)
        for places in [comparison.new, comparison.changed] {
            for place in places {
                keys.append(listing.entries[place].key)
                listed.append(listing.entries[place].fingerprint)
            }
        }
        guard !stale.isEmpty else { return }
        let others = Set(keys).union(comparison.gone)
        keys += stale.filter { !others.contains($0) }
    }

    /// The tasks as the details show them. A task that left between the two requests has no details and is omitted.
    func read(_ details: Details, known: KnownTasks) -> [ReadTask] {
        var read: [ReadTask] = []
        read.reserveCapacity(keys.count)
        for (place, key) in keys.enumerated() {
            let task = known[key]
            let isStale = place >= listed.count
            guard let text = details.snapshots.text(of: key), let listed = isStale ? task?.listed : listed[place] else {
                continue
            }
            let content = text.fingerprint
            read.append(
                ReadTask(
                    key: key, listed: listed, text: text, content: content, isAsStored: task?.content == content,
                    wasStale: isStale, readBefore: task?.refreshed))
        }
        return read
    }
}

extension KnownTasks {
    /// Remembers the tasks that a stored poll has read.
    mutating func take(_ read: [ReadTask], at now: Timestamp) {
        if isEmpty { reserveCapacity(read.count) }
        for task in read {
            set(KnownTask(key: task.key, listed: task.listed, content: task.content, refreshed: task.refreshed(at: now)))
        }
    }

    /// Treats details read after a moment as never read. For a clock that was set back to that moment.
    mutating func age(readAfter moment: Timestamp) {
        for task in self where (task.refreshed ?? .distantPast) > moment {
            var task = task
            task.refreshed = nil
            set(task)
        }
    }
}
