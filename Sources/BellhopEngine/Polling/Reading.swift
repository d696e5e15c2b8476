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
            let content = Fingerprint(content: snapshot.json(source: "").encoded(.sorted))
            readings.append(
                Reading(
                    key: key, listed: listed, snapshot: snapshot, content: content, isAsKept: known[key]?.content == content,
                    wasStale: stale.indices.contains(place)))
        }
        return readings
    }
}

extension KnownTasks {
    /// Remembers what a poll that was kept has read.
    mutating func take(_ readings: [Reading], at now: Timestamp) {
        for reading in readings {
            set(KnownTask(key: reading.key, listed: reading.listed, content: reading.content, refreshed: now))
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
