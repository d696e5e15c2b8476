import BellhopCore

/// A run on its way through the parts of its rule: what it is for, when that was, and the events that led to it.
struct Candidate {
    /// The rule's place in the book.
    var rule: Int
    var occasion: Occasion
    /// The moment from which the next part counts: the time of the event, or when the timer was due.
    var time: Timestamp
    /// The source of its event or task.
    var source: String
    /// The subject of the run, in the form of an event's subject.
    var subject: String
    /// The events that led to it: oldest first, or in the order of `on`.
    var gathered: [Gathered] = []
    /// The index of its own event among them, if it is not the last.
    var own: Int?
    /// Whether it may only end a wait, because its event does not begin a run.
    var hasSeparateEvent = false
    /// The key under which the rule waited, counted or gathered.
    var key: String?
    /// When the rule began to wait, count or gather.
    var since: Timestamp?
    /// The task as it is now, or the element; nil for the task of the event.
    var task: Snapshot?
    var isAnswered = false

    /// The moment from which `group` and `escalate` count: now if its timer comes late, as after downtime.
    func start(at now: Timestamp) -> Timestamp {
        if case .timer = occasion, now - time > RuleSchedule.grace { now } else { time }
    }

    /// Its own event among those that led to it.
    var latest: Gathered? { own.map { gathered[$0] } ?? gathered.last }
}

/// One of the runs that a rule waits for, counts or gathers, as it is stored.
struct Gathered: Sendable, Hashable {
    /// Its name in a window.
    var name: String
    var at: Timestamp
    var source: String
    var subject: String
    /// The place of its event on the bus; nil for a run without an event.
    var event: Int64?
    var task: TaskKey?
    /// The element of a list that it is for.
    var element: Snapshot?
    /// The value of `distinct`: runs with an equal value are counted once.
    var distinct: String?
    /// When it joined a group.
    var joined: Timestamp?
    /// The place in `on` of the entry that it fits.
    var entry: Int?
    /// The time of the replay that caused the run; nil without a replay.
    var replayed: Timestamp?
    /// The name of the sequence's first event, or of the run that several events led to, if it is a part of one.
    var part: String?

    init(_ run: Candidate, event: Int64?, task: TaskKey?, element: Snapshot? = nil) {
        name = run.occasion.id.text
        (at, source, subject) = (run.time, run.source, run.subject)
        if case .replay(_, let at) = run.occasion { replayed = at }
        (self.event, self.task, self.element) = (event, task, element)
    }

    var json: JSON {
        var members: JSON.Object = ["at": .int(at.microseconds), "source": .string(source), "subject": .string(subject)]
        if let event { members["event"] = .int(event) }
        if let task { members["task"] = .string(task.text) }
        if let element { members["element"] = element.json(source: source) }
        if let distinct { members["distinct"] = .string(distinct) }
        if let joined { members["joined"] = .int(joined.microseconds) }
        if let entry { members["entry"] = .int(Int64(entry)) }
        if let part { members["part"] = .string(part) }
        if let replayed { members["replayed"] = .int(replayed.microseconds) }
        return .object(members)
    }

    /// Nil for JSON of another form.
    init?(name: String, json: JSON) {
        guard let at = json["at"]?.asInt, let source = json["source"]?.asString, let subject = json["subject"]?.asString else {
            return nil
        }
        self.name = name
        self.at = Timestamp(microseconds: at)
        (self.source, self.subject) = (source, subject)
        event = json["event"]?.asInt
        task = json["task"]?.asString.map { TaskKey($0) }
        element = json["element"].flatMap(Snapshot.init(json:))
        distinct = json["distinct"]?.asString
        joined = json["joined"]?.asInt.map { Timestamp(microseconds: $0) }
        entry = json["entry"]?.asInt.map { Int($0) }
        part = json["part"]?.asString
        replayed = json["replayed"]?.asInt.map { Timestamp(microseconds: $0) }
    }

    /// Its event, as the beginning of a wait.
    var beginning: Occasion.Beginning? { event.map { .event($0, replayed: replayed) } }

    /// By time, then by the place on the bus.
    static func isBefore(_ first: Gathered, _ second: Gathered) -> Bool {
        (first.at, first.event ?? 0, first.name) < (second.at, second.event ?? 0, second.name)
    }
}
