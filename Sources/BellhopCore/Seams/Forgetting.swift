/// A task that the store knows: from its sources' listings, or because rules wait for it.
public struct NamedTask: Sendable, Hashable {
    /// As in its events.
    public var subject: String
    public var key: TaskKey
    /// Empty if the task was pruned and no source has shown it since.
    public var number: String
    public var title: String

    public init(subject: String, key: TaskKey, number: String, title: String) {
        (self.subject, self.key, self.number, self.title) = (subject, key, number, title)
    }
}

/// A number of waits, keys or held messages that a rule lost because a person asked Bellhop to forget a task.
public struct Forgotten: Sendable, Hashable {
    public var rule: String
    /// Nil for messages that a quiet time held.
    public var kind: StateKey.Kind?
    public var count: Int

    public init(rule: String, kind: StateKey.Kind?, count: Int) { (self.rule, self.kind, self.count) = (rule, kind, count) }
}
