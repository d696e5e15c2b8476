/// What the agent remembers. Every method is one transaction, and what it returned for is on disk.
public protocol Store: Notebook {
    // Sources.

    /// What is known of a scope; made when it is new.
    func open(_ scope: Scope, source: String, at now: Timestamp) async throws(StoreError) -> SourceMemory
    /// The tasks of these keys that the store has, removed ones included.
    func remembered(_ keys: [TaskKey], in scope: Scope.ID) async throws(StoreError) -> [TaskKey: RememberedTask]
    /// All tasks that are there now, per scope in the order of the listing that showed them first; nothing of a scope without a
    /// baseline, of which nobody knows what is there.
    func tasks(in scopes: [Scope.ID]) async throws(StoreError) -> [Scope.ID: [Snapshot]]
    /// For each of these event subjects to which our rules wrote (a `comment`, an `update`; done, or perhaps done) since that moment:
    /// the highest hop among those deliveries. What such a task shows next may be our own doing.
    func writes(to subjects: [String], since: Timestamp) async throws(StoreError) -> [String: Int]
    /// For each of these event subjects, the comments that deliveries of ours wrote, or may have written, since that moment.
    func comments(on subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [WrittenComment]]
    /// T1.
    func commit(_ poll: PollCommit) async throws(StoreError) -> PollResult
    /// Keeps how polls are going when there is no poll to commit, with what it has to tell, and the rest that was asked for, if any.
    func setHealth(
        _ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverRest?
    ) async throws(StoreError)

    // The bus.

    /// Adds events; those whose identity is there already are left out. How many were new.
    @discardableResult
    func append(_ events: [Event]) async throws(StoreError) -> Int
    /// The first events that no rule has seen, in the order of storing: none only when all are routed. What cannot be read is passed
    /// over, so that it holds up nothing.
    func unrouted(limit: Int) async throws(StoreError) -> [StoredEvent]
    func state(for keys: [StateKey]) async throws(StoreError) -> [StateKey: JSON]
    /// T2. A delivery whose identity is there already is left out. One that comes `after` others that are not yet done waits for them.
    func route(_ routing: Routing) async throws(StoreError)

    // Rules.

    /// Makes these the rules there are: timers of others end. Says for each the place on the bus beyond which it sees events.
    func register(_ rules: [RuleRegistration], at now: Timestamp) async throws(StoreError) -> [String: Int64]
    /// When the next timer is due.
    func nextTimer() async throws(StoreError) -> Timestamp?
    func dueTimers(at now: Timestamp) async throws(StoreError) -> [RuleTimer]
    func fire(_ firings: [TimerFiring]) async throws(StoreError)

    // Deliveries.

    /// T3: takes deliveries that are due, at most one per lane, and for each receiver no more than there is room for; a receiver that is
    /// not among them has the room of `others`.
    func claim(
        limit: Int, room: [String: Room], others: Int, until: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Claimed
    /// T4: for each, whether its lease still held. Those that waited for it alone become available when it is done, and are dropped
    /// when it died. The rest of a receiver is kept with the outcome that asked for it.
    func finish(_ finishes: [Finish]) async throws(StoreError) -> [Bool]
    /// The latest rest of each receiver that was asked for one.
    func rests() async throws(StoreError) -> [ReceiverRest]
    /// Makes available again what is running without a living lease, or, at start, everything that an earlier run left running.
    @discardableResult
    func rescue(everything: Bool, at now: Timestamp) async throws(StoreError) -> Int
    /// Wakes deliveries of this receiver that rest because its connection could not be used.
    func wake(receiver: String, at now: Timestamp) async throws(StoreError)
    /// Makes due what was put off while the clock was ahead of `now`.
    func bringForward(at now: Timestamp) async throws(StoreError)
    /// The next moment at which a delivery that is for none of these receivers, or a lease, needs attention.
    func nextDue(excluding receivers: Set<String>) async throws(StoreError) -> Timestamp?
    /// A person's word on deliveries: how many it changed. What comes after a delivery that is dropped is dropped with it; what was
    /// dropped because one died waits again when that one is retried.
    @discardableResult
    func decide(_ decision: Decision, on deliveries: [Delivery.ID], at now: Timestamp) async throws(StoreError) -> Int

    // Looking.

    func status() async throws(StoreError) -> StoreStatus
    /// The newest events of the query, or, where it says after which place, a page of those that follow: fewer than its limit where
    /// they are large.
    func events(_ query: EventQuery) async throws(StoreError) -> EventPage
    /// The newest deliveries of the query, or a page of those that follow a place, as ``events(_:)``.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord]
    /// Where the newest rows of a query are, so that they can be read page by page, oldest first; nil where there are none.
    func span(of query: EventQuery) async throws(StoreError) -> RowSpan?
    func span(of query: DeliveryQuery) async throws(StoreError) -> RowSpan?

    /// Forgets what is older than it need be. How many rows went.
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

/// Which events to show, newest last.
public struct EventQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// With `after`: only those stored up to this place.
    public var through: Int64?
    public var types: [EventType]
    public var sources: [String]
    /// A subject, or the end of one (a sys_id), or a task's number.
    public var task: String?
    /// An id or the start of one.
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

/// The events that a query found, newest last, without those that cannot be read.
public struct EventPage: Sendable, Hashable, RandomAccessCollection {
    public var events: [StoredEvent]
    /// How many were passed over because what was stored of them cannot be read.
    public var unreadable: Int
    /// The place on the bus of the last that was found, readable or not.
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

/// A stretch of stored rows.
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

/// Which deliveries to show, newest last.
public struct DeliveryQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// With `after`: only those stored up to this place.
    public var through: Int64?
    public var states: [DeliveryState]
    public var rule: String?
    /// An id's text or the start of one.
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

/// The store at a glance.
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

        public init(rule: String, runs: Int, errors: Int, lastError: String?, lastRun: Timestamp?, nextDue: Timestamp?) {
            self.rule = rule
            self.runs = runs
            self.errors = errors
            self.lastError = lastError
            self.lastRun = lastRun
            self.nextDue = nextDue
        }
    }

    public var sources: [SourceStatus]
    public var rules: [RuleStatus]
    public var deliveries: [DeliveryState: Int]
    public var events: Int
    public var unrouted: Int
    /// Events that no rule saw because what was stored of them could not be read.
    public var damaged: Int

    public init(
        sources: [SourceStatus], rules: [RuleStatus], deliveries: [DeliveryState: Int], events: Int, unrouted: Int,
        damaged: Int = 0
    ) {
        self.sources = sources
        self.rules = rules
        self.deliveries = deliveries
        self.events = events
        self.unrouted = unrouted
        self.damaged = damaged
    }
}

/// Why the store could not do it. The transaction left nothing behind.
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
        /// It cannot be made or opened where it should be (exit 73).
        case cannotOpen
        /// Its file was deleted or replaced while it was open: what is written is gone (exit 73).
        case lost
        /// Anything else the database says.
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
