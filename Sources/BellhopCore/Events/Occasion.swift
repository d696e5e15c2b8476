/// What one run of a rule is for: an event, or a due timer of the rule's own.
public enum Occasion: Sendable, Hashable {
    case event(Event.ID)
    case timer(rule: String, key: String, due: Timestamp)

    /// The occasion's name in the store; the same occasion has the same name for ever.
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
