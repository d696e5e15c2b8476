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
        /// How many keys were dropped because it had more than it may remember.
        public var droppedKeys: Int

        public init(
            rule: String, runs: Int, errors: Int, lastError: String?, lastRun: Timestamp?, nextDue: Timestamp?, isOff: Bool,
            droppedKeys: Int = 0
        ) {
            self.droppedKeys = droppedKeys
            self.rule = rule
            self.runs = runs
            self.errors = errors
            self.lastError = lastError
            self.lastRun = lastRun
            self.nextDue = nextDue
            self.isOff = isOff
        }
    }

    /// A receiver that gets no deliveries, or got none for a while.
    public struct StopStatus: Sendable, Hashable {
        public var stop: ReceiverStop
        /// How many deliveries wait for it.
        public var waiting: Int

        public init(stop: ReceiverStop, waiting: Int) { (self.stop, self.waiting) = (stop, waiting) }
    }

    /// The deliveries that one receiver has yet to receive: they wait for an attempt, or are under way.
    public struct BacklogStatus: Sendable, Hashable {
        public var receiver: String
        /// How many of them wait.
        public var waiting: Int
        /// When the oldest of them was made, or released by the quiet time that held it.
        public var since: Timestamp
        /// When the first attempt at the oldest began; nil as long as no attempt counts.
        public var firstAttempt: Timestamp?
        /// Why the latest attempt at the oldest failed; nil if none has.
        public var failure: Failure?
        /// When the oldest is tried again; nil if none has failed, or while it is tried.
        public var next: Timestamp?

        public init(
            receiver: String, waiting: Int, since: Timestamp, firstAttempt: Timestamp? = nil, failure: Failure? = nil,
            next: Timestamp? = nil
        ) {
            self.receiver = receiver
            self.waiting = waiting
            self.since = since
            self.firstAttempt = firstAttempt
            self.failure = failure
            self.next = next
        }

        /// Whether they wait until a person changes something: a login was refused, or a secret is missing.
        public var isUnusable: Bool { failure?.remedy == .pauseConnection }
    }

    /// The waits, counts or gathered runs of one part of a rule.
    public struct WaitStatus: Sendable, Hashable {
        public enum Part: String, Sendable, Hashable, CaseIterable {
            case hold = "for"
            case count, group
            /// `on: {all}` or `{sequence}`; `on: {none}`.
            case match = "on"
            case absence = "none"
            case escalation = "escalate"
        }

        public var rule: String
        public var part: Part
        /// The number of waits of `for`, runs that `count` has, open groups, events that wait for others, absences, or escalations with
        /// steps to come.
        public var count: Int
        /// The runs that open groups have gathered.
        public var gathered: Int
        /// When the next wait, group or absence is over, or the next step comes; nil if there are more than ``most``.
        public var next: Timestamp?

        /// The most waits, runs or groups that are counted; a count of one more means any larger number.
        public static let most = 10_000

        public init(rule: String, part: Part, count: Int, gathered: Int = 0, next: Timestamp? = nil) {
            (self.rule, self.part, self.count, self.gathered, self.next) = (rule, part, count, gathered, next)
        }
    }

    /// Messages that quiet times hold for a receiver until the same moment.
    public struct QuietStatus: Sendable, Hashable {
        public var receiver: String
        public var until: Timestamp
        public var count: Int

        public init(receiver: String, until: Timestamp, count: Int) {
            (self.receiver, self.until, self.count) = (receiver, until, count)
        }
    }

    /// Something that rules wait for: a wait of `for` or an open group.
    public struct UpcomingStatus: Sendable, Hashable {
        public var timer: RuleTimer
        /// The subject, in the form of an event's subject; nil for a group or if it is unknown.
        public var subject: String?
        /// The number of that task; nil for a group or if it is unknown.
        public var number: String?
        /// How many runs a group has gathered.
        public var gathered: Int?

        public init(timer: RuleTimer, subject: String?, number: String?, gathered: Int?) {
            (self.timer, self.subject, self.number, self.gathered) = (timer, subject, number, gathered)
        }
    }

    /// How many runs a rule's `count` has for a key.
    public struct CountStatus: Sendable, Hashable {
        public var rule: String
        public var key: String
        public var count: Int

        public init(rule: String, key: String, count: Int) { (self.rule, self.key, self.count) = (rule, key, count) }
    }

    /// Deliveries that need a person's decision, with the same state, receiver and reason.
    public struct UndecidedStatus: Sendable, Hashable {
        public var state: DeliveryState
        public var receiver: String
        /// Nil if no failure is known.
        public var reason: Failure.Reason?
        public var count: Int

        public init(state: DeliveryState, receiver: String, reason: Failure.Reason?, count: Int) {
            (self.state, self.receiver, self.reason, self.count) = (state, receiver, reason, count)
        }
    }

    public var sources: [SourceStatus]
    public var rules: [RuleStatus]
    /// The stops of the receivers, including those that are over.
    public var stops: [StopStatus]
    /// What each receiver has yet to receive, by the age of its oldest delivery.
    public var backlog: [BacklogStatus] = []
    /// The pauses, except those of receivers, and those by Bellhop of rules that no longer exist.
    public var pauses: [Pause] = []
    /// The waits, counts and groups of rules, by rule.
    public var waits: [WaitStatus] = []
    /// The waits that come due next.
    public var upcoming: [UpcomingStatus] = []
    /// The number of waits after ``upcoming``, counted up to ``WaitStatus/most``.
    public var laterWaits = 0
    /// A few of the unfinished counts of each rule.
    public var counts: [CountStatus] = []
    /// The silences that have not ended.
    public var silences: [SilenceRecord] = []
    /// The messages that quiet times hold, by the ends of these, then by receiver.
    public var quiet: [QuietStatus] = []
    public var deliveries: [DeliveryState: Int]
    /// The `joined` deliveries, by the state of the one that they joined, if that is still stored.
    public var joined: [DeliveryState: Int] = [:]
    /// The dead and held deliveries, by state, then by receiver, those with the most first.
    public var undecided: [UndecidedStatus]
    public var events: Int
    /// Of the events before this moment, only those that rules still need are kept; nil if none was deleted.
    public var prunedUntil: Timestamp?
    public var unrouted: Int
    /// Events that no rule saw because they are unreadable.
    public var damaged: Int

    public init(
        sources: [SourceStatus], rules: [RuleStatus], stops: [StopStatus], deliveries: [DeliveryState: Int],
        undecided: [UndecidedStatus] = [], events: Int, unrouted: Int, damaged: Int = 0
    ) {
        self.sources = sources
        self.rules = rules
        self.stops = stops
        self.deliveries = deliveries
        self.undecided = undecided
        self.events = events
        self.unrouted = unrouted
        self.damaged = damaged
    }
}
