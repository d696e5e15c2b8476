public import BellhopCore

/// The effects of rules for some events, and the reasons, found in the store's records and the rules' text. Pure.
public struct Explanation: Sendable {
    public enum Verdict: String, Sendable, CaseIterable {
        case ran
        // The rule's text rules the event out.
        case off, type, source, field
        case conditionFalse = "condition_false"
        case conditionUnknown = "condition_unknown"
        case conditionFailed = "condition_failed"
        case keyFailed = "key_failed"
        case stepFailed = "step_failed"
        case loop
        // A part of the rule.
        case waiting, cancelled
        case notTrueWhenDue = "not_true_when_due"
        case counting, gathering, throttled, once
        /// A later run used the event up; the wait that it began or joined was ended before its time.
        case usedUp = "used_up"
        case endedEarly = "ended_early"
        /// The time in which it could be counted or completed by other events was over.
        case expired
        // It ran, but nothing was sent.
        case silenced, quiet, budget, shadow, canary
        /// No rule has seen the event yet.
        case unrouted
        /// The rule did not see the event: it was paused, or came later.
        case unseen
        /// The records of that time have been deleted.
        case unknown

        /// What the rule did, as a verb phrase.
        public var summary: String {
            switch self {
            case .ran: "ran"
            case .off: "is turned off"
            case .type: "does not name the event's type in `on`"
            case .source: "does not name the event's source in `from`"
            case .field: "waits for changes of other fields"
            case .conditionFalse: "did not run: `when` is false"
            case .conditionUnknown: "did not run: a part of `when` is null"
            case .conditionFailed: "failed in `when`"
            case .keyFailed: "failed: a key has no value"
            case .stepFailed: "failed: a step cannot be made"
            case .loop: "failed: rules trigger each other"
            case .waiting: "waits"
            case .cancelled: "ended the wait of an earlier event because of this one"
            case .notTrueWhenDue: "waited, but `when` did not hold when the time was over"
            case .counting: "counts, and needs more events"
            case .gathering: "gathers further events"
            case .throttled: "was stopped by `throttle`"
            case .once: "was stopped by `once`"
            case .usedUp: "has taken the event into a run of `all`, `sequence`, `count` or `group` with another event"
            case .endedEarly: "had its wait ended: by an event, by a change of the rule or by `bellhop forget`"
            case .expired: "did not get enough other events in the time of `count`, `all` or `sequence`"
            case .silenced: "ran, but a silence kept the messages back"
            case .quiet: "ran, but a quiet time keeps a message back"
            case .budget: "ran, but the budget of writes stopped a step"
            case .shadow: "ran in shadow mode"
            case .canary: "ran in shadow mode, because the canary does not include the task"
            case .unrouted: "has not seen the event yet"
            case .unseen: "did not see the event: it is newer, or was paused"
            case .unknown: "may have run: the records are deleted"
            }
        }
    }

    /// The effect of one rule for one event, and the reason.
    public struct Account: Sendable {
        public var rule: String
        public var verdict: Verdict
        /// A clause; empty if the rule ran.
        public var reason: String
        /// Further facts, as sentences without a full stop.
        public var notes: [String]
        /// The value of each part of the condition, if the condition decided.
        public var parts: [Evaluation.Part]
        public var deliveries: [ExplainedDelivery]
        /// Whether the rule is for events like this one, or the event had any effect on it.
        public var isRelevant: Bool

        /// Whether a replay of the event did something or will do it, but the event itself did not.
        public var ranWhenReplayed: Bool {
            verdict != .ran
                && deliveries.contains {
                    $0.occasion.replayed != nil && ![.shadow, .silenced, .quiet, .dropped].contains($0.state)
                }
        }
    }

    public struct EventAccount: Sendable {
        public var event: StoredEvent
        public var rules: [Account]
        /// The events that its runs emitted.
        public var caused: [StoredEvent]
    }

    /// The oldest first.
    public var events: [EventAccount]
    /// The deliveries that timers made for the task after waits that began with other events.
    public var others: [ExplainedDelivery]
    /// Whether there are older events of the task.
    public var isCut: Bool

    /// - Parameters:
    ///   - book: loaded to explain; nil if the rules do not load. Then only recorded facts are known.
    ///   - rule: the only rule to explain; nil for all.
    ///   - now: the present time, which decides whether waits are over.
    public init(
        _ facts: ExplanationFacts, by book: RuleBook?, rule: String? = nil, tasks: [Scope.ID: [Snapshot]] = [:], at now: Timestamp
    ) {
        isCut = facts.isCut || facts.lacksDeliveries
        let explainer = Explainer(facts, book: book, tasks: tasks, at: now)
        let caused = Dictionary(grouping: facts.caused, by: \.event.cause)
        events = facts.events.map { event in
            let names = rule.map { [$0] } ?? explainer.rules(at: event)
            return EventAccount(
                event: event, rules: names.map { explainer.account(of: $0, at: event) },
                caused: caused[event.event.id] ?? [])
        }
        let explained = Set(events.flatMap(\.rules).flatMap(\.deliveries).map(\.id))
        others = facts.deliveries.filter { !explained.contains($0.id) && (rule == nil || $0.rule == rule) }
    }
}
