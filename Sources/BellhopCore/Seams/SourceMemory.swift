/// The stored state of a source's scope when the agent starts.
public struct SourceMemory: Sendable {
    /// The number of committed polls. A commit is refused if it has changed since the poll began.
    public var turn: Int64
    /// False until the first poll, the baseline, was committed.
    public var hasBaseline: Bool
    public var cursor: Cursor?
    /// The fingerprint of the last complete answer that was committed.
    public var answer: Fingerprint?
    public var definitions: FieldDefinitions
    public var known: KnownTasks
    public var health: SourceHealth

    public init(
        turn: Int64 = 0, hasBaseline: Bool = false, cursor: Cursor? = nil, answer: Fingerprint? = nil,
        definitions: FieldDefinitions = FieldDefinitions(), known: KnownTasks, health: SourceHealth = SourceHealth()
    ) {
        self.turn = turn
        self.hasBaseline = hasBaseline
        self.cursor = cursor
        self.answer = answer
        self.definitions = definitions
        self.known = known
        self.health = health
    }
}

/// The health of a source's polls.
public struct SourceHealth: Sendable, Hashable {
    /// Consecutive failed polls.
    public var failures: Int
    /// When the first of them failed.
    public var failingSince: Timestamp?
    public var lastError: String?
    /// True if `source_failing` was emitted for these failures.
    public var announced: Bool
    public var lastSuccess: Timestamp?
    /// A result held back until the next poll shows the same.
    public var held: HeldResult?
    /// An empty first list that is not confirmed yet.
    public var emptyBaseline: EmptyBaseline?

    public init(
        failures: Int = 0, failingSince: Timestamp? = nil, lastError: String? = nil, announced: Bool = false,
        lastSuccess: Timestamp? = nil, held: HeldResult? = nil, emptyBaseline: EmptyBaseline? = nil
    ) {
        self.failures = failures
        self.failingSince = failingSince
        self.lastError = lastError
        self.announced = announced
        self.lastSuccess = lastSuccess
        self.held = held
        self.emptyBaseline = emptyBaseline
    }

    /// Corrects times that are in the future because the clock was set back. Otherwise, until the clock has caught up, no doubtful result
    /// could be confirmed, and timers would wait for a failing source.
    public mutating func correctFutureTimes(to now: Timestamp) {
        failingSince = failingSince.map { min($0, now) }
        if let since = held?.since { held?.since = min(since, now) }
        if let since = emptyBaseline?.since { emptyBaseline?.since = min(since, now) }
    }
}

/// A stored task, present or removed.
public struct RememberedTask: Sendable, Hashable {
    public var snapshot: Snapshot
    /// Counts its stored changes; part of each event's identity.
    public var generation: Int64
    /// When it was removed; nil while it is present.
    public var removed: Timestamp?
    public var reason: RemovalReason?

    public init(snapshot: Snapshot, generation: Int64, removed: Timestamp? = nil, reason: RemovalReason? = nil) {
        (self.reason, self.snapshot, self.generation, self.removed) = (reason, snapshot, generation, removed)
    }
}

/// A complete poll, to be stored in one transaction (T1).
public struct PollCommit: Sendable {
    public var scope: Scope.ID
    public var source: String
    /// The turn at the start of the poll. If the store has a different one, another process has polled meanwhile.
    public var expectedTurn: Int64
    public var at: Timestamp
    public var cursor: Cursor?
    public var answer: Fingerprint?
    public var definitions: FieldDefinitions
    /// Tasks that are new, changed, returned, or read again.
    public var present: [PresentTask]
    public var removed: [RemovedTask]
    public var events: [Event]
    public var health: SourceHealth

    public init(
        scope: Scope.ID, source: String, expectedTurn: Int64, at: Timestamp, cursor: Cursor? = nil, answer: Fingerprint? = nil,
        definitions: FieldDefinitions = FieldDefinitions(), present: [PresentTask] = [], removed: [RemovedTask] = [],
        events: [Event] = [], health: SourceHealth = SourceHealth()
    ) {
        self.scope = scope
        self.source = source
        self.expectedTurn = expectedTurn
        self.at = at
        self.cursor = cursor
        self.answer = answer
        self.definitions = definitions
        self.present = present
        self.removed = removed
        self.events = events
        self.health = health
    }

    public struct PresentTask: Sendable, Hashable {
        public var text: SnapshotText
        /// The fingerprint of the task's bytes in the listing.
        public var listed: Fingerprint
        /// The fingerprint of the task's details.
        public var content: Fingerprint
        /// The revision of the field definitions by which it was read.
        public var revision: UInt16
        public var generation: Int64
        /// When the details were read; nil if only the listing's own fields are known.
        public var refreshed: Timestamp?

        public init(
            text: SnapshotText, listed: Fingerprint, content: Fingerprint, revision: UInt16 = 0, generation: Int64,
            refreshed: Timestamp?
        ) {
            self.text = text
            self.listed = listed
            self.content = content
            self.revision = revision
            self.generation = generation
            self.refreshed = refreshed
        }
    }

    public struct RemovedTask: Sendable, Hashable {
        public var key: TaskKey
        /// As last seen.
        public var snapshot: Snapshot
        public var generation: Int64
        public var reason: RemovalReason

        public init(key: TaskKey, snapshot: Snapshot, generation: Int64, reason: RemovalReason) {
            (self.key, self.snapshot, self.generation, self.reason) = (key, snapshot, generation, reason)
        }
    }
}

/// The result of committing a poll.
public enum PollResult: Sendable, Hashable {
    /// It is on disk. `turn` is the number for the next poll; `newEvents` excludes events that existed before.
    case committed(turn: Int64, newEvents: Int)
    /// Another poll of the same scope was committed first; nothing was stored.
    case superseded
}

/// The four facts that a source's stored state belongs to: if one of them changes, the source starts over.
public struct Scope: Sendable, Hashable {
    /// The instance's base address, lower case, without a trailing slash.
    public var instance: String
    /// The user whose view of the instance this is; empty if the connection has no user.
    public var user: String
    /// The kind of source as in bellhop.yaml: `table`, `rest`, …
    public var kind: String
    /// The query in the source's canonical form; empty for a source without a query.
    public var query: String

    public init(instance: String, user: String, kind: String, query: String = "") {
        (self.instance, self.user, self.kind, self.query) = (instance, user, kind, query)
    }

    /// The scope's short name in the store.
    public var id: ID { ID(text: Fingerprint.of("scope", instance, user, kind, query).hex) }

    /// A scope's name: 32 hexadecimal digits derived from its four facts.
    public struct ID: Sendable, Hashable {
        public var text: String
        public init(text: String) { self.text = text }
    }
}
