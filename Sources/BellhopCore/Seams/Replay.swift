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
        self.id = id
        self.event = event
        self.rule = rule
        self.isForced = isForced
        self.at = at
    }

    public var occasion: Occasion { .replay(of: event.event.id, at: at) }
}
