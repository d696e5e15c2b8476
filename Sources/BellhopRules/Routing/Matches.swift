public import BellhopCore

/// Which rules run for which events or due timers of a batch, before the rules' state and the snapshots are known.
public struct Matches: Sendable {
    /// The events of the batch, matched or not: all, or only the first if matching was expensive.
    public internal(set) var events: [StoredEvent] = []
    /// The timers, if the batch is of timers.
    public internal(set) var timers: [RuleTimer] = []
    /// The replay to which the batch's only event belongs.
    public internal(set) var replay: Replay?
    /// The number of events or timers in the batch.
    var count = 0
    /// The facts that deciding certainly needs from the store.
    public internal(set) var needs = RoutingNeeds()
    var runs: [Run] = []
    /// The waits that events of the batch end, in the order of the events.
    var endings: [Ending] = []
    /// The places of events that may answer or end escalations of their tasks.
    var answers: [Int] = []
    /// For rules that read digests: the place on the bus after which they see events.
    var starts: [Int: Int64] = [:]

    /// Whether the events start no run and end no wait or escalation. Deciding then only marks them as routed.
    public var isEmpty: Bool { runs.isEmpty && endings.isEmpty && answers.isEmpty && timers.isEmpty }

    /// Leaves out the events from this place on.
    mutating func end(before place: Int) {
        (events, count) = (Array(events[..<place]), place)
        runs.removeAll { $0.place >= place }
        endings.removeAll { $0.place >= place }
        answers.removeAll { $0 >= place }
    }

    /// A rule and an event of the batch that may make it run.
    struct Run: Sendable {
        /// The event's place in the batch.
        var place: Int
        /// The rule's place in the book.
        var rule: Int
        /// Whether `on` and `from` name the event. Other events can only end a wait of the rule.
        var fits = true
        /// Nil if the condition depends on the time or the snapshots, or is evaluated for each element of a list.
        var condition: Condition?
        /// The keys of a rule without parts that wait, count or gather. Other rules compute their keys later.
        var keys = RunKeys()
    }

    /// An event on which the conditions of rules that wait do not hold. It ends their waits, if there are any.
    struct Ending: Sendable {
        /// The event's place in the batch.
        var place: Int
        /// The rules' places in the book.
        var rules: [Int]
        /// The key for which the rules may wait, with its source.
        var wait: String
    }

    /// The result of a rule's condition for a run.
    enum Condition: Sendable {
        case holds
        /// It is false or unknown.
        case doesNotHold
        case failed(Stop)
    }
}

/// The reason why a run of a rule, or one of its steps, was stopped.
struct Stop: Sendable {
    var verdict: DecisionRecord.Verdict
    var detail: JSON.Object

    static func failed(_ verdict: DecisionRecord.Verdict, _ error: String) -> Stop {
        Stop(verdict: verdict, detail: ["error": .string(error)])
    }
}

/// The context of a run that is not only for an event of the batch: a timer that came due, an element of a list, gathered events.
struct RunContext: Sendable {
    var occasion: Occasion
    /// The source of the run's event or task.
    var source: String
    /// The subject of the run, in the form of an event's subject.
    var subject: String
    /// The events that led to the run, oldest first.
    var events: [StoredEvent] = []
    /// The elements of lists that some of them are for, by their places.
    var elements: [Int: (source: String, task: Snapshot)] = [:]
    /// The place among them of the run's event; nil for a run without one.
    var event: Int?
    /// Whether the last event is the run's own, but did not lead to the run.
    var hasSeparateEvent = false
    /// The key under which the rule waited, counted or gathered.
    var key: String?
    /// When the rule began to wait, count or gather.
    var since: Timestamp?
    /// The task as it is now, or the element; nil for the task of the event.
    var task: Snapshot?
    var isAnswered = false

    var hop: Int { events.lazy.map(\.event.hop).max() ?? 0 }
}
