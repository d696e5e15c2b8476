/// What stopped a rule that came into question for an occasion: everything but a plain `when`, whose answer is computed again from
/// the event.
public struct DecisionRecord: Sendable, Hashable {
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        case conditionFailed = "condition_failed"
        case keyFailed = "key_failed"
        /// A step could not be made. The run and its other steps took place.
        case stepFailed = "step_failed"
        /// Too many writes by rules led to the event.
        case loop
        case throttled, once
        /// The budget of a task stopped a step. The run and its other steps took place.
        case budget

        /// Whether rules stop like this in their daily work. Such records are kept for a shorter time.
        public var isCommon: Bool { self == .throttled || self == .once }
        /// Whether it stopped the run, and not only a step.
        public var isOfRun: Bool { self != .stepFailed && self != .budget }
    }

    public var rule: String
    public var verdict: Verdict
    public var occasion: Occasion.ID
    public var at: Timestamp
    /// Counts the rule's records of this verdict: those of a routing from 1, which the store adds to those that it has. Numbers
    /// that are missing were too many to keep.
    public var number: Int64
    /// What explains it: the `error`, the `key` of `once`, the `last` run before a throttle's, the `step` and `task` of a budget.
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

    /// The error, if it was one.
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
