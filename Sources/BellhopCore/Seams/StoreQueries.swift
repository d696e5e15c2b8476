/// Selects events, newest last.
public struct EventQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// Only those stored up to this place.
    public var through: Int64?
    public var types: [EventType]
    public var sources: [String]
    /// A subject, or the end of one (a task's key), or a task's number.
    public var task: String?
    /// An id or its beginning.
    public var id: String?
    public var since: Timestamp?
    public var limit: Int

    public init(
        after: Int64? = nil, through: Int64? = nil, types: [EventType] = [], sources: [String] = [], task: String? = nil,
        id: String? = nil, since: Timestamp? = nil, limit: Int = 50
    ) {
        self.after = after
        self.through = through
        self.types = types
        self.sources = sources
        self.task = task
        self.id = id
        self.since = since
        self.limit = limit
    }
}

/// The events that a query found, newest last, without unreadable ones.
public struct EventPage: Sendable, Hashable, RandomAccessCollection {
    public var events: [StoredEvent]
    /// How many were skipped because they are unreadable.
    public var unreadable = 0
    /// The place on the bus of the last one found, readable or not.
    public var end: Int64?
    /// In the answer to a query after a place: the place up to which all events were searched; nil if there may be more.
    public var seen: Int64?

    public init(events: [StoredEvent]) { self.events = events }

    public var startIndex: Int { events.startIndex }
    public var endIndex: Int { events.endIndex }
    public subscript(position: Int) -> StoredEvent { events[position] }
}

/// Selects a page of the present tasks of a scope.
public struct TaskQuery: Sendable, Hashable {
    public var scope: Scope.ID
    /// Only those after this key, in the store's order of keys.
    public var after: TaskKey?
    /// Only those with this number or key.
    public var name: String?
    /// The most tasks that are looked at.
    public var limit: Int

    public init(_ scope: Scope.ID, after: TaskKey? = nil, name: String? = nil, limit: Int) {
        (self.scope, self.after, self.name, self.limit) = (scope, after, name, limit)
    }
}

/// The tasks that a query found, in the store's order of keys.
public struct TaskPage: Sendable, Hashable {
    public var tasks: [Snapshot]
    /// The key of the last task that was looked at; nil if no other follows.
    public var end: TaskKey?

    public init(tasks: [Snapshot]) { self.tasks = tasks }
}

/// A range of stored rows.
public struct RowSpan: Sendable, Hashable {
    /// The place before the first of them.
    public var after: Int64
    /// The place of the last of them.
    public var through: Int64

    public init(after: Int64, through: Int64) { (self.after, self.through) = (after, through) }
}

/// Selects deliveries, newest last.
public struct DeliveryQuery: Sendable, Hashable {
    /// Only those stored after this place, oldest first.
    public var after: Int64?
    /// Only those stored up to this place.
    public var through: Int64?
    public var states: [DeliveryState]
    public var rule: String?
    public var receiver: String?
    /// Created at this moment or later.
    public var since: Timestamp?
    /// Why the latest attempt failed, or why it was given up.
    public var reason: Failure.Reason?
    /// An id's text or its beginning.
    public var id: String?
    public var event: Event.ID?
    public var limit: Int

    public init(
        after: Int64? = nil, through: Int64? = nil, states: [DeliveryState] = [], rule: String? = nil, receiver: String? = nil,
        since: Timestamp? = nil, reason: Failure.Reason? = nil, id: String? = nil, event: Event.ID? = nil, limit: Int = 50
    ) {
        self.after = after
        self.through = through
        self.states = states
        self.rule = rule
        self.receiver = receiver
        self.since = since
        self.reason = reason
        self.id = id
        self.event = event
        self.limit = limit
    }
}

/// How much happened, hour by hour.
public struct Activity: Sendable, Hashable {
    public struct Hour: Sendable, Hashable {
        /// Counted from 1970-01-01T00:00Z.
        public var hour: Int64
        public var count: Int

        public init(hour: Int64, count: Int) { (self.hour, self.count) = (hour, count) }
    }

    public var events: [Hour]
    /// The deliveries made in each hour, by their present state.
    public var deliveries: [DeliveryState: [Hour]]

    public init(events: [Hour], deliveries: [DeliveryState: [Hour]]) { (self.events, self.deliveries) = (events, deliveries) }

    /// The most rows of each kind that are counted, which limits the cost in a large store.
    public static let most = 20_000
}

/// Selects the events that a rule with a schedule has not received yet.
public struct DigestQuery: Sendable, Hashable {
    /// The place on the bus of the previous run, or before the first run, of the latest event when the rule was loaded.
    public var after: Int64
    /// The place of this run's event.
    public var before: Int64
    public var types: [EventType]
    /// Empty for all.
    public var sources: [String]

    /// The most events that one run receives.
    public static let most = 1000

    public init(after: Int64, before: Int64, types: [EventType], sources: [String]) {
        (self.after, self.before, self.types, self.sources) = (after, before, types, sources)
    }

    public func contains(_ stored: StoredEvent) -> Bool {
        stored.sequence > after && stored.sequence < before && types.contains(stored.event.type)
            && (sources.isEmpty || sources.contains(stored.event.source))
    }
}

/// The events that a run of a rule with a schedule receives: the newest since the previous run, oldest first.
public struct Digest: Sendable, Hashable {
    public var events: [StoredEvent]
    /// How many earlier ones there were.
    public var more: Int

    public init(events: [StoredEvent], more: Int = 0) { (self.events, self.more) = (events, more) }
}
