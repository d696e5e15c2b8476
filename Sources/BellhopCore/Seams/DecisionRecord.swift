/// Why a rule that could have run for an occasion did not, or left out a step. A false `when` is not recorded: it can be
/// evaluated again from the event.
public struct DecisionRecord: Sendable, Hashable {
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        case conditionFailed = "condition_failed"
        case keyFailed = "key_failed"
        /// A step could not be made. The run and its other steps took place.
        case stepFailed = "step_failed"
        /// Too many writes by rules led to the event.
        case loop
        case throttled, once
        /// `all`, `sequence` and `none`: `when` did not hold when it was asked.
        case conditionFalse = "condition_false"
        /// `for` and `on: {all, sequence, none}`: the wait has begun; it ended before its time was over; `when` did not hold then.
        case waiting, cancelled
        case notTrueWhenDue = "not_true_when_due"
        /// `count` has not enough yet; `group` has gathered it.
        case counting, gathering
        /// A later run has taken what waited, was counted or was gathered. What an event began or joined was ended before its time.
        case usedUp = "used_up"
        case endedEarly = "ended_early"
        /// A run that came after a wait, a count or a group, or a step of an escalation, had nothing to do: no `if` held.
        case noStep = "no_step"
        /// `escalate`: the escalation has begun, or goes on; it ended because the task was answered; it ended otherwise. None of them
        /// stopped the run.
        case escalating, answered, ended
        /// The budget of a task stopped a step. The run and its other steps took place.
        case budget
        /// A quiet time keeps a message of a step back. The run and its other steps took place.
        case quiet

        /// Whether rules often stop for this reason in normal operation. Such records are kept for a shorter time.
        public var isCommon: Bool {
            switch self {
            case .throttled, .once, .conditionFalse, .waiting, .cancelled, .notTrueWhenDue, .counting, .gathering, .usedUp,
                .endedEarly, .noStep, .escalating, .answered, .ended, .quiet:
                true
            case .conditionFailed, .keyFailed, .stepFailed, .loop, .budget: false
            }
        }
        /// Whether it says what became of an earlier occasion, which waited until then.
        public var isOfEarlier: Bool { self == .usedUp || self == .endedEarly }
        /// Whether the run may still go on by itself.
        public var isWaiting: Bool { self == .waiting || self == .counting || self == .gathering }
        /// Whether it stopped the run, and not only a step.
        public var isOfRun: Bool { ![.stepFailed, .budget, .escalating, .answered, .ended, .quiet].contains(self) }
    }

    public var rule: String
    public var verdict: Verdict
    public var occasion: Occasion.ID
    public var at: Timestamp
    /// The number of the record among the rule's records of this verdict. A routing counts from 1; the store adds the number of
    /// its last record. A missing number means that a record was dropped, because there were too many.
    public var number: Int64
    /// The explanation, by names:
    /// - `error`;
    /// - `part`: the part of the rule that waits, counts or gathers; `key`: its key; `timer`: that of its timer if it is another;
    /// - `until`: when it ends or is judged; `place` and `end`: the places on the bus of the events that began and ended a wait;
    /// - `last`: for `once` and `throttle`, when the run before was;
    /// - `by`: the occasion of another run: of the run before (`once`, `throttle`), of what used it up or ended it, or of what had begun
    ///   the wait or the escalation that it found under way; `event`: the event of that run, if it is of a timer;
    /// - `ending`: why it was ended without an event; `left`: whether it was ended because the task left;
    /// - `left_out`: the steps that were left out, as clauses;
    /// - `step` and `task`: for a budget.
    public var detail: JSON.Object

    /// The most records that are kept of one rule and verdict.
    public static let most = 500

    public init(
        rule: String, verdict: Verdict, occasion: Occasion.ID, at: Timestamp, number: Int64 = 1, detail: JSON.Object = [:]
    ) {
        self.rule = rule
        self.verdict = verdict
        self.occasion = occasion
        self.at = at
        self.number = number
        self.detail = detail
    }

    /// Why what a rule waited for, counted and gathered, or its escalation, was ended by something else than an event.
    public enum Ending: String, Sendable, Hashable, CaseIterable {
        /// The rule was changed, removed, or turned off.
        case changed, removed, off
        /// A person had the rules forget the task.
        case forgotten
    }

    /// The part of the rule that waits, counts or gathers.
    public var part: String? { detail["part"]?.asString }

    /// The place of the event that began the wait that it is about, if it is the record of the begin.
    public var waitPlace: Int64? { verdict == .waiting && !isUnderWay ? detail["place"]?.asInt : nil }

    /// Whether it is about a wait that another run had begun.
    public var isUnderWay: Bool { verdict == .waiting && detail["by"] != nil }

    /// The timer that ends the wait or the group, or that makes the next step of the escalation, if it is about one of these.
    public var timer: RuleTimer.ID? {
        let kind: RuleTimer.Kind
        switch verdict {
        // An event that waits for others has no timer.
        case .waiting where detail["of"] == nil: kind = part == "none" ? .absence : .hold
        case .gathering: kind = .group
        case .escalating: kind = .escalation
        default: return nil
        }
        return (detail["timer"] ?? detail["key"])?.asString.map { RuleTimer.ID(rule: rule, kind: kind, key: $0) }
    }

    /// The error, if an error stopped the rule or the step.
    public var error: String? { detail["error"]?.asString }
}

/// Selects records of decisions, newest last.
public struct DecisionQuery: Sendable, Hashable {
    public var occasion: Occasion.ID?
    public var rule: String?
    public var verdicts: [DecisionRecord.Verdict]
    public var since: Timestamp?
    public var limit: Int

    public init(
        occasion: Occasion.ID? = nil, rule: String? = nil, verdicts: [DecisionRecord.Verdict] = [], since: Timestamp? = nil,
        limit: Int = 50
    ) {
        self.occasion = occasion
        self.rule = rule
        self.verdicts = verdicts
        self.since = since
        self.limit = limit
    }
}
