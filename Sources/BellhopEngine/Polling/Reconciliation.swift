import BellhopCore

/// The consequences of a complete, valid poll: the rows to store and the events to emit. Decided without requests.
struct Reconciliation {
    var present: [PollCommit.PresentTask] = []
    var removed: [PollCommit.RemovedTask] = []
    var events: [Event] = []

    /// The inputs of the decision besides the tasks that were read.
    struct Evidence {
        var source: String
        var scope: Scope
        var shows: RecordKind = .tasks
        var now: Timestamp
        /// False for the first poll ever.
        var hasBaseline: Bool
        /// True if the tasks of the first poll cause events too.
        var emitsInitial: Bool
        /// Tasks that existed when the first list was empty: they are not new.
        var hidden: Set<TaskKey> = []
        var details: Details
        /// The stored state of the tasks that were read and of those that are gone.
        var remembered: [TaskKey: RememberedTask]
        /// Tasks that left the listing.
        var gone: [TaskKey]
        /// The schema, whose roles name the fields by which changes are recognized as our own.
        var schema: TaskSchema
        var definitions = FieldDefinitions()
        /// Our own latest writes, by event subject.
        var writes: [String: [OwnWrite]]
        /// New comments on known tasks, oldest first.
        var comments: [TaskComment] = []
        /// Our own comments by event subject, to recognize them among `comments`.
        var written: [String: [WrittenComment]] = [:]
        /// Our account, if it is not the scope's user.
        var user: String?

        /// The fields whose differences are no change of the task.
        func fieldsToIgnore(of task: ReadTask) -> Set<String> {
            schema.roles.bookkeeping.union(definitions.redefined(since: task.before))
        }
    }

    /// - Parameter read: the tasks that were read; those that equal their stored form are skipped.
    init(_ evidence: Evidence, _ read: [ReadTask]) {
        if evidence.shows == .page {
            for task in read where !task.isAsStored { reconcile(page: task, evidence) }
            return
        }
        if !evidence.hasBaseline { present.reserveCapacity(read.count) }
        for task in read where !task.isAsStored { reconcile(task, evidence) }
        if !evidence.comments.isEmpty { comment(evidence, read) }
        for key in evidence.gone { depart(key, evidence) }
    }

    private mutating func reconcile(_ task: ReadTask, _ evidence: Evidence) {
        let key = task.key
        var generation: Int64 = 1
        if let before = evidence.remembered[key] {
            let after = task.text.snapshot
            generation = before.generation
            if let removed = before.removed {
                generation += 1
                emit(.taskReturned(after, removed: removed, in: evidence.source), key, generation, evidence)
            } else if let change = Change(
                from: before.snapshot, to: after, ignoring: evidence.fieldsToIgnore(of: task))
            {
                emit(change, from: before.snapshot, to: after, key, &generation, evidence)
            }
        } else if evidence.hasBaseline && !evidence.hidden.contains(key) || evidence.emitsInitial {
            emit(.taskCreated(task.text.snapshot, in: evidence.source), key, generation, evidence)
        }
        keep(task, generation, evidence)
    }

    /// Emits a change. If only a part of it is our own, each part has its own event, ours first.
    private mutating func emit(
        _ change: Change, from before: Snapshot, to after: Snapshot, _ key: TaskKey, _ generation: inout Int64,
        _ evidence: Evidence
    ) {
        let writes = evidence.writes[evidence.scope.subject(of: key), default: []]
        let divided = DividedChange(
            change.fields, from: before, to: after, by: writes, evidence.schema, user: evidence.user ?? evidence.scope.user)
        let between = divided.own.isEmpty ? before : after.undoing(divided.others, from: before)
        if !divided.own.isEmpty {
            generation += 1
            emit(
                .taskChanged(between, before: before, divided.own, in: evidence.source), key, generation, hop: divided.hop + 1,
                evidence)
        }
        if !divided.others.isEmpty {
            generation += 1
            emit(.taskChanged(after, before: between, divided.others, in: evidence.source), key, generation, hop: 0, evidence)
        }
    }

    private mutating func keep(_ task: ReadTask, _ generation: Int64, _ evidence: Evidence) {
        present.append(
            PollCommit.PresentTask(
                text: task.text, listed: task.listed, content: task.content, revision: task.revision, generation: generation,
                refreshed: task.refreshed(at: evidence.now)))
    }

    /// Unlike a task, a page always exists: only its text changes.
    private mutating func reconcile(page task: ReadTask, _ evidence: Evidence) {
        let after = task.text.snapshot
        var generation: Int64 = 1
        if let before = evidence.remembered[task.key] {
            generation = before.generation
            let was = before.snapshot.pageText
            if was != after.pageText {
                generation += 1
                emit(.pageChanged(after, before: was, in: evidence.source), task.key, generation, evidence)
            }
        }
        keep(task, generation, evidence)
    }

    private mutating func depart(_ key: TaskKey, _ evidence: Evidence) {
        guard let before = evidence.remembered[key], before.removed == nil else { return }
        let reason = evidence.details.departures[key] ?? .unknown
        let generation = before.generation + 1
        // The latest known state, from the details if they still have it.
        let last = evidence.details.snapshots[key] ?? before.snapshot
        removed.append(PollCommit.RemovedTask(key: key, snapshot: last, generation: generation, reason: reason))
        emit(.taskRemoved(last, reason, in: evidence.source), key, generation, evidence)
    }

