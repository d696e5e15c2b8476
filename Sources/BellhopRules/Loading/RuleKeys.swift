import BellhopCore

/// The keys of rule files, declared once: the loader checks by them and the JSON Schema is made from them.
enum RuleKeys {
    static let rule: [Setting] = [
        Setting("rule", .name, required: true, "The rule's name: letters, digits, `.`, `_` and `-`."),
        Setting("description", .text, "What the rule is for, in a sentence."),
        Setting(
            "on", .json, required: true,
            "What the rule waits for: a type of event, a list of types, a change of fields, or a schedule."),
        Setting("from", .list(.name), "The sources (for logins the connections) whose events count; all, unless it is said."),
        Setting("when", .expression, "A condition: the rule runs where it is true."),
        Setting("once", .expression, "A key: the rule runs at most once for it, ever."),
        Setting("throttle", .record(throttle), "The first run passes, others within the time do not."),
        Setting("let", .map(.expression), "Values with names, for the rest of the rule."),
        Setting("limit", .rate, "A budget for the rule's writes to a task, such as `20/h`."),
        Setting(
            "mode", .oneOf(["live", "shadow"]), default: "live", "`shadow` records what the rule would do and does nothing."),
        Setting("enabled", .boolean, default: "true", "`false` turns the rule off: it is checked, and does nothing."),
        Setting("do", .json, required: true, "The actions, in order."),
    ]

    static let throttle: [Setting] = [
        Setting("every", .duration, required: true, least: "1ms", "How long the others do not pass."),
        Setting("by", .expression, "What is throttled on its own, such as `task.id`; all together, unless it is said."),
    ]

    static let step: [Setting] = [
        Setting("if", .expression, "A condition: the step is left out where it is not true."),
        Setting("name", .name, "A name for the step, in lists of deliveries and in logs; each step of a rule its own."),
        Setting(
            "retry", .either([.integer(1...1000), .record(retry)]),
            "How often it is tried in all, or `{attempts, wait, max_wait}`."),
        Setting("expires", .duration, least: "1s", "How long after it was made it is still done."),
        Setting(
            "on_error", .oneOf(["continue", "stop"]), default: "continue", "`stop` leaves out the steps after one that fails."),
    ]

    static let retry: [Setting] = [
        Setting("attempts", .integer(1...1000), "Attempts in all, the first included."),
        Setting(
            "wait", .duration,
            "The longest wait before the second attempt, doubled for each further one; half of it is certain, the rest is chance."
        ),
        Setting("max_wait", .duration, "No wait is longer."),
    ]

    static let schedule: [Setting] = [
        Setting("schedule", .text, required: true, "Five fields of cron, such as `30 8 * * MON-FRI`."),
        Setting("timezone", .name, "The zone whose clocks count, such as `Europe/Berlin`."),
        missed,
    ]

    static let every: [Setting] = [
        Setting("every", .duration, required: true, "How long from one time to the next."),
        missed,
    ]

    private static let missed = Setting(
        "missed", .oneOf(RuleSchedule.Missed.allCases.map(\.rawValue)), default: "once",
        "What becomes of times that passed while the agent was not running.")

    static let change: [Setting] = [
        Setting("from", .list(.text), "The value, or one of the values, that it changed from; raw or label."),
        Setting("to", .list(.text), "The value, or one of the values, that it changed to; raw or label."),
    ]

    /// The arguments of an action; one that writes to a task can always be told to which.
    static func arguments(of action: ActionManifest) -> [Setting] {
        guard action.effect == .writes, !action.arguments.contains(where: { $0.name == "task" }) else { return action.arguments }
        return action.arguments + [Setting("task", .text, "The id of another task than the event's.")]
    }

    /// What other programs call the keys of a rule.
    static let otherWords = [
        "trigger": "on", "triggers": "on", "event": "on", "events": "on", "actions": "do", "action": "do", "then": "do",
        "steps": "do", "run": "do", "if": "when", "condition": "when", "conditions": "when", "where": "when", "filter": "when",
        "name": "rule", "id": "rule", "source": "from", "sources": "from",
    ]

    /// What people call times that cron has in five fields.
    static let schedulesInWords = [
        "hourly": "0 * * * *", "daily": "30 8 * * *", "nightly": "0 2 * * *", "weekly": "30 8 * * MON", "monthly": "30 8 1 * *",
        "workdays": "30 8 * * MON-FRI", "weekdays": "30 8 * * MON-FRI", "yearly": "0 0 1 1 *", "midnight": "0 0 * * *",
    ]

    /// Keys of the contract that are refused by name until they are built.
    static let laterInRules = ["for", "group", "count", "quiet", "escalate", "until"]
    static let laterInTriggers = ["all", "none", "within", "by"]
    static let laterActions = ["emit", "exec"]
    /// Names of the contract that expressions do not have yet.
    static let laterNames = ["events"]

    /// What works today in the place of what is not built yet.
    static let today: [String: String] = {
        let events = "name the events in a list, `on: [task_created, task_changed]`, and say the rest in `when`"
        return [
            "for": "a rule with `on: {every: 5m}` can ask: `when: tasks.exists(t, age(t.opened_at) > duration(\"1h\"))`",
            "group": "`throttle: {every: 1h}` lets one of many through; a rule with a schedule can list all of them",
            "count": "a rule with `on: {every: 15m}` can count: `when: tasks.filter(t, t.priority == 1).size() > 5`",
            "quiet": "say the hours in `when`: `now.getHours(zone) >= 8 && now.getHours(zone) < 18`",
            "escalate": "a second rule with `on: {every: 15m}` can ask for the `age(…)` of its `tasks`",
            "until": "say in `when` what must still be true", "all": events, "none": events, "within": events, "by": events,
            "emit": "let each rule wait for the event itself", "exec": "`webhook` can ask a service to do it",
            "events": "`event` is the one that the rule runs for",
        ]
    }()

    /// Receivers of messages that have no threads: an incoming webhook of Slack does not tell what a message is called, so none can answer it.
    static let withoutThreads: Set<String> = ["slack"]

    /// Arguments under `do` whose texts are names, never templates.
    static let literalArguments: Set<String> = ["to", "as", "level"]
}
