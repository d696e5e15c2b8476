import BellhopCore

/// What one poll read of one task.
struct Reading {
    var key: TaskKey
    /// Of the task's bytes in the listing.
    var listed: Fingerprint
    var snapshot: Snapshot
    /// Of everything the snapshot says.
    var content: Fingerprint
    /// True when it says what is kept already, so that no row need be written.
    var isAsKept: Bool
    /// True when the listing showed no difference: it was read because its details were old.
    var wasStale: Bool
    /// When its details were read before; nil when they never were.
    var readBefore: Timestamp?

    /// False when only what the listing itself says could be read.
    var isRead: Bool { !snapshot.className.isEmpty }

    /// When the details that it holds were read: those that could not be read now are as old as they were.
    func refreshed(at now: Timestamp) -> Timestamp? { isRead && !isCompleted ? now : readBefore }

    private(set) var isCompleted = false

    /// With the details that are kept, where its own could not be read: not being allowed to look is no change of the task.
    func completed(by kept: Snapshot?, content known: Fingerprint?) -> Reading {
        guard !isRead, let kept, !kept.className.isEmpty else { return self }
        var reading = self
        reading.isCompleted = true
        reading.snapshot.className = kept.className
        reading.snapshot.fields = kept.fields
        reading.snapshot.labels = kept.labels
        reading.content = reading.snapshot.contentFingerprint
        reading.isAsKept = known == reading.content
        return reading
    }
}

extension Snapshot {
    /// Of everything the snapshot says.
    var contentFingerprint: Fingerprint { Fingerprint(content: json(source: "").encoded(.sorted)) }
}

/// The tasks whose details a poll reads, in the order in which their events are told: new ones, changed ones, then those whose
/// details are old.
struct ReadingOrder {
    private(set) var keys: [TaskKey] = []
    private var listed: [TaskKey: Fingerprint] = [:]
    private let stale: ArraySlice<TaskKey>

    init(_ listing: Listing, _ comparison: Comparison, stale: [TaskKey]) {
        keys.reserveCapacity(comparison.new.count + comparison.changed.count + stale.count)
        for place in comparison.new + comparison.changed {
            let entry = listing.entries[place]
            keys.append(entry.key)
            listed[entry.key] = entry.fingerprint
        }
        let seen = keys.count
        if !stale.isEmpty {
            let gone = Set(comparison.gone)
            for key in stale where listed[key] == nil && !gone.contains(key) { keys.append(key) }
        }
        self.stale = keys[seen...]
    }

    /// What the details say of them. A task of which they say nothing (it left between the two questions) is not among the readings.
    func readings(_ details: Details, known: KnownTasks) -> [Reading] {
        var readings: [Reading] = []
        readings.reserveCapacity(keys.count)
        for (place, key) in keys.enumerated() {
            guard let snapshot = details.snapshots[key], let listed = listed[key] ?? known[key]?.listed else { continue }
            let content = snapshot.contentFingerprint
            let task = known[key]
            readings.append(
                Reading(
                    key: key, listed: listed, snapshot: snapshot, content: content, isAsKept: task?.content == content,
                    wasStale: stale.indices.contains(place), readBefore: task?.refreshed))
        }
        return readings
    }
}

extension KnownTasks {
    /// Remembers what a poll that was kept has read.
    mutating func take(_ readings: [Reading], at now: Timestamp) {
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
