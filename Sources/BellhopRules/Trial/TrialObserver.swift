public import BellhopCore

/// Observes the decisions of a trial.
public protocol TrialObserver: Sendable {
    /// An event was routed; the records are those of its batch.
    mutating func observe(_ event: StoredEvent, _ decisions: [DecisionRecord], in moment: TrialMoment)
    /// A rule stopped when its timer was due.
    mutating func observe(_ decision: DecisionRecord, of timer: RuleTimer, in moment: TrialMoment)
    /// A batch was decided.
    mutating func observe(_ routing: Routing, in moment: TrialMoment)
    /// A rule had more keys than it may remember.
    mutating func observe(_ loss: KeyLoss, in moment: TrialMoment)
}

/// The facts with which a trial decided.
public struct TrialMoment: Sendable {
    let book: RuleBook
    public let now: Timestamp
    let tasks: [Scope.ID: [Snapshot]]
}
