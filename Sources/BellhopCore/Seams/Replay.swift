/// A stored event that a person had routed again, until that is done: a new occasion for each rule that it makes run.
public struct Replay: Sendable, Hashable {
    public var id: Int64
    public var event: StoredEvent
    /// The only rule that sees it; nil for all.
    public var rule: String?
    /// Whether `once` and `throttle` stop no run.
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
