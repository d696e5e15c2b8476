/// Selects the records that the store has kept about a task or an event.
public struct HistoryQuery: Sendable, Hashable {
    /// The task's event subject, or the end of one (its key), or its number.
    public var task: String?
    /// The id of an event, or its beginning.
    public var event: String?
    /// The last place on the bus: selects the events at the latest places up to it, `limit` places in all.
    public var through: Int64?
    /// Whether to add the events that caused these, and all events that they caused, up to ``maxCauses``.
    public var withCauses: Bool
    /// The most events: the newest ones.
    public var limit: Int

    public init(
        task: String? = nil, event: String? = nil, through: Int64? = nil, withCauses: Bool = false, limit: Int = 50
    ) {
        self.task = task
        self.event = event
        self.through = through
        self.withCauses = withCauses
        self.limit = limit
    }

    /// The most events that one explanation has.
    public static let maxEvents = 10_000

    /// The most deliveries, and the most events that they caused.
    public static let most = 2000

    /// The most events of chains of causes, so that a long chain ends.
    public static let maxCauses = 200
}

/// The records that the store has kept about some events, all read at the same moment.
public struct StoredHistory: Sendable, Hashable {
    /// The oldest first.
    public var events: [StoredEvent]
    /// Whether there are older events of the task.
    public var isCut = false
    /// The places of events that no rule has seen yet.
    public var unrouted: Set<Int64> = []
    /// The deliveries made for these events, for timers that they began, and for their tasks; the oldest first.
    public var deliveries: [DeliveryRecord] = []
    /// If these events came during waits that earlier events had begun: the deliveries for the timers of these waits.
    public var earlier: [DeliveryRecord] = []
    /// The records of why rules stopped at these events and at the timers that they began, and of earlier waits for their tasks and
    /// their ends; the oldest first.
    public var decisions: [DecisionRecord] = []
    /// The entries of the audit about these deliveries' attempts, and about changes of rules since the first event.
    public var audit: [AuditRow] = []
    /// The events that runs for these events emitted.
    public var caused: [StoredEvent] = []
    public var pauses: [Pause] = []
    /// The timers of the decisions, and of the silences that these events may have restarted.
    public var timers: [RuleTimer] = []
    public var rules: [RegisteredRule] = []

    /// A rule as the store knows it.
    public struct RegisteredRule: Sendable, Hashable {
        public var name: String
        public var revision: String
        /// The last place on the bus that it does not see.
        public var since: Int64

        public init(name: String, revision: String, since: Int64) {
            (self.name, self.revision, self.since) = (name, revision, since)
        }
    }

    public init(events: [StoredEvent]) { self.events = events }
}
