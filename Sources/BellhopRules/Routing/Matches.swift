public import BellhopCore

/// Which rules run for which events or due timers of a batch, before the rules' state and the snapshots are known.
public struct Matches: Sendable {
    /// The events of the batch, matched or not: all, or only the first if matching was expensive.
    public internal(set) var events: [StoredEvent] = []
    /// The timers, if the batch is of timers.
    public internal(set) var timers: [RuleTimer] = []
    /// How many events or timers these are.
    var count = 0
    /// The rules' state that deciding needs.
    public internal(set) var stateKeys: [StateKey] = []
    /// The scopes whose tasks deciding needs.
    public internal(set) var scopesNeeded: [Scope.ID] = []
    var runs: [Run] = []
    /// What the runs are for that are for more than an event of the batch.
    var contexts: [RunContext] = []

    /// Whether no rule matches any of the events: deciding then only marks them as routed.
    public var isEmpty: Bool { runs.isEmpty && timers.isEmpty }

    /// A run of a rule, unless the rule's state prevents it.
    struct Run: Sendable {
        /// The place in the batch of what it is for.
        var place: Int
        /// The rule's place in the book.
        var rule: Int
        /// The place of its context; nil if it is for the event alone.
        var context: Int?
        /// False if the condition depends on the time or the snapshots.
        var isCertain = true
        var once: String?
        var throttle: String?
        /// Why the run cannot take place, if the condition holds or has failed.
        var stop: Stop?
    }
}

/// What stopped a run of a rule, or one of its steps.
struct Stop: Sendable {
    var verdict: DecisionRecord.Verdict
    var detail: JSON.Object

    /// An error of the rule.
    static func failed(_ verdict: DecisionRecord.Verdict, _ error: String) -> Stop {
        Stop(verdict: verdict, detail: ["error": .string(error)])
    }
}

/// What a run is for if it is for more than an event of the batch: a timer that came due, an element of a list.
struct RunContext: Sendable {
    /// The rule's place in the book.
    var rule: Int
    var occasion: Occasion
    /// The source of the run's event or task.
    var source: String
    /// What the run is about, as an event's subject.
    var subject: String
    /// The events that led to the run, oldest first.
    var events: [StoredEvent] = []
    /// The place among them of the run's event; nil for a run without one.
    var event: Int?
    /// The key under which the rule gathered the events.
    var key: String?
    /// The task as it is now, or the element; nil for the task of the event.
    var task: Snapshot?

    var hop: Int { events.lazy.map(\.event.hop).max() ?? 0 }
}
