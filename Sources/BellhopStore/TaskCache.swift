import BellhopCore

/// The decoded tasks of the scopes that rules read, so that a batch of events decodes only the tasks that have changed.
///
/// A poll that this process stores adds its changes here; they are decoded when a rule next needs the tasks. The turn of the
/// scope shows whether the changes are complete: a poll by another process leaves a gap, after which all tasks are read again.
struct TaskCache {
    private struct Entry {
        /// The turn of the scope that the tasks show.
        var turn: Int64
        var tasks: [Snapshot]
        var places: [TaskKey: Int]
        /// The changes of later polls, oldest first.
        var later: [Change] = []
        /// Whether the tasks were needed since the last ``forgetUnneeded()``.
        var isNeeded = true

        init(turn: Int64, tasks: [Snapshot]) {
            (self.turn, self.tasks) = (turn, tasks)
            places = Self.places(of: tasks)
        }

        private static func places(of tasks: [Snapshot]) -> [TaskKey: Int] {
            Dictionary(uniqueKeysWithValues: tasks.enumerated().map { ($1.key, $0) })
        }

        mutating func apply(_ change: Change) {
            for text in change.present {
                if let place = places[text.key] {
                    tasks[place] = text.snapshot
                } else {
                    places[text.key] = tasks.count
                    tasks.append(text.snapshot)
                }
            }
            let removed = Set(change.removed.filter { places[$0] != nil })
            if !removed.isEmpty {
                tasks.removeAll { removed.contains($0.key) }
                places = Self.places(of: tasks)
            }
            turn = change.turn
        }
    }

    private struct Change {
        var turn: Int64
        var present: [SnapshotText]
        var removed: [TaskKey]
    }

    private var entries: [Scope.ID: Entry] = [:]

    /// After this many polls during which no rule needed the tasks, they are forgotten, to free the memory.
    private static let maxUnread = 20
    /// With more changes than this, reading all tasks again takes no more time.
    private static let maxChanges = 10_000

    /// The tasks of a scope, in the order in which listings first showed them; nil if they must be read from the store.
    mutating func tasks(of scope: Scope.ID, at turn: Int64) -> [Snapshot]? {
        // Remove the entry while changing it, so that its arrays are not copied.
        guard var entry = entries.removeValue(forKey: scope) else { return nil }
        for change in entry.later where change.turn == entry.turn + 1 && change.turn <= turn { entry.apply(change) }
        guard entry.turn == turn else { return nil }
        entry.later.removeAll { $0.turn <= turn }
        entry.isNeeded = true
        let tasks = entry.tasks
        entries[scope] = entry
        return tasks
    }

    func keeps(_ scope: Scope.ID) -> Bool { entries[scope] != nil }

    mutating func keep(_ tasks: [Snapshot], of scope: Scope.ID, at turn: Int64) {
        entries[scope] = Entry(turn: turn, tasks: tasks)
    }

    /// Forgets the tasks that were not needed since the last call. ``maxUnread`` alone does not: it counts polls that are stored, and polls
    /// without changes are not.
    mutating func forgetUnneeded() {
        entries = entries.filter { $0.value.isNeeded }
        for scope in entries.keys { entries[scope]?.isNeeded = false }
    }

    mutating func note(_ poll: PollCommit, turn: Int64) {
        guard let entry = entries[poll.scope] else { return }
        let count = poll.present.count + poll.removed.count
        if entry.later.count >= Self.maxUnread || count > Self.maxChanges {
            entries[poll.scope] = nil
        } else {
            entries[poll.scope]?.later.append(
                Change(turn: turn, present: poll.present.map(\.text), removed: poll.removed.map(\.key)))
        }
    }
}
