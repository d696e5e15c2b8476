import BellhopCore

/// A rule as it was checked and compiled.
struct Rule: Sendable {
    var summary: RuleSummary
    var triggers: [Trigger]
    var schedule: RuleSchedule?
    /// What `from` names; empty for all.
    var sources: [String]
    /// The snapshots that `tasks` holds.
    var scopes: [Scope.ID]
    var condition: RuleExpression?
    var once: RuleExpression?
    var throttle: Throttle?
    var limit: Budget?
    var steps: [Step]
    var zone: TimeZoneTable

    struct Throttle: Sendable {
        var every: Duration
        var by: RuleExpression?
    }

    var name: String { summary.name }
    var isShadow: Bool { summary.mode == .shadow }
    var writesTasks: Bool { steps.contains { $0.action.writesTask } }

    /// Whether anything but the condition reads the snapshot of its sources.
    var stepsNeedTasks: Bool { steps.contains { $0.needs.contains(.tasks) } }

    /// The trigger for an event, if there is one.
    func trigger(for event: Event) -> Trigger? {
        if event.type == .scheduleDue, event.source != name { return nil }
        guard let trigger = triggers.first(where: { $0.type == event.type && $0.accepts(event) }) else { return nil }
        if event.type == .scheduleDue || sources.isEmpty || sources.contains(event.source) { return trigger }
        return nil
    }
}

/// So many writes to one task within a time.
struct Budget: Sendable, Hashable {
    var writes: Int
    var within: Duration

    /// What all rules together may write to a task, unless a rule has a limit of its own.
    static let standard = Budget(writes: 10, within: .seconds(3600))
}
