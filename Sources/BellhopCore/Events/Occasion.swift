/// What triggers one run of a rule: an event, or a due timer of the rule.
public enum Occasion: Sendable, Hashable {
    case event(Event.ID)
    case timer(rule: String, key: String, due: Timestamp)

    /// The occasion's permanent name in the store.
    public var id: ID {
        switch self {
        case .event(let id): ID("event/" + id.text)
        case .timer(let rule, let key, let due): ID("timer/\(rule)/\(key)/\(due.microseconds)")
        }
    }

    public struct ID: Sendable, Hashable {
        public var text: String
        public init(_ text: String) { self.text = text }
    }
}
