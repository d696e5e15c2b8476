import BellhopCore

/// What one poll read of one task.
struct Reading {
    var key: TaskKey
    /// Of the task's bytes in the listing.
    var listed: Fingerprint
    var text: SnapshotText
    /// Of everything the snapshot says.
    var content: Fingerprint
    /// True when it says what is kept already, so that no row need be written.
    var isAsKept: Bool
    /// True when the listing showed no difference: it was read because its details were old.
    var wasStale: Bool
    /// When its details were read before; nil when they never were.
    var readBefore: Timestamp?

    /// False when only what the listing itself says could be read.
    var isRead: Bool { text.isRead }

    /// When the details that it holds were read: those that could not be read now are as old as they were.
    func refreshed(at now: Timestamp) -> Timestamp? { isRead && !isCompleted ? now : readBefore }

    private(set) var isCompleted = false

    /// Takes the details that are kept, where its own could not be read: not being allowed to look is no change of the task.
    mutating func complete(by kept: Snapshot?, content known: Fingerprint?) {
        guard !isRead, let kept, !kept.className.isEmpty else { return }
        isCompleted = true
        var snapshot = text.snapshot
        snapshot.className = kept.className
        snapshot.fields = kept.fields
        snapshot.labels = kept.labels
        text = SnapshotText(snapshot)
        content = text.fingerprint
        isAsKept = known == content
    }
}

/// The tasks whose details a poll reads, in the order in which their events are told: new ones, changed ones, then those whose
/// details are old.
struct ReadingOrder {
    private(set) var keys: [TaskKey] = []
    /// What the listing has of those that are new or changed, which come first.
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

    /// What the details say of them. A task of which they say nothing (it left between the two questions) is not among the readings.
    func readings(_ details: Details, known: KnownTasks) -> [Reading] {
        var readings: [Reading] = []
        readings.reserveCapacity(keys.count)
        for (place, key) in keys.enumerated() {
            let task = known[key]
            let isStale = place >= listed.count
            guard let text = details.snapshots.text(of: key), let listed = isStale ? task?.listed : listed[place] else {
                continue
            }
            let content = text.fingerprint
            readings.append(
                Reading(
                    key: key, listed: listed, text: text, content: content, isAsKept: task?.content == content, wasStale: isStale,
                    readBefore: task?.refreshed))
        }
        return readings
    }
}

extension KnownTasks {
    /// Remembers what a poll that was kept has read.
    mutating func take(_ readings: [Reading], at now: Timestamp) {
        if isEmpty { reserveCapacity(readings.count) }
        for reading in readings {
            set(
                KnownTask(
                    key: reading.key, listed: reading.listed, content: reading.content, refreshed: reading.refreshed(at: now)))
        }
    }

    /// Makes details that were read after this moment, which is now, count as never read.
    mutating func age(readAfter moment: Timestamp) {
        for task in self where (task.refreshed ?? .distantPast) > moment {
            var task = task
            task.refreshed = nil
            set(task)
        }
    }
}
