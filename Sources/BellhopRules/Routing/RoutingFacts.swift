public import BellhopCore

/// The facts that deciding a batch needs from the store.
public struct RoutingNeeds: Sendable, Hashable {
    public var state: Set<StateKey> = []
    /// The scopes of which all tasks are needed.
    public var scopes: Set<Scope.ID> = []
    /// Places on the bus.
    public var events: Set<Int64> = []
    /// Single tasks, as they are now.
    public var tasks: [Scope.ID: Set<TaskKey>] = [:]
    /// The events that rules with a schedule have not received yet.
    public var digests: Set<DigestQuery> = []

    public var isEmpty: Bool { state.isEmpty && scopes.isEmpty && events.isEmpty && tasks.isEmpty && digests.isEmpty }
}

/// The facts from the store with which a batch is decided.
public struct RoutingFacts: Sendable {
    public private(set) var state: RuleState
    /// The tasks of scopes; a scope without a baseline is missing.
    public private(set) var tasks: [Scope.ID: [Snapshot]]
    private var events: [Int64: StoredEvent]
    private var present: [Scope.ID: [TaskKey: Snapshot]] = [:]
    /// Tasks that left, as they were last seen.
    private var departed: [Scope.ID: [TaskKey: Snapshot]] = [:]
    private var digests: [DigestQuery: Digest] = [:]
    /// The events of windows of the state that were read from their rows before.
    var gathered: [StateKey: [StateKey: Gathered]] = [:]
    /// The needs that have been read, whether found or not; nil if everything is known.
    private var known: RoutingNeeds?

    /// Nothing is known.
    public init() {
        (state, tasks, events) = ([:], [:], [:])
        known = RoutingNeeds()
    }

    /// Everything is known: facts that are not given do not exist.
    public init(
        state: RuleState, tasks: [Scope.ID: [Snapshot]], events: [Int64: StoredEvent] = [:],
        departed: [Scope.ID: [TaskKey: Snapshot]] = [:]
    ) {
        (self.state, self.tasks, self.events, self.departed) = (state, tasks, events, departed)
    }

    /// Adds what the store has for these needs.
    public mutating func add(
        _ needs: RoutingNeeds, state: RuleState, tasks: [Scope.ID: [Snapshot]], events: [StoredEvent],
        present: [Scope.ID: [TaskKey: Snapshot]], departed: [Scope.ID: [TaskKey: Snapshot]] = [:],
        digests: [DigestQuery: Digest] = [:]
    ) {
        self.digests.merge(digests) { $1 }
        self.state.merge(state)
        self.tasks.merge(tasks) { $1 }
        for event in events { self.events[event.sequence] = event }
        self.present.merge(present) { $0.merging($1) { $1 } }
        self.departed.merge(departed) { $0.merging($1) { $1 } }
        known?.formUnion(needs)
    }

    /// Makes the values of these keys unknown.
    public mutating func forget(_ keys: [StateKey]) {
        let keys = Set(keys.map { $0.at("") })
        known?.state.subtract(keys)
        state.forget(keys)
    }

    func isKnown(_ key: StateKey) -> Bool { known?.state.contains(key.at("")) ?? true || state[key] != nil }
    func isKnown(_ scope: Scope.ID) -> Bool { known?.scopes.contains(scope) ?? true }

    /// Whether a scope has no baseline, so that nothing is known about its tasks; nil if its tasks must be read first.
    func lacksBaseline(_ scope: Scope.ID) -> Bool? {
        guard let known else { return false }
        return known.scopes.contains(scope) ? tasks[scope] == nil : nil
    }

    /// The selected events; nil if they must be read first.
    func digest(_ query: DigestQuery) -> Digest? {
        if known != nil { return digests[query] }
        let all = events.values.filter(query.contains).sorted { $0.sequence < $1.sequence }
        return Digest(events: all.suffix(DigestQuery.most), more: max(0, all.count - DigestQuery.most))
    }

    func event(at place: Int64) -> Known<StoredEvent> {
        if let event = events[place] { return .found(event) }
        return known?.events.contains(place) ?? true ? .missing : .unread
    }

    /// A task as it is now.
    func task(_ key: TaskKey, in scope: Scope.ID) -> Known<Snapshot> {
        if let task = present[scope]?[key] { return .found(task) }
        if let task = departed[scope]?[key] { return .departed(task) }
        if let known { return known.tasks[scope]?.contains(key) == true ? .missing : .unread }
        return tasks[scope]?.first { $0.key == key }.map(Known.found) ?? .missing
    }

    enum Known<Value> {
        case found(Value)
        /// The task left; as it was last seen.
        case departed(Value)
        /// It is not in the store.
        case missing
        case unread

        var value: Value? {
            switch self {
            case .found(let value), .departed(let value): value
            case .missing, .unread: nil
            }
        }
    }
}

extension RoutingNeeds {
    public mutating func formUnion(_ other: RoutingNeeds) {
        state.formUnion(other.state)
        scopes.formUnion(other.scopes)
        events.formUnion(other.events)
        tasks.merge(other.tasks) { $0.union($1) }
        digests.formUnion(other.digests)
    }
}

/// The result of deciding a batch.
public enum Decided: Sendable {
    case routing(Routing)
    /// More must be read first.
    case needs(RoutingNeeds)

    /// The routing; empty if more must be read first, which is never so when everything is known.
    public var complete: Routing { if case .routing(let routing) = self { routing } else { Routing() } }
}
