import BellhopCore

/// A checked and compiled rule.
///
/// A class, though immutable, so that an event that matches many rules copies none of them.
final class Rule: Sendable {
    let summary: RuleSummary
    let triggers: [Trigger]
    let schedule: RuleSchedule?
    /// The sources that `from` names; empty for all.
    let sources: [String]
    /// The snapshots that `tasks` holds.
    let scopes: [Scope.ID]
    /// The snapshots of the sources that its expressions name in `snapshot()`.
    let snapshots: [Scope.ID]
    let condition: RuleExpression?
    /// The parts that wait, count or gather.
    let time: TimeParts
    /// A fingerprint of everything that decides whether it runs, and how it waits, counts and groups.
    let waits: String
    let once: RuleExpression?
    let throttle: Throttle?
    let quiet: Quiet?
    let limit: Budget?
    let steps: [Step]
    let escalation: Escalation?
    /// The steps of the rule itself and those of its escalation.
    let allSteps: [Step]
    let zone: TimeZoneTable
    /// Whether it may cause further events: writes to tasks, or emits.
    let mayCauseEvents: Bool
    /// The facts that its steps read and that are known only at routing.
    let stepNeeds: RuleExpression.Needs
    /// Whether it reads the events since its previous run.
    let readsDigest: Bool

    init(
        summary: RuleSummary, triggers: [Trigger], schedule: RuleSchedule?, sources: [String], scopes: [Scope.ID],
        snapshots: [Scope.ID], condition: RuleExpression?, time: TimeParts, waits: String, once: RuleExpression?,
        throttle: Throttle?, quiet: Quiet?, limit: Budget?, steps: [Step], escalation: Escalation?, zone: TimeZoneTable
    ) {
        self.summary = summary
        self.triggers = triggers
        self.schedule = schedule
        self.sources = sources
        self.scopes = scopes
        self.snapshots = snapshots
        self.condition = condition
        self.time = time
        self.waits = waits
        self.once = once
        self.throttle = throttle
        self.quiet = quiet
        self.limit = limit
        self.steps = steps
        self.escalation = escalation
        self.zone = zone
        allSteps = steps + (escalation?.steps.flatMap(\.actions) ?? [])
        mayCauseEvents = allSteps.contains { $0.action.effect != nil || $0.action.emitsEvent }
        stepNeeds = steps.reduce(into: []) { $0.formUnion($1.needs) }
        readsDigest = stepNeeds.union(condition?.needs ?? []).contains(.digest)
    }

    struct Throttle: Sendable {
        var every: Duration
        var by: RuleExpression?
    }

    func scopes(for needs: RuleExpression.Needs) -> [Scope.ID] {
        (needs.contains(.tasks) ? scopes : []) + (needs.contains(.snapshots) ? snapshots : [])
    }

    var name: String { summary.name }
    /// Whether a run only records its deliveries.
    func isShadow(for task: String?) -> Bool {
        switch summary.mode {
        case .shadow: true
        case .canary(let canary): task.map { !canary.includes($0, of: name) } ?? true
        case .live, .off: false
        }
    }
    /// Whether the rule is only checked, never run.
    var isOff: Bool { summary.mode == .off }

    /// Whether the rule handles this event, judged by `on` and `from` alone.
    func isFor(_ event: Event) -> Bool {
        if let pattern = time.pattern { return !isOff && pattern.accepts(event) }
        guard !isOff, triggers.contains(where: { $0.type == event.type && $0.accepts(event) }) else { return false }
        if event.type == .scheduleDue { return event.source == name }
        return sources.isEmpty || sources.contains(event.source)
    }

    /// The types of events that may concern it, unless it watches all events.
    var watchedTypes: [EventType] {
        let types = summary.types
        return time.pattern?.endsWithTask == true && !types.contains(.taskRemoved) ? types + [.taskRemoved] : types
    }

    /// Whether any event may end its waits, even if `on` does not name the event and the condition is false.
    var watchesAllEvents: Bool { time.hold != nil && time.each == nil }

    /// Whether events of this type only begin absences of the rule, and only those for which its condition holds.
    func beginsOnly(with type: EventType) -> Bool { time.hold == nil && time.pattern?.beginsOnly(with: type) ?? false }

