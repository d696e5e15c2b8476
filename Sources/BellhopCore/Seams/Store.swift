/// The agent's database. Every method is one transaction, and its result is on disk when it returns.
///
/// The transaction also adds to the audit: each attempt that ended, each change of the rules, and each act of a person, with
/// ``Person/current``.
public protocol Store: Notebook {
    /// The executor for tasks that mainly write, which saves changes of threads; nil for any executor.
    var executor: (any TaskExecutor)? { get }

    // Sources.

    /// The state of a scope; created if new.
    func open(_ scope: Scope, source: String, at now: Timestamp) async throws(StoreError) -> SourceMemory
    /// The stored tasks with these keys, including removed ones.
    func remembered(_ keys: [TaskKey], in scope: Scope.ID) async throws(StoreError) -> [TaskKey: RememberedTask]
    /// All present tasks, per scope in the order of the listing that showed them first; omits scopes without a baseline, whose
    /// tasks are unknown.
    ///
    /// - Parameter isForPeople: whether a person waits for them: the agent's own reads do not wait for this one, and
    ///   ``endReadsForPeople()`` ends it.
    func tasks(in scopes: [Scope.ID], isForPeople: Bool) async throws(StoreError) -> [Scope.ID: [Snapshot]]
    /// A page of the present tasks of a scope.
    func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage
    /// The writes of our rules to these event subjects since that moment (a `comment`, an `update`, a created task), including those of
    /// unknown outcome. A change that the next poll finds may be the effect of such a write.
    func writes(to subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [OwnWrite]]
    /// For each of these event subjects, the comments that our deliveries wrote, or may have written, since that moment.
    func comments(on subjects: [String], since: Timestamp) async throws(StoreError) -> [String: [WrittenComment]]
    /// T1.
    ///
    /// - Parameter stored: called as soon as new events are on disk, so that it wakes waiting tasks before this task continues.
    func commit(_ poll: PollCommit, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> PollResult
    /// Stores the health of a source without a poll, its events, and the rest that it asked for, if any.
    func setHealth(
        _ health: SourceHealth, of scope: Scope.ID, events: [Event], rest: ReceiverStop?
    ) async throws(StoreError)

    // The bus.

    /// Adds events, except those that exist; returns how many were new.
    @discardableResult
    func append(_ events: [Event]) async throws(StoreError) -> Int
    /// The first unrouted events behind this place on the bus, in storage order: empty only when all of these are routed. Unreadable ones
    /// are skipped, so that they block nothing.
    func unrouted(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent]
    /// The first unrouted events of schedules behind this place, in storage order, without unreadable ones.
    func unroutedSchedules(after place: Int64, limit: Int) async throws(StoreError) -> [StoredEvent]
    /// Adds replays of these events, and returns how many: calls with the same time add each replay only once.
    @discardableResult
    func replay(_ events: [StoredEvent], rule: String?, isForced: Bool, at now: Timestamp) async throws(StoreError) -> Int
    /// The first replays that are not routed yet (``Routing/replayed``).
    func replays(limit: Int) async throws(StoreError) -> [Replay]
    /// The events at these places on the bus, without those that no longer exist.
    func events(at places: [Int64]) async throws(StoreError) -> [StoredEvent]
    /// The newest of the selected events, as many as fit.
    func digest(_ query: DigestQuery) async throws(StoreError) -> Digest
    /// The values of these keys, with all elements of each.
    func state(for keys: [StateKey]) async throws(StoreError) -> RuleState
    /// Those waits of `for` under these keys that exist; the keys are by the names of the rules' state.
    func waits(for keys: [String: [String]]) async throws(StoreError) -> RuleState
    /// T2. Skips deliveries that exist, and counts those that a silence keeps back. A delivery that is `after` others waits until they
    /// are done. Sets no timer of a rule that is not registered.
    ///
    /// Stores nothing if such a silence has ended, a piece of state is not what the routing expects, or a timer has moved.
    ///
    /// - Parameter stored: called as soon as it is on disk, as for a poll.
    @discardableResult
    func route(_ routing: Routing, stored: @escaping @Sendable () -> Void) async throws(StoreError) -> RouteResult

    // Rules.

    /// Replaces the set of rules, in their order; timers of other rules end. All nodes share these rules, so only the node that routes
    /// calls this.
    func register(_ rules: [RuleRegistration], at now: Timestamp) async throws(StoreError) -> RegisteredRules
    /// The texts of rules whose escalations may be under way, as they were when the escalations began: by rule, and then by the key
    /// that the escalations store.
    func formerRules() async throws(StoreError) -> [String: [String: JSON]]
    /// When the first timer is due after this time. Leaves out the waiting timers, and those of paused rules.
    func nextTimer(after time: Timestamp, besides waiting: WaitingTimers) async throws(StoreError) -> Timestamp?
    /// The first timers that are due: by their time, then by the place of their rules, then by when they were set. Leaves out the same.
    func dueTimers(at now: Timestamp, limit: Int, besides waiting: WaitingTimers) async throws(StoreError) -> [RuleTimer]
    /// The timers with these ids that are set.
    func timers(_ ids: [RuleTimer.ID]) async throws(StoreError) -> [RuleTimer]

    /// The tasks with this id, number, address or subject: at most two, which show that the name is ambiguous.
    func tasks(named name: String) async throws(StoreError) -> [NamedTask]
    /// Ends all waits, counts and groups of rules about a task, and deletes the keys of `once` and `throttle` that equal its id. Returns
    /// how many these were, by rule.
    func forget(_ task: NamedTask, at now: Timestamp) async throws(StoreError) -> [Forgotten]

    // Deliveries.

    /// T3: claims due deliveries, at most one per lane, and for each receiver at most its quota; a receiver without a quota has
    /// that of `others`.
    ///
    /// First coalesces the due messages of a receiver if they are more than its quota says: messages that may be coalesced
    /// (``Delivery/coalesces``) and were certainly not sent are `joined` then, and one new delivery has a line for each.
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claimed
    /// T4: returns for each whether its lease still held. Deliveries waiting only for it become available if it is done, and are
    /// dropped if it died. The stops of its receiver are stored with it. A pause is stored, with its event and message, unless the
    /// receiver is paused for the same cause already.
    func finish(_ finishes: [Finish]) async throws(StoreError) -> [Bool]
    /// T4, then T3, in one transaction: the same as ``finish(_:)`` followed by ``claim(_:)``.
    func finish(_ finishes: [Finish], claiming request: ClaimRequest) async throws(StoreError) -> (kept: [Bool], claimed: Claimed)
    /// The stops of all receivers, including those that are over.
    func stops() async throws(StoreError) -> [ReceiverStop]
    /// Pauses a receiver, and stores the event and the message about it; false if it was paused for the same cause before, or if the
    /// pause began before the receiver was resumed.
    @discardableResult
    func pause(_ pause: ReceiverPause) async throws(StoreError) -> Bool
    /// Ends the pauses of a receiver, with an event; false if it was not paused.
    @discardableResult
    func resume(receiver: String, at now: Timestamp) async throws(StoreError) -> Bool
    /// The pauses, except those of receivers: all writes to tasks first, then rules by name. The timers of a paused rule are
    /// neither due nor next, and paused writes are not claimed.
    func pauses() async throws(StoreError) -> [Pause]
    /// False if it was paused before.
    @discardableResult
    func pause(_ pause: Pause) async throws(StoreError) -> Bool
    /// False if it was not paused. A resumed rule sees only the events that come from now on, see ``register(_:at:)``.
    @discardableResult
    func resume(_ subject: Pause.Subject, at now: Timestamp) async throws(StoreError) -> Bool

    // Quiet times.

    /// The earliest end of a quiet time that holds a message.
    func nextRelease() async throws(StoreError) -> Timestamp?
    /// The messages whose quiet time has ended, of one receiver and one end: the first end, then the first receiver by name. In the
    /// order in which they were made, at most ``HeldMessage/most``.
    func released(at now: Timestamp) async throws(StoreError) -> [HeldMessage]
    /// Stores what happens to messages whose quiet time has ended. Stores nothing and returns false if one of them is no longer held as it
    /// was read, or a silence that keeps one back has ended.
    func release(_ release: MessageRelease) async throws(StoreError) -> Bool

    // Silences.

    /// The silences: first the active and future ones, by their beginning, then those that ended recently, unless they are left out.
    func silences(includingEnded: Bool) async throws(StoreError) -> [SilenceRecord]
    /// Adds a silence, and the event of its beginning if it has begun; false if the store has it already.
    @discardableResult
    func add(_ silence: Silence, at now: Timestamp) async throws(StoreError) -> Bool
    /// Ends a silence, with the event of its end if it had begun; nil if there is no such silence or it has ended.
    func endSilence(_ id: String, at now: Timestamp) async throws(StoreError) -> SilenceRecord?
    /// Begins and ends the silences whose time has come, with their events, each once. Adds the silences of these entries of
    /// bellhop.yaml, and ends those of removed entries. Returns the new events.
    func beginAndEndSilences(_ entries: [SilenceEntry], at now: Timestamp) async throws(StoreError) -> [Event]

    /// Begins a run of a node: makes deliveries available again that an earlier run of this node left running, or whose lease has
    /// expired; returns how many. Leaves deliveries that other nodes hold.
    @discardableResult
    func start(_ node: NodeID, at now: Timestamp) async throws(StoreError) -> Int
    /// Makes deliveries available again whose lease has expired; returns how many.
    @discardableResult
    func rescue(at now: Timestamp) async throws(StoreError) -> Int
    /// Makes deliveries available again that wait because this receiver's connection could not be used.
    func wake(receiver: String, at now: Timestamp) async throws(StoreError)
    /// Makes deliveries due that were postponed while the clock was ahead of `now`, lets the quiet times of messages that were made then
    /// be evaluated again, and corrects the receivers' stops of that time.
    func correctFutureTimes(at now: Timestamp) async throws(StoreError)
    /// The next moment at which a delivery for other receivers than these, or a lease, needs attention.
    func nextDue(excluding receivers: Set<String>) async throws(StoreError) -> Timestamp?
    /// Carries out a person's command; returns how many deliveries changed. Deliveries after a dropped one are dropped with it;
    /// those dropped because one died wait again when that one is retried. A retried message that a newer one of its conversation outdates
    /// is dropped and not counted.
    @discardableResult
    func apply(_ command: DeliveryCommand, to deliveries: [Delivery.ID], at now: Timestamp) async throws(StoreError) -> Int
    /// Replaces the arguments of a dead or held delivery. Changes nothing and returns false if it is in another state, or its arguments
    /// are not those that the edit expects.
    func edit(_ edit: DeliveryEdit) async throws(StoreError) -> Bool

    // Queries.

    /// An overview, without expired counts and without expired waits for other events.
    func status(at now: Timestamp) async throws(StoreError) -> StoreStatus
    /// The newest events of the query, or, if it names a place, a page of those that follow: fewer than its limit if they are
    /// large.
    func events(_ query: EventQuery) async throws(StoreError) -> EventPage
    /// The newest deliveries of the query, or a page of those that follow a place, as in ``events(_:)``.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord]
    /// The newest records of the query.
    func decisions(_ query: DecisionQuery) async throws(StoreError) -> [DecisionRecord]
    /// The newest events of a task, or the events with an id, and everything that followed from them.
    func history(_ query: HistoryQuery) async throws(StoreError) -> StoredHistory
    /// A page of the audit: attempts of deliveries, and acts of people.
    func audit(_ query: AuditQuery) async throws(StoreError) -> [AuditRow]
    /// Sets a note, and adds the person's act that caused it to the audit.
    func setNote(
        _ key: String, to value: JSON?, by act: AuditAct, _ facts: JSON.Object, at now: Timestamp
    ) async throws(StoreError)
    /// The number of events and deliveries in each hour since a moment. Counts only the newest (``Activity/most``).
    func activity(since: Timestamp) async throws(StoreError) -> Activity
    /// The range of the newest rows of a query, for reading them page by page, oldest first; nil if there are none.
    func span(of query: EventQuery) async throws(StoreError) -> RowSpan?
    func span(of query: DeliveryQuery) async throws(StoreError) -> RowSpan?
    /// Ends the queries that take long, also those that begin later, because the agent stops: they fail. ``status(at:)`` does not, because
    /// the last metrics need it.
    func endReadsForPeople()

    /// Keeps these scopes and their tasks, however old they are: this process uses them, or is going to.
    func keepScopes(_ scopes: [Scope.ID])
    /// Deletes rows that are older than the retention; returns how many.
    @discardableResult
    func prune(_ retention: Retention, at now: Timestamp) async throws(StoreError) -> Int

    /// Frees memory that it does not need.
    func giveBackMemory() async
    /// Finishes pending writes and closes the store, which cannot be used afterwards.
    func close() async throws(StoreError)
}

extension Store {
    public func tasks(in scopes: [Scope.ID]) async throws(StoreError) -> [Scope.ID: [Snapshot]] {
        try await tasks(in: scopes, isForPeople: false)
    }

