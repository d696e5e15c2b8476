public import BellhopCore

/// The events that can matter to a rule with timers: they begin or end what it waits for, or change the tasks that it sees when it is due.
/// All others may be routed while timers are due.
struct TimedEvents: Sendable {
    /// The sources whose tasks such rules follow; nil for all.
    private var sources: Set<String>? = []
    /// The scopes whose tasks they read.
    private var scopes: Set<Scope.ID> = []
    /// The sources of the events that they name, by type; an empty set for all.
    private var named: [EventType: Set<String>] = [:]
    /// The sources whose events may all end a wait of `for`, because its key needs no task; nil for all.
    private var seen: Set<String>? = []
    private let types: Set<EventType>
    private let hasTasks: Set<EventType>

    /// - Parameter types: the types of events that a rule with `for` watches, even if `on` does not name them.
    init(_ rules: [Rule], _ facts: RunFacts, types: [EventType]) {
        self.types = Set(types)
        hasTasks = Set(facts.events.definitions.filter(\.hasTask).map(\.type))
        for rule in rules where !rule.isOff && rule.hasTimers {
            scopes.formUnion(rule.scopesRead)
            // A rule that only a schedule starts follows no tasks: it reads them when it runs.
            if rule.schedule != nil { name([.scheduleDue], from: [rule.name]) }
            if rule.schedule != nil, rule.watchedTypes.allSatisfy({ $0 == .scheduleDue }) { continue }
            let from = rule.time.pattern?.sources ?? rule.sources
            if from.isEmpty { sources = nil } else { sources?.formUnion(from) }
            if rule.watchesAllEvents, rule.time.hold?.by != nil { if from.isEmpty { seen = nil } else { seen?.formUnion(from) } }
            name(rule.watchedTypes.filter { $0 != .scheduleDue }, from: Set(from))
        }
    }

    private mutating func name(_ types: [EventType], from sources: Set<String>) {
        for type in types {
            let known = named[type]
            named[type] = known?.isEmpty == true || sources.isEmpty ? [] : sources.union(known ?? [])
        }
    }

    func contains(_ event: Event, _ facts: RunFacts) -> Bool {
        if let sources = named[event.type], sources.isEmpty || sources.contains(event.source) { return true }
        if seen?.contains(event.source) ?? true, types.contains(event.type), facts.isConfigured(event.source) { return true }
        guard hasTasks.contains(event.type) else { return false }
        if sources?.contains(event.source) ?? true { return true }
        return !scopes.isEmpty && facts.scope(of: event.source).map(scopes.contains) == true
    }
}

extension RuleBook {
    /// Whether the event can matter to a rule with timers. Timers that are due at its moment then fire before it is routed.
    public func concernsTimers(_ event: Event) -> Bool { timed.contains(event, facts) }
}

extension Rule {
    /// Whether it waits for timers, of its steps too, or has a schedule.
    fileprivate var hasTimers: Bool { !time.isEmpty || escalation != nil || schedule != nil }
}
