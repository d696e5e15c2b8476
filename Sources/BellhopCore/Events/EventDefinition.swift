/// A type of event: when it happens, where it comes from, and the members of its `data`.
public struct EventDefinition: Sendable, Hashable {
    public var type: EventType
    /// When it happens, for the documentation.
    public var summary: String
    public var origin: Origin
    /// The members of `data`; those that are not `required` may be absent.
    public var members: [Setting]
    /// Whether `data` may have other members.
    public var isOpen: Bool

    /// The kind of thing that the event's `source` names.
    public enum Origin: Sendable, Hashable {
        /// A source of tasks.
        case tasks
        /// A source that is a page.
        case page
        /// A source of either kind.
        case source
        /// A connection, which is also the name under `from`.
        case connection
        /// The rule whose schedule it is. No other rule gets the event.
        case rule
        /// The source of a delivery's task, or `bellhop`.
        case delivery
        /// Whoever emits it.
        case outside
    }

    public init(_ type: EventType, _ summary: String, from origin: Origin, _ members: [Setting], isOpen: Bool = false) {
        self.type = type
        self.summary = summary
        self.origin = origin
        self.members = members
        self.isOpen = isOpen
    }

    public subscript(key: EventKey) -> Setting? { members.first { $0.name == key.rawValue } }

    /// Whether every such event carries a task.
    public var hasTask: Bool { self[.task]?.required == true }
    /// Whether its `from:` names a connection rather than a source.
    public var isLogin: Bool { origin == .connection }
    /// Whether a rule may name it under `on`, and a test may give it.
    public var canBeNamed: Bool { origin != .rule }
}
