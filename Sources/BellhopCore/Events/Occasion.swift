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