    /// The first unrouted events.
    public func unrouted(limit: Int) async throws(StoreError) -> [StoredEvent] { try await unrouted(after: .min, limit: limit) }

    /// When the first timer is due.
    public func nextTimer() async throws(StoreError) -> Timestamp? {
        try await nextTimer(after: .distantPast, besides: WaitingTimers())
    }

    /// The first timers that are due, if none waits.
    public func dueTimers(at now: Timestamp, limit: Int) async throws(StoreError) -> [RuleTimer] {
        try await dueTimers(at: now, limit: limit, besides: WaitingTimers())
    }

    /// All silences, also those that ended recently.
    public func silences() async throws(StoreError) -> [SilenceRecord] { try await silences(includingEnded: true) }

    public func commit(_ poll: PollCommit) async throws(StoreError) -> PollResult { try await commit(poll) {} }

    @discardableResult
    public func route(_ routing: Routing) async throws(StoreError) -> RouteResult { try await route(routing) {} }

    public func claim(
        limit: Int, quotas: [String: ClaimQuota], others: Int, by node: NodeID, until: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Claimed {
        try await claim(ClaimRequest(limit: limit, quotas: quotas, others: others, by: node, until: until, at: now))
    }
}

/// A person's request about deliveries.
public enum DeliveryCommand: String, Sendable, Hashable {
    case retry, drop