    /// Emits comments, with their tasks as of this poll.
    private mutating func comment(_ evidence: Evidence, _ read: [ReadTask]) {
        let texts = Dictionary(read.map { ($0.key, $0.text) }) { _, last in last }
        for comment in evidence.comments {
            guard let task = texts[comment.task]?.snapshot ?? evidence.remembered[comment.task]?.snapshot else { continue }
            let subject = evidence.scope.subject(of: comment.task)
            let ours = evidence.written[subject, default: []]
                .compactMap { written in written.match(comment).map { (match: $0, hop: written.hop) } }
                .max { ($0.match, $0.hop) < ($1.match, $1.hop) }
            let content = EventContent.taskCommented(
                task, comment.text, author: comment.author, kind: comment.kind, time: comment.time, own: ours != nil,
                proved: comment.isProved, in: evidence.source)
            events.append(
                Event(
                    content, facts: evidence.source, evidence.scope.id.text, comment.task.text, comment.id,
                    source: evidence.source, subject: subject, at: evidence.now, hop: (ours?.hop).map { $0 + 1 } ?? 0))
        }
    }

    /// Emits that a task came or left, or that a page changed. The cause may be one of our writes that move tasks.
    private mutating func emit(_ content: EventContent, _ key: TaskKey, _ generation: Int64, _ evidence: Evidence) {
        let writes = evidence.writes[evidence.scope.subject(of: key), default: []]
        emit(content, key, generation, hop: writes.filter(\.movesTask).map { $0.hop + 1 }.max() ?? 0, evidence)
    }

    private mutating func emit(
        _ content: EventContent, _ key: TaskKey, _ generation: Int64, hop: Int, _ evidence: Evidence
    ) {
        let subject = evidence.scope.subject(of: key)
        events.append(
            Event(
                content, facts: evidence.source, evidence.scope.id.text, key.text, String(generation),
                source: evidence.source, subject: subject, at: evidence.now, hop: hop))
    }
}

extension Scope {
    /// The subject of events about this task: the same in every source of the instance.
    func subject(of key: TaskKey) -> String { "\(instance)/\(key.text)" }
}

struct ReadTask: Sendable {
    /// The fingerprint of the task's entry in the listing.
    var listed: Fingerprint
    var text: SnapshotText
    /// The revision of the field definitions by which its details were read.
    var revision: UInt16
    /// True if the listing showed no difference: it was read because its details were old.
    var wasStale: Bool
    /// The task at the poll before; nil if it is new.
    var before: KnownTask?

    var key: TaskKey { text.key }
    /// The fingerprint of the whole snapshot.
    var content: Fingerprint { text.fingerprint }
    /// Whether it equals the stored form, so that no row must be written.
    var isAsStored: Bool { before?.content == content && before?.revision == revision }
    /// False if only the listing's own data could be read.
    var isRead: Bool { text.isRead }

    /// When its details were read: unreadable details keep their old time.
    func refreshed(at now: Timestamp) -> Timestamp? { isRead && !isCompleted ? now : before?.refreshed }

    private(set) var isCompleted = false

    /// Whether the answer did not show all that was requested.
    var isPartial: Bool { !isRead || !text.unread.isEmpty }

    /// Uses the stored details, or the stored values of single fields, if these could not be read: missing access is not a change of the
    /// task.
    mutating func complete(by stored: Snapshot?, _ definitions: FieldDefinitions) {
        guard let stored else { return }
        if isRead {
            text = text.completed(by: stored, except: definitions.redefined(since: before))
            return
        }
        guard !stored.className.isEmpty else { return }
        isCompleted = true
        var snapshot = text.snapshot
        snapshot.className = stored.className
        snapshot.fields = stored.fields
        snapshot.labels = stored.labels
        text = SnapshotText(snapshot)
        revision = before?.revision ?? revision
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
    func read(_ details: Details, known: KnownTasks, by definitions: FieldDefinitions) -> [ReadTask] {
        var read: [ReadTask] = []
        read.reserveCapacity(keys.count)
        for (place, key) in keys.enumerated() {
            let task = known[key]
            let isStale = place >= listed.count
            guard let text = details.snapshots.text(of: key), let listed = isStale ? task?.listed : listed[place] else {
                continue
            }
            read.append(
                ReadTask(
                    listed: listed, text: text, revision: definitions.revision, wasStale: isStale, before: task))
        }
        return read
    }
}

extension FieldDefinitions {
    /// The fields that were redefined since a task was read; of a task that is not present, all that ever were, because the revision with
    /// which it was read is not kept.
    func redefined(since task: KnownTask?) -> Set<String> { redefined(since: task?.revision ?? 0) }
}

extension KnownTasks {
    /// Remembers the tasks that a stored poll has read.
    mutating func take(_ read: [ReadTask], at now: Timestamp) {
        if isEmpty { reserveCapacity(read.count) }
        for task in read {
            set(
                KnownTask(
                    key: task.key, listed: task.listed, content: task.content, revision: task.revision,
                    refreshed: task.refreshed(at: now)))
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
