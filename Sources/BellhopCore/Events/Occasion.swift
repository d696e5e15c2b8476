/// The reason for a run of a rule. It is part of each delivery's key, so that a run that is decided twice delivers only once.
public enum Occasion: Sendable, Hashable {
    case event(Event.ID)
    /// A timer of a rule that came due. The beginning of its wait distinguishes two waits until the same time, which are possible after
    /// the clock was set back.
    case timer(RuleTimer.ID, due: Timestamp, Beginning? = nil)
    /// One element of a list that a rule runs through because of this event.
    case element(of: Event.ID, key: String)
    /// A step of the escalation that a run began: its place in the list, and how often it was repeated before.
    case escalation(of: ID, step: Int, repetition: Int)
    /// The end of the escalation that a run began.
    case escalationEnd(of: ID)
    /// An event that a person replayed.
    case replay(of: Event.ID, at: Timestamp)

    /// The beginning of a timer's wait.
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

    /// The occasion's permanent name in the store. Only keys may contain a slash; names of rules, kinds and events do not.
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

        public static func == (left: ID, right: ID) -> Bool { left.text.hasBytes(of: right.text) }

        /// Whether the run is of an event that a person replayed.
        public var isReplay: Bool { text.hasPrefix("replay/") }

        /// The event of the run, or of the run that began the escalation; nil for a run without an event, such as that of a timer.
        public var event: Event.ID? {
            guard let parts = text.dividedAtSlashes(into: 2) else { return nil }
            return switch parts[0] {
            case "event": Event.ID(parts[1])
            case "element", "replay": parts[1].dividedAtSlashes(into: 2).map { Event.ID($0[0]) }
            case "escalation": parts[1].dividedAtSlashes(into: 3).flatMap { ID($0[2]).event }
            default: nil
            }
        }
    }
}

extension Occasion {
    /// Parses a permanent name; nil if it is invalid.
    public init?(_ id: ID) {
        guard let whole = id.text.dividedAtSlashes(into: 2) else { return nil }
        func parts(_ count: Int) -> [String]? { whole[1].dividedAtSlashes(into: count) }
        switch whole[0] {
        case "event": self = .event(Event.ID(whole[1]))
        case "element":
            guard let parts = parts(2) else { return nil }
            self = .element(of: Event.ID(parts[0]), key: parts[1])
        case "replay":
            guard let parts = parts(2), let at = Int64(parts[1]) else { return nil }
            self = .replay(of: Event.ID(parts[0]), at: Timestamp(microseconds: at))
        case "timer":
            guard let parts = parts(4), let kind = RuleTimer.Kind(rawValue: parts[0]) else { return nil }
            // A time before 1970 begins with a minus.
            let mark = parts[2].dropFirst().firstIndex { $0 == "-" || $0 == "+" } ?? parts[2].endIndex
            guard let due = Int64(parts[2][..<mark]) else { return nil }
            self = .timer(
                RuleTimer.ID(rule: parts[1], kind: kind, key: parts[3]), due: Timestamp(microseconds: due),
                Beginning(parts[2][mark...]))
        case "escalation":
            guard let parts = parts(3), let repetition = Int(parts[1]) else { return nil }
            let run = ID(parts[2])
            if parts[0] == "end" {
                self = .escalationEnd(of: run)
            } else {
                guard let step = Int(parts[0]) else { return nil }
                self = .escalation(of: run, step: step, repetition: repetition)
            }
        default: return nil
        }
    }
}

extension Occasion.Beginning {
    fileprivate init?(_ text: Substring) {
        let parts = text.dropFirst().split(separator: "r")
        guard let place = parts.first.flatMap({ Int64($0) }) else { return nil }
        if text.first == "+" {
            self = .silence(after: place)
        } else {
            self = .event(place, replayed: parts.dropFirst().first.flatMap { Int64($0) }.map { Timestamp(microseconds: $0) })
        }
    }
}

extension Occasion.ID {
    /// For an escalation: the run that began it. Otherwise the occasion itself.
    public var run: Occasion.ID {
        switch Occasion(self) {
        case .escalation(let run, _, _)?, .escalationEnd(let run)?: run
        default: self
        }
    }

    /// Whether the run comes from the event: directly, by a timer that the event began, or by the silence after the event.
    public func isFor(_ event: StoredEvent) -> Bool {
        self.event == event.event.id || (begun ?? lastBefore) == event.sequence
    }

    /// For the timer of a wait: the key of the wait; otherwise nil.
    public var wait: String? {
        guard case .timer(let timer, _, _)? = Occasion(self), timer.kind == .hold || timer.kind == .absence else { return nil }
        return timer.key
    }

    /// For a timer that an event began: the event's place on the bus; otherwise nil.
    public var begun: Int64? {
        guard case .timer(_, _, .event(let place, _)?)? = Occasion(run) else { return nil }
        return place
    }

    /// For the timer of a silence: the place of the last event before the silence; otherwise nil.
    public var lastBefore: Int64? {
        guard case .timer(_, _, .silence(let place)?)? = Occasion(run) else { return nil }
        return place
    }

    /// For a timer: when it was due; otherwise nil.
    public var due: Timestamp? {
        guard case .timer(_, let due, _)? = Occasion(run) else { return nil }
        return due
    }

    /// For a replay, and a timer or an escalation that it began: when the event was replayed; otherwise nil.
    public var replayed: Timestamp? {
        switch Occasion(run) {
        case .replay(_, let at)?: at
        case .timer(_, _, .event(_, let at)?)?: at
        default: nil
        }
    }
}

/// A person's request to route a stored event again, kept until that is done. For each rule that runs it is a new occasion.
public struct Replay: Sendable, Hashable {
    public var id: Int64
    public var event: StoredEvent
    /// The only rule that sees it; nil for all.
    public var rule: String?
    /// Whether the rules' `once` and `throttle` are ignored.
    public var isForced: Bool
    /// When the person asked for it.
    public var at: Timestamp

    public init(id: Int64, event: StoredEvent, rule: String? = nil, isForced: Bool = false, at: Timestamp) {
        (self.id, self.event, self.rule, self.isForced, self.at) = (id, event, rule, isForced, at)
    }

    public var occasion: Occasion { .replay(of: event.event.id, at: at) }
}
