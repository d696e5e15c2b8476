import BellhopCore

/// A rule as it was checked and compiled.
///
/// A class, though it never changes, so that an event that meets many rules copies none of them.
final class Rule: Sendable {
    let summary: RuleSummary
    let triggers: [Trigger]
    let schedule: RuleSchedule?
    /// What `from` names; empty for all.
    let sources: [String]
    /// The snapshots that `tasks` holds.
    let scopes: [Scope.ID]
    let condition: RuleExpression?
    let once: RuleExpression?
    let throttle: Throttle?
    let limit: Budget?
    let steps: [Step]
    let zone: TimeZoneTable
    let writesTasks: Bool
    /// Whether anything but the condition reads the snapshot of its sources.
    let stepsNeedTasks: Bool

    init(
        summary: RuleSummary, triggers: [Trigger], schedule: RuleSchedule?, sources: [String], scopes: [Scope.ID],
        condition: RuleExpression?, once: RuleExpression?, throttle: Throttle?, limit: Budget?, steps: [Step], zone: TimeZoneTable
    ) {
        self.summary = summary
        self.triggers = triggers
        self.schedule = schedule
        self.sources = sources
        self.scopes = scopes
        self.condition = condition
        self.once = once
        self.throttle = throttle
        self.limit = limit
        self.steps = steps
        self.zone = zone
        writesTasks = steps.contains { $0.action.effect != nil }
        stepsNeedTasks = steps.contains { $0.needs.contains(.tasks) }
    }

    struct Throttle: Sendable {
        var every: Duration
        var by: RuleExpression?
    }

    var name: String { summary.name }
    var isShadow: Bool { summary.mode == .shadow }
    /// Whether it is there only to be checked.
    var isOff: Bool { summary.mode == .off }

    /// Whether the rule is for such an event, as far as `on` and `from` say.
    func isFor(_ event: Event) -> Bool {
        guard !isOff, triggers.contains(where: { $0.type == event.type && $0.accepts(event) }) else { return false }
        if event.type == .scheduleDue { return event.source == name }
        return sources.isEmpty || sources.contains(event.source)
    }
}

/// So many writes to one task within a time.
struct Budget: Sendable, Hashable {
    var writes: Int
    var within: Duration

    /// What all rules together may write to a task, unless a rule has a limit of its own.
    static let standard = Budget(writes: 10, within: .seconds(3600))
}
