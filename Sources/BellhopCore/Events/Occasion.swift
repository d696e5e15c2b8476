/// The reason for a run of a rule. It is part of each delivery's key, so that a run that is decided twice delivers only once.
public enum Occasion: Sendable, Hashable {
    case event(Event.ID)
    /// A timer of a rule that came due. What began the wait distinguishes two waits for the same time, which are possible after the
    /// clock was set back.
    case timer(RuleTimer.ID, due: Timestamp, Beginning? = nil)
    /// One element of a list that a rule runs through because of this event.
    case element(of: Event.ID, key: String)
    /// A step of the escalation that a run began: its place in the list, and how often it was repeated before.
    case escalation(of: ID, step: Int, repetition: Int)
    /// The end of the escalation that a run began.
    case escalationEnd(of: ID)
    /// An event that a person had routed again.
    case replay(of: Event.ID, at: Timestamp)

    /// What began the wait of a timer.
    public enum Beginning: Sendable, Hashable {
        /// The event at this place on the bus, or its replay.
        case event(Int64, replayed: Timestamp? = nil)
        /// The silence after the event at this place; the run is not about that event.
        case silence(after: Int64)

        fileprivate var text: String {
            switch self {
            case .event(let place, let replayed): "-\(place)\(replayed.map { "r\($0.microseconds)" } ?? "")"
            case .silence(let place): "+\(place)"
            }
        }
    }

    /// The occasion's permanent name in the store. Rules, kinds and events have no slash in their names; keys may have.
    public var id: ID {
        switch self {
        case .event(let id): ID("event/" + id.text)
        case .timer(let timer, let due, let beginning):
            ID("timer/\(timer.kind.rawValue)/\(timer.rule)/\(due.microseconds)\(beginning?.text ?? "")/\(timer.key)")
        case .element(let event, let key): ID("element/\(event.text)/\(key)")
        case .escalation(let run, let step, let repetition): ID("escalation/\(step)/\(repetition)/\(run.text)")
        case .escalationEnd(let run): ID("escalation/end/0/\(run.text)")
        case .replay(let event, let at): ID("replay/\(event.text)/\(at.microseconds)")
        }
    }

    public struct ID: Sendable, Hashable {
        public var text: String
        public init(_ text: String) { self.text = text }

        /// Whether a person had the run's event routed again.
        public var isReplay: Bool { text.hasPrefix("replay/") }

        /// The event of the run, or of the run that began the escalation; nil for a run without an event, such as that of a timer.
        public var event: Event.ID? {
            if text.hasPrefix("escalation/") {
                let parts = text.split(separator: "/", maxSplits: 3)
                return parts.count == 4 ? ID(String(parts[3])).event : nil
            }
            let parts = text.split(separator: "/", maxSplits: 2)
            guard parts.count >= 2, ["event", "element", "replay"].contains(parts[0]) else { return nil }
            return Event.ID(String(parts[1]))
        }
    }
}

extension Occasion.ID {
    /// The run that began the escalation, if it is of one; otherwise itself.
    public var run: Occasion.ID {
        let parts = text.split(separator: "/", maxSplits: 3)
        return parts.count == 4 && parts[0] == "escalation" ? Occasion.ID(String(parts[3])) : self
    }

    /// Whether it is of the event, or of a timer that the event began.
    public func isFor(_ event: StoredEvent) -> Bool { self.event == event.event.id || begun == event.sequence }

    /// The key of the wait that was over, if it is of the timer of one.
    public var wait: String? {
        let parts = text.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        return parts.count == 5 && parts[0] == "timer" && ["hold", "absence"].contains(parts[1]) ? String(parts[4]) : nil
    }

    /// The place of the event that began the timer, if it is of one.
    public var begun: Int64? { begin.first.flatMap { Int64($0) } }

    /// When the run's event was routed again, if it is of that replay, or of a timer or an escalation that the replay began.
    public var replayed: BellhopCore.Timestamp? {
        let run = run
        let at = run.isReplay ? run.text.split(separator: "/").last : run.begin.dropFirst().first
        return at.flatMap { Int64($0) }.map { Timestamp(microseconds: $0) }
    }

    /// The place of the last event before the silence, if it is of one.
    public var silence: Int64? { times.split(separator: "+").dropFirst().first.flatMap { Int64($0) } }

    /// When the timer was due, if the occasion is one.
    public var due: BellhopCore.Timestamp? {
        times.split { $0 == "-" || $0 == "+" }.first.flatMap { Int64($0) }.map { Timestamp(microseconds: $0) }
    }

    /// The event that began the timer, if the occasion is a timer: the event's place, and the time of its replay.
    private var begin: [Substring] {
        let times = times
        return times.lastIndex(of: "-").map { times[times.index(after: $0)...].split(separator: "r") } ?? []
    }

    /// When the timer was due, and what began it; empty if the occasion is no timer.
    private var times: Substring {
        let parts = run.text.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        return parts.count == 5 && parts[0] == "timer" ? parts[3] : ""
    }
}
