import BellhopCore
import BellhopRules

/// What rules do in a history, written from what the format says of them.
protocol ExplanationModel {
    /// The rules, as a reload leaves them.
    static func rules(_ version: Int) -> String
    /// The silences of every history, which begins at this moment.
    static func silences(from start: Timestamp) -> [Silence]

    init()

    /// Whether people have events routed again, with the rules' `once` and `throttle` or without.
    static var hasReplays: Bool { get }

    /// What each rule did for each change of a task, by its number.
    var told: [[String: Told]] { get }

    /// The type of the events that come from rules and schedules, if the model tells of them.
    static var own: EventType? { get }
    /// What each rule did for each of these events, in their order.
    var toldOfOwn: [[String: Told]] { get }

    /// How many deliveries belong to no event: those of a source's silence.
    var deliveriesWithoutEvent: Int { get }

    /// A reload, before the changes of a minute come.
    mutating func load(_ version: Int, at minute: Int)
    /// Before the changes of a minute come.
    mutating func arrive(at minute: Int)
    mutating func happen(_ happening: Happening)
    /// The event of a change is routed again.
    mutating func replay(_ happening: Happening, isForced: Bool, at minute: Int)
    /// After the changes of a minute.
    mutating func leave(at minute: Int)
}

extension ExplanationModel {
    static func silences(from start: Timestamp) -> [Silence] { [] }
    static var hasReplays: Bool { false }
    static var own: EventType? { nil }
    var toldOfOwn: [[String: Told]] { [] }
    var deliveriesWithoutEvent: Int { 0 }
    mutating func load(_ version: Int, at minute: Int) {}
    mutating func replay(_ happening: Happening, isForced: Bool, at minute: Int) {}
    mutating func arrive(at minute: Int) {}
    mutating func leave(at minute: Int) {}
}

/// What an explanation must tell of a rule at an event.
struct Told {
    var verdict: Explanation.Verdict
    /// How many deliveries it made.
    var deliveries: Int
    /// The number of the change whose event the reason must name.
    var names: Int?
    /// The minute that the reason must name; nil for that of this event.
    var at: Int?
    /// A part of the reason.
    var reason: String
    /// A part of one of the notes.
    var note: String
    /// When the time of the event, or of its replay that is told in the note, is over, and what is told then.
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
    func until(_ minute: Int, _ reason: String) -> Told {
        var told = self
        told.limit = Limit(minute: minute, reason: reason)
        return told
    }

    /// What must be told at this minute.
    func told(at now: Int) -> Told {
        var told = self
        if let limit, limit.minute <= now {
            (told.verdict, told.reason, told.at) = (.expired, limit.reason, limit.minute)
        }
        if let noteLimit, noteLimit.minute <= now { told.note = noteLimit.reason }
        return told
    }
}