    /// Whether an event that `on` does not name may end a wait of the rule.
    func watches(_ event: Event) -> Bool {
        if !isOff, event.type == .taskRemoved, time.pattern?.endsWithTask == true { return true }
        guard !isOff, watchesAllEvents, event.type != .scheduleDue else { return false }
        let sources = time.pattern?.sources ?? sources
        return sources.isEmpty || sources.contains(event.source)
    }
}

/// The most writes to one task within a time.
struct Budget: Sendable, Hashable {
    var writes: Int
    var within: Duration

    /// The limit for all rules together, unless a rule has its own.
    static let standard = Budget(writes: 10, within: .seconds(3600))
}

/// A type of event that starts a rule, with its conditions besides the rule's own.
struct Trigger: Sendable, Hashable {
    var type: EventType
    /// Fields that must all have changed.
    var changes: [ChangeFilter] = []

    func accepts(_ event: Event) -> Bool { changes.isEmpty || changes.allSatisfy { $0.accepts(event.data) } }
}

/// `{task_changed: {state: {from: New, to: [2, Resolved]}}}`: a field that changed, from and to certain values.
struct ChangeFilter: Sendable, Hashable {
    var field: String
    /// Values it may have changed from, raw or label; nil for any.
    var from: [String]?
    var to: [String]?

    func accepts(_ data: JSON.Object) -> Bool {
        guard case .object(let changes)? = data[.changes], case .object(let change)? = changes[field] else { return false }
        return Self.matches(from, change[.from] ?? .null, label: data[.before]?.at("labels", field))
            && Self.matches(to, change[.to] ?? .null, label: data[.task]?.at("labels", field))
    }

    private static func matches(_ wanted: [String]?, _ raw: JSON, label: JSON?) -> Bool {
        guard let wanted else { return true }
        // An empty text in `from` or `to` also stands for null.
        let text = raw.plainText
        return wanted.contains { $0 == text || .string($0) == label || means($0, raw) }
    }

    /// Whether a text is another form of a number or a boolean: `2` of 2.0, `True` of true.
    private static func means(_ wanted: String, _ raw: JSON) -> Bool {
        switch raw {
        case .bool(let flag): wanted.lowercased() == (flag ? "true" : "false")
        case .int(let number): Int64(wanted) == number || Double(wanted).flatMap { Int64(exactly: $0) } == number
        case .double(let number): Double(wanted) == number
        case .null, .string, .array, .object: false
        }
    }
}

/// One action of a rule, ready to be rendered for an event.
struct Step: Sendable {
    /// Who receives its deliveries: one delivery each.
    enum Receivers: Sendable, Hashable {
        case taskConnection
        case named([String])
        /// The value of this argument, if there is one, or else the action's own name.
        case argument(String?)
    }

    enum Content: Sendable {
        case values([(name: String, value: ArgumentTemplate)])
        case message(MessageTemplate)
    }

    var path: StepPath
    var name: String?
    var action: ActionManifest
    var condition: RuleExpression?
    var receivers: Receivers
    var content: Content
    /// The id of the task to write to, if not the event's.
    var task: ArgumentTemplate?
    var retry: RetryPolicy
    var expires: Duration?
    var stopsOnError: Bool

    /// Whether the step may send a request with unknown effects to one of these connections. If a source reads from it, the
    /// request may cause the next event, which cannot be recognized as our own change.
    func mayWriteUnseen(to connections: Set<String>) -> Bool {
        guard action.effect == nil, !action.isMessage, case .named(let names) = receivers else { return false }
        return names.contains { connections.contains($0) }
    }

    /// Whether the host of the address comes from an inserted value.
    var hasComputedHost: Bool {
        guard case .values(let values) = content else { return false }
        return values.contains { $0.value.hasComputedHost }
    }

    var needs: RuleExpression.Needs {
        var needs = condition?.needs ?? []
        switch content {
        case .values(let values): for value in values { needs.formUnion(value.value.needs) }
        case .message(let message): needs.formUnion(message.needs)
        }
        return needs
    }
}