    /// The states in which a delivery can be retried or dropped. One that waits for an earlier step must not overtake it.
    public var states: [DeliveryState] {
        self == .retry ? [.available, .quiet, .dead, .held] : [.available, .waiting, .quiet, .dead, .held]
    }
}

/// A person's change to the arguments of a delivery.
public struct DeliveryEdit: Sendable, Hashable {
    public var id: Delivery.ID
    /// The arguments that the person saw.
    public var before: Arguments
    public var after: Arguments
    public var edit: Delivery.Edit

    public init(id: Delivery.ID, before: Arguments, after: Arguments, edit: Delivery.Edit) {
        (self.id, self.before, self.after, self.edit) = (id, before, after, edit)
    }
}

/// How long stored data is kept.
public struct Retention: Sendable, Hashable {
    public var events: Duration
    public var deliveries: Duration
    /// How long the records of common decisions are kept; others are kept as long as events.
    public var commonDecisions: Duration
    /// How long a removed task is remembered.
    public var forgotten: Duration
    public var audit: Duration

    public init(
        events: Duration = .days(30), deliveries: Duration = .days(30), commonDecisions: Duration = .days(7),
        forgotten: Duration = .days(400), audit: Duration = .days(400)
    ) {
        self.events = events
        self.deliveries = deliveries
        self.commonDecisions = commonDecisions
        self.forgotten = forgotten
        self.audit = audit
    }
}

extension Duration {
    public static func days(_ days: Int) -> Duration { .seconds(days * 86_400) }
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
        /// Its file was deleted or replaced while it was open, so its writes are lost (exit 73).
        case lost
        /// Any other database error.
        case other
    }

    public var kind: Kind
    /// One sentence: what happened, where, and what to do.
    public var message: String

    public init(_ kind: Kind, _ message: String) { (self.kind, self.message) = (kind, message) }
}
