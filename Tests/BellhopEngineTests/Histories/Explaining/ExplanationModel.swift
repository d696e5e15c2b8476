import BellhopCore
import BellhopRules

/// A model of what explanations must say about rules in a history, written from the format's documentation.
protocol ExplanationModel {
    /// The rules, as a reload leaves them.
    static func rules(_ version: Int) -> String
    /// The silences of every history, which begins at this moment.
    static func silences(from start: Timestamp) -> [Silence]

    init()

    /// Whether people have events routed again, with the rules' `once` and `throttle` or without.
    static var hasReplays: Bool { get }

    /// What must be explained about each rule for each change of a task, by the change's number.
    var expected: [[String: Expected]] { get }

    /// The type of the events from rules or schedules that the model covers; nil if it covers none.
    static var own: EventType? { get }
    /// What must be explained about each rule for each of these events, in their order.
    var expectedOfOwn: [[String: Expected]] { get }

    /// The number of deliveries without an event: those of a source's silence.
    var deliveriesWithoutEvent: Int { get }

    /// A reload, before the changes of a minute.
    mutating func load(_ version: Int, at minute: Int)
    /// Fires what is due before the changes of a minute.
    mutating func beforeChanges(at minute: Int)
    mutating func apply(_ change: TaskChange)
    /// The event of a change is routed again.
    mutating func replay(_ change: TaskChange, isForced: Bool, at minute: Int)
    /// Fires what is due after the changes of a minute.
    mutating func afterChanges(at minute: Int)
}

extension ExplanationModel {
    /// A minute of the history, as a reason names it.
    static func clock(_ minute: Int) -> String {
        "2026-01-05T\(minute < 60 ? "09" : minute < 120 ? "10" : "11"):\(minute % 60 < 10 ? "0" : "")\(minute % 60):00Z"
    }

    static func silences(from start: Timestamp) -> [Silence] { [] }
    static var hasReplays: Bool { false }
    static var own: EventType? { nil }
    var expectedOfOwn: [[String: Expected]] { [] }
    var deliveriesWithoutEvent: Int { 0 }
    mutating func load(_ version: Int, at minute: Int) {}
    mutating func replay(_ change: TaskChange, isForced: Bool, at minute: Int) {}
    mutating func beforeChanges(at minute: Int) {}
    mutating func afterChanges(at minute: Int) {}
}

/// What an explanation must say about a rule at an event.
struct Expected {
    var verdict: Explanation.Verdict
    var deliveries: Int
    /// The number of the change whose event the reason must name.
    var names: Int?
    /// The minute that the reason must name; nil for that of this event.
    var at: Int?
    var reason: String
    /// A part of one of the notes.
    var note: String
    /// When the time of the event, or of the replay in its note, is over, and the reason from then on.
    var (limit, noteLimit): (Limit?, Limit?)

    struct Limit {
        var minute: Int
        var reason: String
    }

    init(
        _ verdict: Explanation.Verdict, deliveries: Int? = nil, names: Int? = nil, at: Int? = nil, _ reason: String = "",
        note: String = ""
    ) {
        self.verdict = verdict
        self.deliveries = deliveries ?? (verdict == .ran ? 1 : 0)
        (self.names, self.at) = (names, at)
        self.reason = reason
        self.note = note
    }

    /// Adds that the event has time until this minute.
    func until(_ minute: Int, _ reason: String) -> Expected {
        var expected = self
        expected.limit = Limit(minute: minute, reason: reason)
        return expected
    }

    /// What an explanation made at this minute must say.
    func explained(at now: Int) -> Expected {
        var expected = self
        if let limit, limit.minute <= now {
            (expected.verdict, expected.reason, expected.at) = (.expired, limit.reason, limit.minute)
        }
        if let noteLimit, noteLimit.minute <= now { expected.note = noteLimit.reason }
        return expected
    }
}
