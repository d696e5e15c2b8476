/// Why a rule that could have run for an occasion did not, or left out a step. A false `when` is not recorded: it can be
/// evaluated again from the event.
public struct DecisionRecord: Sendable, Hashable {
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        case conditionFailed = "condition_failed"
        case keyFailed = "key_failed"
        /// A step could not be made. The rest of the run took place.
        case stepFailed = "step_failed"
        /// Too many writes by rules led to the event.
        case loop
        case throttled, once
        /// `all`, `sequence` and `none`: `when` was false.
        case conditionFalse = "condition_false"
        /// `for` and `on: {all, sequence, none}`: the wait began; it ended early.
        case waiting, cancelled
        /// The wait is over, and `when` is false.
        case notTrueWhenDue = "not_true_when_due"
        /// `count` needs more events; `group` collects further ones.
        case counting, gathering
        /// A later run used the event that waited, was counted or was gathered.
        case usedUp = "used_up"
        /// The wait, count or group that the event began or joined was ended before its time.
        case endedEarly = "ended_early"
        /// No `if` was true in a run after a wait, a count or a group, or in a step of an escalation.
        case noStep = "no_step"
        /// `escalate`: the escalation began or continues; it ended because the task was answered; it ended for another reason. The run
        /// itself was not stopped.
        case escalating, answered, ended
        /// The budget of a task stopped a step. The rest of the run took place.
        case budget
        /// A quiet time keeps back a message of a step. The rest of the run took place.
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
        /// Whether it is about an earlier occasion, which waited until now.
        public var isOfEarlier: Bool { self == .usedUp || self == .endedEarly }
        /// Whether the run may still take place later.
        public var isWaiting: Bool { self == .waiting || self == .counting || self == .gathering }
        /// Whether it stopped the whole run.
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
    /// - `part`: the part of the rule that waits, counts or gathers; `key`: its key; `timer`: the key of its timer, if different;
    /// - `until`: when it ends or is evaluated; `place` and `end`: the places on the bus of the events that began and ended a wait;
    /// - `last`: the time of the previous run (`once`, `throttle`);
    /// - `by`: the occasion of another run: the previous run (`once`, `throttle`), the run that used it up or ended it, or the run that
    ///   began the wait or escalation in progress; `event`: the event of that run, if a timer started it;
    /// - `ending`: why it ended without an event; `left`: whether it ended because the task left;
    /// - `left_out`: the skipped steps, as clauses;
    /// - `values`: the values of the parts of a false `when`, a line each; only in tests;
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

    /// Why a rule's waits, counts, groups or escalation ended without an event.
    public enum Ending: String, Sendable, Hashable, CaseIterable {
        /// The rule was changed, removed, or turned off.
        case changed, removed, off
        /// A person made the rules forget the task (`bellhop forget`).
        case forgotten
    }

    /// The part of the rule that waits, counts or gathers.
    public var part: String? { detail["part"]?.asString }

    /// The place of the event that began the wait, if this record is about that beginning.
    public var waitPlace: Int64? { verdict == .waiting && !isUnderWay ? detail["place"]?.asInt : nil }

    /// Whether it is about a wait that another run had already begun.
    public var isUnderWay: Bool { verdict == .waiting && detail["by"] != nil }

    /// The timer of the wait, the group or the escalation that the record is about; nil for other records.
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
        (self.occasion, self.rule, self.verdicts, self.since, self.limit) = (occasion, rule, verdicts, since, limit)
    }
}
