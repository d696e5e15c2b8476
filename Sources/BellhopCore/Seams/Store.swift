/// The agent's database. Every method is one transaction, and its result is on disk when it returns.
public protocol Store: Notebook {
    // Sources.

    /// The state of a scope; created if new.
    func open(_ scope: Scope, source: String, at now: Timestamp) async throws(StoreError) -> SourceMemory
    /// The stored tasks with these keys, including removed ones.
    func remembered(_ keys: [TaskKey], in scope: Scope.ID) async throws(StoreError) -> [TaskKey: RememberedTask]
    /// All present tasks, per scope in the order of the listing that showed them first; omits scopes without a baseline, whose
    /// tasks are unknown.
    func tasks(in scopes: [Scope.ID]) async throws(StoreError) -> [Scope.ID: [Snapshot]]
    /// For each of these event subjects that our rules wrote to since that moment (a `comment`, an `update`; done, or perhaps
    /// done): the highest hop among those deliveries. The task's next change may be our own.
    func writes(to subjects: [String], since: Timestamp) async throws(StoreError) -> [String: Int]
    /// For each of these event subjects, the comments that our deliveries wrote, or may have written, since that moment.
    func comments(on subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [WrittenComment]]
    /// T1.
    func commit(_ poll: PollCommit) async throws(StoreError) -> PollResult
    /// Keeps how polls are going when there is no poll to commit, with what it has to tell, and the rest that was asked for, if any.
    func setHealth(
        _ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverRest?
    ) async throws(StoreError)

    // The bus.

    /// Adds events, except those that exist; returns how many were new.
    @discardableResult
    func append(_ events: [Event]) async throws(StoreError) -> Int
    /// The first unrouted events, in storage order: empty only when all are routed. Unreadable ones are skipped, so that they
    /// block nothing.
    func unrouted(limit: Int) async throws(StoreError) -> [StoredEvent]
    /// The values of these keys, with all elements of each.
    func state(for keys: [StateKey]) async throws(StoreError) -> RuleState
    /// T2. Skips deliveries that exist. One that is `after` others that are not yet done waits for them. Stores nothing if a
    /// piece of state is not what the routing expects, or a timer has moved. Sets no timer of a rule that is not registered.
    @discardableResult
    func route(_ routing: Routing) async throws(StoreError) -> RouteResult

    // Rules.

    /// Replaces the set of rules, in their order: timers of others end. Returns for each the place on the bus after which it sees
    /// events.
    func register(_ rules: [RuleRegistration], at now: Timestamp) async throws(StoreError) -> [String: Int64]
    /// When the next timer is due.
    func nextTimer() async throws(StoreError) -> Timestamp?
    /// The first timers that are due: by their time, then by the place of their rules, then by when they were set.
    func dueTimers(at now: Timestamp, limit: Int) async throws(StoreError) -> [RuleTimer]
    /// Those of these timers that are set.
    func timers(_ ids: [RuleTimer.ID]) async throws(StoreError) -> [RuleTimer]

    // Deliveries.

    /// T3: claims due deliveries, at most one per lane, and for each receiver at most its room; a receiver not listed has the
    /// room of `others`.
    func claim(
        limit: Int, room: [String: Room], others: Int, until: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Claimed
    /// T4: returns for each whether its lease still held. Deliveries waiting only for it become available if it is done, and are
    /// dropped if it died. A receiver's rest is stored with the outcome that requested it.
    func finish(_ finishes: [Finish]) async throws(StoreError) -> [Bool]
    /// The latest rest of each receiver that requested one.
    func rests() async throws(StoreError) -> [ReceiverRest]
    /// Makes deliveries available again that are running without a valid lease, or, at start, all that an earlier run left
    /// running.
    @discardableResult
    func rescue(everything: Bool, at now: Timestamp) async throws(StoreError) -> Int
    /// Wakes deliveries of this receiver that rest because its connection could not be used.
    func wake(receiver: String, at now: Timestamp) async throws(StoreError)
    /// Makes due what was postponed while the clock was ahead of `now`.
    func bringForward(at now: Timestamp) async throws(StoreError)
    /// The next moment at which a delivery for other receivers than these, or a lease, needs attention.
    func nextDue(excluding receivers: Set<String>) async throws(StoreError) -> Timestamp?
    /// Applies a person's decision to deliveries; returns how many changed. Deliveries after a dropped one are dropped with it;
    /// those dropped because one died wait again when that one is retried.
    @discardableResult
    func decide(_ decision: Decision, on deliveries: [Delivery.ID], at now: Timestamp) async throws(StoreError) -> Int

    // Queries.

    func status() async throws(StoreError) -> StoreStatus
    /// The newest events of the query, or, if it names a place, a page of those that follow: fewer than its limit if they are
    /// large.
    func events(_ query: EventQuery) async throws(StoreError) -> EventPage
    /// The newest deliveries of the query, or a page of those that follow a place, as in ``events(_:)``.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord]
    /// The range of the newest rows of a query, for reading them page by page, oldest first; nil if there are none.
    func span(of query: EventQuery) async throws(StoreError) -> RowSpan?
    func span(of query: DeliveryQuery) async throws(StoreError) -> RowSpan?

    /// Deletes what is older than the retention; returns how many rows were deleted.
    @discardableResult
    func prune(_ retention: Retention, at now: Timestamp) async throws(StoreError) -> Int
}

public enum Decision: String, Sendable, Hashable { case retry, drop }

/// How long things are kept.
public struct Retention: Sendable, Hashable {
    public var events: Duration
    public var deliveries: Duration
    /// How long a removed task is remembered.
    public var forgotten: Duration

