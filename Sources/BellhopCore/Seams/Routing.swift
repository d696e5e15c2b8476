/// The results of one batch of events or due timers, stored in one transaction (T2) that also marks these as done.
public struct Routing: Sendable {
    /// The places on the bus of these events.
    public var routed: [Int64]
    /// The replay that this routing completes, if any.
    public var replayed: Int64?
    /// The timers that came due, as they were read. They end, unless `timers` sets them again.
    public var fired: [RuleTimer]
    public var deliveries: [Delivery]
    public var state: [StateWrite]
    public var timers: [TimerChange]
    /// Events caused by routing itself (`schedule_due`, `delivery_dead` for a delivery that was created dead).
    public var events: [Event]
    public var tallies: [RuleTally]
    /// Why rules stopped: the latest records of each rule and verdict.
    public var decisions: [DecisionRecord]
    /// When it was decided. It counts as the last use of the state that it writes.
    public var at: Timestamp

    public init(
        routed: [Int64] = [], fired: [RuleTimer] = [], deliveries: [Delivery] = [], state: [StateWrite] = [],
        timers: [TimerChange] = [], events: [Event] = [], tallies: [RuleTally] = [],
        decisions: [DecisionRecord] = [], at: Timestamp = .distantPast
    ) {
        self.at = at
        self.routed = routed
        self.fired = fired
        self.deliveries = deliveries
        self.state = state
        self.timers = timers
        self.events = events
        self.tallies = tallies
        self.decisions = decisions
    }
}

/// The result of storing a routing.
public enum RouteResult: Sendable, Hashable {
    case stored
    /// Stored, and rules had more keys than they may remember.
    case storedWithKeyLoss([KeyLoss])
    /// Its events were already routed; this routing was not stored.
    case alreadyRouted
    /// The stored state has changed since it was read. The routing was not stored, and the batch must be decided again.
    case conflict(RouteConflict)
}

/// The keys that a rule lost because it had more than the store keeps for one rule.
public struct KeyLoss: Sendable, Hashable {
    public var rule: String
    /// The number of dropped keys that had not expired: the least recently used ones.
    public var dropped: Int
    /// The most keys that the rule may remember.
    public var most: Int
    /// Whether the rule was paused, because keys of `once` and escalations are never dropped.
    public var isStopped: Bool

    public init(rule: String, dropped: Int, most: Int, isStopped: Bool) {
        (self.rule, self.dropped, self.most, self.isStopped) = (rule, dropped, most, isStopped)
    }
}

/// A change in the store since a routing was decided.
public enum RouteConflict: Error, Sendable, Hashable {
    /// Some of the events were routed meanwhile.
    case events
    case state(StateKey)
    /// The timer has moved or is gone.
    case timer(RuleTimer.ID)
    /// The silence with this id, which keeps a delivery back, has ended.
    case silence(String)
}

/// How often a rule ran and failed in a batch; the store adds it up.
public struct RuleTally: Sendable, Hashable {
    public var rule: String
    public var runs: Int
    public var errors: Int
    public var lastError: String?
    public var at: Timestamp

    public init(rule: String, runs: Int, errors: Int, lastError: String? = nil, at: Timestamp) {
        (self.rule, self.runs, self.errors, self.lastError, self.at) = (rule, runs, errors, lastError, at)
    }
}

/// The rules in force after a registration.
public struct RegisteredRules: Sendable, Hashable {
    /// For each rule, the place on the bus after which it sees events.
    public var since: [String: Int64]
    /// What ended of the rules that were changed, turned off or removed, if anything did.
    public var ended: [EndedWaits] = []

    public init(since: [String: Int64]) { self.since = since }
}

/// What a rule was waiting for when it was changed, turned off or removed.
public struct EndedWaits: Sendable, Hashable {
    public var rule: String
    /// The number of events that waited, or were counted or gathered.
    public var waits: Int
    public var escalations: Int

    public init(rule: String, waits: Int, escalations: Int) {
        (self.rule, self.waits, self.escalations) = (rule, waits, escalations)
    }
}

/// A rule as registered in the store.
public struct RuleRegistration: Sendable, Hashable {
    public var name: String
    public var revision: String
    /// The next time its schedule is due, and the schedule's text; nil without a schedule.
    public var schedule: Schedule?
    /// The text of the parts that decide whether it runs, waits, counts or gathers. If it differs from the stored one, its waits, counts
    /// and groups end and start again. Nil for a rule that is turned off.
    public var waits: String?
    /// The calendars of its waits: if they differ from the stored ones, due times are computed again. Nil if it has none.
    public var calendars: String?
    /// The most keys that it may remember.
    public var maxKeys: Int
    /// Whether some of its waits begin without an event, when it is first loaded or a source gets its baseline: `existing`, or `none`
    /// without `after`.
    public var beginsByItself: Bool
    /// The sources and connections for each of which such waits begin. If there are more than the stored ones, they begin for the added
    /// ones alone.
    public var sources: [String]
    /// Whether its runs receive the events since the previous run. A rule that is new, or did not read them before, starts now.
    public var readsEvents: Bool
    /// True for a rule that is turned off (`enabled: false`).
    public var isOff: Bool

    /// The default.
    public static let maxKeys = 100_000

    public struct Schedule: Sendable, Hashable {
        /// The timer's definition: if it differs from the stored one, the timer is reset.
        public var text: String
        public var next: Timestamp

        public init(text: String, next: Timestamp) { (self.text, self.next) = (text, next) }
    }

    public init(
        name: String, revision: String, schedule: Schedule? = nil, waits: String? = nil, beginsByItself: Bool = false,
        sources: [String] = [], readsEvents: Bool = false, isOff: Bool = false, calendars: String? = nil,
        maxKeys: Int = RuleRegistration.maxKeys
    ) {
        self.calendars = calendars
        self.maxKeys = maxKeys
        self.name = name
        self.revision = revision
        self.schedule = schedule
        self.waits = waits
        self.beginsByItself = beginsByItself
        self.sources = sources
        self.readsEvents = readsEvents
        self.isOff = isOff
    }
}
