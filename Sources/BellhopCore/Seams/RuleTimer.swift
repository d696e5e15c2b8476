/// A timer of a rule: a stored row, so that it survives restarts and missed times are noticed. It ends with its rule.
public struct RuleTimer: Sendable, Hashable, Identifiable {
    /// A rule has at most one timer of a kind and a key.
    public struct ID: Sendable, Hashable {
        public var rule: String
        public var kind: Kind
        /// Distinguishes the timers of one kind; empty if a rule has only one of them.
        public var key: String

        public init(rule: String, kind: Kind, key: String = "") { (self.rule, self.kind, self.key) = (rule, kind, key) }

        public static func == (left: ID, right: ID) -> Bool {
            left.kind == right.kind && left.key.hasBytes(of: right.key) && left.rule.hasBytes(of: right.rule)
        }
    }

    /// The purpose of a timer, with its name in the store.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The rule's `schedule` or `every`.
        case schedule
        /// The end of a wait of `for`.
        case hold
        /// The next flush of a `group`.
        case group
        /// The next step of an escalation. The payload names the run that began it (`run`).
        case escalation
        /// The end of an absence that `none` waits for. The payload names the source, and for a silence the place of the last event
        /// before it (`after`).
        case absence
        /// The beginning of the waits that a new rule begins at once: waits of `for` for known tasks, and absences without `after`. The
        /// key is the source whose tasks are meant; an empty key means all sources. The payload names the task up to which they have begun
        /// (`done`).
        case existing

        /// Whether the timer only makes an event, which then runs its rule.
        public var isOfSchedule: Bool { self == .schedule }
        /// Whether the result depends on the tasks that exist when the timer is due.
        public var looksAtTasks: Bool { reevaluatesCondition || self == .group || self == .existing }
        /// Whether the rule's condition is evaluated again when the timer is due, so that the result depends on the sources at that time.
        public var reevaluatesCondition: Bool { self == .hold || self == .absence || self == .escalation }
    }

    /// If the condition is evaluated again: the source of its occasion; nil if it has none.
    public var source: String? {
        id.kind == .absence ? payload["source"]?.asString : id.key.dividedAtSlashes(into: 2)?[0] ?? id.key
    }

    public var id: ID
    public var due: Timestamp
    /// The facts needed to decide the timer when it is due, and to explain it.
    public var payload: JSON.Object

    /// When the wait, the group or the escalation began: the time of the decision record about its beginning, and not later than the
    /// records of the events that joined it.
    public var begun: Timestamp? {
        get { payload["begun"]?.asInt.map { Timestamp(microseconds: $0) } }
        set { payload["begun"] = newValue.map { .int($0.microseconds) } }
    }

    /// Whether the due time must be computed again first, because a calendar has changed.
    public var isRecomputed: Bool { payload["again"] == true }

    public init(_ id: ID, due: Timestamp, payload: JSON.Object = [:]) { (self.id, self.due, self.payload) = (id, due, payload) }
}

/// Timers that must not fire yet, because they wait for a poll of a source.
public struct WaitingTimers: Sendable, Hashable {
    /// The rules of which all timers wait.
    public var rules: Set<String> = []
    /// The rules of which all absences wait.
    public var absences: Set<String> = []
    /// The sources and connections (``RuleTimer/source``) for which timers wait that evaluate a condition again.
    public var sources: Set<String> = []

    public init() {}
}

/// A change of a rule's timers.
public enum TimerChange: Sendable, Hashable {
    /// Sets the timer, or moves the existing timer with its id.
    case set(RuleTimer)
    case cancel(RuleTimer.ID)

    public var id: RuleTimer.ID {
        switch self {
        case .set(let timer): timer.id
        case .cancel(let id): id
        }
    }
}