    public init(events: Duration = .days(30), deliveries: Duration = .days(30), forgotten: Duration = .days(400)) {
        self.events = events
        self.deliveries = deliveries
        self.forgotten = forgotten
    }
}

extension Duration {
    public static func days(_ days: Int) -> Duration { .seconds(days * 86_400) }
}

/// Selects events, newest last.
public struct EventQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// With `after`: only those stored up to this place.
    public var through: Int64?
    public var types: [EventType]
    public var sources: [String]
    /// A subject, or the end of one (a sys_id), or a task's number.
    public var task: String?
    /// An id or its beginning.
    public var id: String?
    public var since: Timestamp?
    public var limit: Int

    public init(
        after: Int64? = nil, through: Int64? = nil, types: [EventType] = [], sources: [String] = [], task: String? = nil,
        id: String? = nil,
        since: Timestamp? = nil, limit: Int = 50
    ) {
        self.after = after
        self.through = through
        self.types = types
        self.sources = sources
        self.task = task
        self.id = id
        self.since = since
        self.limit = limit
    }
}

/// The events that a query found, newest last, without unreadable ones.
public struct EventPage: Sendable, Hashable, RandomAccessCollection {
    public var events: [StoredEvent]
    /// How many were skipped because they are unreadable.
    public var unreadable: Int
    /// The place on the bus of the last one found, readable or not.
    public var end: Int64?

    public init(events: [StoredEvent], unreadable: Int = 0, end: Int64? = nil) {
        self.events = events
        self.unreadable = unreadable
        self.end = end
    }

    public var startIndex: Int { events.startIndex }
    public var endIndex: Int { events.endIndex }
    public subscript(position: Int) -> StoredEvent { events[position] }
}

/// A range of stored rows.
public struct RowSpan: Sendable, Hashable {
    /// The place before the first of them.
    public var after: Int64
    /// The place of the last of them.
    public var through: Int64

    public init(after: Int64, through: Int64) {
        self.after = after
        self.through = through
    }
}

/// Selects deliveries, newest last.
public struct DeliveryQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// With `after`: only those stored up to this place.
    public var through: Int64?
    public var states: [DeliveryState]
    public var rule: String?
    /// An id's text or its beginning.
    public var id: String?
    public var event: Event.ID?
    public var limit: Int

    public init(
        after: Int64? = nil, through: Int64? = nil, states: [DeliveryState] = [], rule: String? = nil, id: String? = nil,
        event: Event.ID? = nil, limit: Int = 50
    ) {
        self.after = after
        self.through = through
        self.states = states
        self.rule = rule
        self.id = id
        self.event = event
        self.limit = limit
    }
}

/// An overview of the store.
public struct StoreStatus: Sendable, Hashable {
    public struct SourceStatus: Sendable, Hashable {
        public var source: String
        public var scope: Scope
        public var hasBaseline: Bool
        public var tasks: Int
        public var lastCommit: Timestamp?
        public var health: SourceHealth

        public init(
            source: String, scope: Scope, hasBaseline: Bool, tasks: Int, lastCommit: Timestamp?, health: SourceHealth
        ) {
            self.source = source
            self.scope = scope
            self.hasBaseline = hasBaseline
            self.tasks = tasks
            self.lastCommit = lastCommit
            self.health = health
        }
    }

    public struct RuleStatus: Sendable, Hashable {
        public var rule: String
        public var runs: Int
        public var errors: Int
        public var lastError: String?
        public var lastRun: Timestamp?
        public var nextDue: Timestamp?
        /// True for a rule that is turned off (`enabled: false`).
        public var isOff: Bool

        public init(
            rule: String, runs: Int, errors: Int, lastError: String?, lastRun: Timestamp?, nextDue: Timestamp?, isOff: Bool
        ) {
            self.rule = rule
            self.runs = runs
            self.errors = errors
            self.lastError = lastError
            self.lastRun = lastRun
            self.nextDue = nextDue
            self.isOff = isOff
        }
    }

    /// A receiver that was asked to be left alone for a while.
    public struct RestStatus: Sendable, Hashable {
        public var rest: ReceiverRest
        /// How many deliveries wait for it.
        public var waiting: Int

        public init(rest: ReceiverRest, waiting: Int) {
            self.rest = rest
            self.waiting = waiting
        }
    }

    public var sources: [SourceStatus]
    public var rules: [RuleStatus]
    /// The latest rest of each receiver that was asked for one, those that are over too.
    public var rests: [RestStatus]
    public var deliveries: [DeliveryState: Int]
    public var events: Int
    public var unrouted: Int
    /// Events that no rule saw because they are unreadable.
    public var damaged: Int

    public init(
        sources: [SourceStatus], rules: [RuleStatus], rests: [RestStatus], deliveries: [DeliveryState: Int], events: Int,
        unrouted: Int,
        damaged: Int = 0
    ) {
        self.sources = sources
        self.rules = rules
        self.rests = rests
        self.deliveries = deliveries
        self.events = events
        self.unrouted = unrouted
        self.damaged = damaged
    }
}

/// Why the store failed. The transaction had no effect.
public struct StoreError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// The disk is full or cannot be written (exit 74).
        case full
        /// Another process holds it (exit 75).
        case busy
        /// It is damaged, or not a store (exit 73).
        case damaged
        /// A newer Bellhop made it (exit 73).
        case newer
        /// It cannot be created or opened at its path (exit 73).
        case cannotOpen
        /// Its file was deleted or replaced while it was open: what was written is lost (exit 73).
        case lost
        /// Any other database error.
        case other
    }

    public var kind: Kind
    /// One sentence: what happened, where, what to do.
    public var message: String

    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
