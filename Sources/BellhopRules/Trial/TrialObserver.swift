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
    let state: RuleState
    let events: TrialEvents

    /// The events that a run of a rule receives at this event of its schedule.
    func digest(of rule: Rule, at event: StoredEvent) -> Digest {
        let last = state[rule.digestKey]?["event"]?.asInt ?? .min
        return events.digest(book.facts.digestQuery(of: rule, after: last, before: event.sequence))
    }
}
