import BellhopCore
import YAML

/// The keys of rule files, declared once for the loader and the JSON Schema.
enum RuleKeys {
    static let rule: [Setting] = [
        Setting("rule", .name, required: true, "The rule's name: letters, digits, `.`, `_` and `-`."),
        Setting("description", .text, "What the rule is for, in a sentence."),
        Setting(
            "on", .json, required: true,
            "What the rule waits for: a type of event, a list of types, a change of fields, a schedule, or several events together."
        ),
        Setting("from", .list(.name), "The sources (for logins, the connections) whose events count; by default all."),
        Setting("when", .expression, "A condition: the rule runs if it is true."),
        Setting(
            "each", .expression,
            "A list of tasks, such as `tasks.filter(t, …)`: a due schedule runs the rule for each of them, as `task`."),
        Setting(
            "for", .either([.duration, .record(hold)]),
            "How long the condition must hold before the rule runs, or `{time, calendar, by, existing}`."),
        Setting("count", .record(count), "Runs the rule once enough events have happened within the time."),
        Setting("group", .record(group), "Gathers events, and runs the rule once for all of them."),
        Setting("once", .expression, "A key: the rule runs at most once for each key."),
        Setting("throttle", .record(throttle), "Runs once, then ignores repeats for this time."),
        Setting("quiet", .record(quiet), "When the rule's messages are kept back."),
        Setting(
            "until", .expression,
            "What ends the escalation: `answered`, or a condition; by default an answer, or `when` that no longer holds."),
        Setting(
            "escalate", .list(.record(escalation)),
            "Steps that follow some time after the run, unless the escalation ends before."),
        Setting("let", .map(.expression), "Named values for the rest of the rule."),
        Setting("limit", .rate, "A budget for the rule's writes to a task, such as `20/h`."),
        Setting(
            "mode", .either([.oneOf(["live", "shadow"]), .record(canary)]), default: "live",
            "`shadow` records deliveries without making them; `{canary: 10%}` makes those of a tenth of the tasks."),
        Setting("enabled", .boolean, default: "true", "`false` turns the rule off; it is still checked."),
        Setting("do", .json, required: true, "The actions, in order."),
    ]

    /// The keys of a rule whose values are never a text.
    static let known = KnownKeys(lists: ["do", "escalate"], mappings: ["on", "throttle", "count", "group", "quiet", "let"])

    static let quiet = QuietTime.settings(except: .expression)

    static let canary: [Setting] = [
        Setting(
            "canary", .text, required: true,
            "For which share of the tasks the rule is live, from `1%` to `99%`; for the others it is in shadow mode.")
    ]

    static let throttle: [Setting] = [
        Setting("every", .duration, required: true, least: "1ms", "How long repeats are ignored."),
        Setting("by", .expression, "A key with its own throttle, such as `task.id`; by default one throttle for the whole rule."),
    ]

    /// The settings of a span of which only working time counts.
    static let span: [Setting] = [
        Setting("time", .duration, required: true, least: "1ms", "How long."),
        Setting("calendar", .name, "A calendar of bellhop.yaml: only its working time counts."),
    ]

    static let hold: [Setting] =
        span + [
            Setting("by", .expression, "A key: each of its values waits separately; by default `task.id`."),
            Setting(
                "existing", .boolean, default: "false",
                "Whether the wait also begins for tasks that already fulfil the condition when the rule is first loaded."),
        ]

    static let count: [Setting] = [
        Setting("at_least", .integer(1...1000), required: true, "How many events make the rule run."),
        Setting(
            "within", .either([.duration, .record(span)]), required: true, least: "1ms",
            "The time in which they must happen, or `{time, calendar}`."),
        Setting("by", .expression, "A key: each of its values is counted separately; by default all are counted together."),
        Setting("distinct", .expression, "An expression: of events with the same value, only the latest one counts."),
    ]

    static let group: [Setting] = [
        Setting("by", .expression, "A key: each of its values has its own group; by default there is one group."),
        Setting("wait", .duration, default: "0s", "How long the first event waits for others."),
        Setting("every", .duration, default: "0s", "The shortest time between two runs."),
        Setting(
            "max", .integer(1...TimeParts.Group.most), default: "1000", "The number of events that make the rule run at once."),
    ]

    static let escalation: [Setting] = [
        Setting(
            "after", .either([.duration, .record(span)]), required: true, least: "1ms",
            "The time from the run to the step, or `{time, calendar}`."),
        Setting("repeat", .record(repetition), "How often the step is repeated."),
        Setting("do", .json, required: true, "The step's actions, in order."),
    ]

    static let repetition: [Setting] = [
        Setting(
            "every", .either([.duration, .record(span)]), required: true, least: "1s",
            "The time between two repetitions, or `{time, calendar}`."),
        Setting("times", .integer(1...1000), required: true, "How many times the step is repeated after the first time."),
    ]

    static let step: [Setting] = [
        Setting("if", .expression, "A condition: the step is skipped if it is not true."),
        Setting("name", .name, "The step's name in lists of deliveries and logs, unique within the rule."),
        Setting(
            "retry", .either([.integer(1...1000), .record(retry)]),
            "The number of attempts, or `{attempts, wait, max_wait}`; by default 15, of `webhook` 26."),
        Setting("expires", .duration, least: "1s", "The time after its creation in which the delivery may be attempted."),
        Setting(
            "on_error", .oneOf(["continue", "stop"]), default: "continue", "`stop` skips the later steps if this one fails."),
    ]

    static let retry: [Setting] = [
        Setting(
            "attempts", .integer(1...1000),
            "The number of attempts, including the first; a retry by a person allows as many again."),
        Setting(
            "wait", .duration,
            "The longest wait before the second attempt, doubled for each further one; half of it is fixed, the rest is random."
        ),
        Setting("max_wait", .duration, "The longest wait between attempts."),
    ]

    static let schedule: [Setting] = [
        Setting("schedule", .text, required: true, "A cron expression with five fields, such as `30 8 * * MON-FRI`."),
        Setting("timezone", .name, "The time zone, such as `Europe/Berlin`; by default that of bellhop.yaml."),
        missed,
    ]

    static let every: [Setting] = [Setting("every", .duration, required: true, "The time between runs."), missed]

    private static let missed = Setting(
        "missed", .oneOf(RuleSchedule.Missed.allCases.map(\.rawValue)), default: "once", "What to do about missed runs.")

    /// The settings of several events under `on`, besides their entries.
    static let pattern: [Setting] = [
        Setting("all", .json, "Events that must all come, in any order."),
        Setting("sequence", .json, "Events that must come one after the other."),
        Setting("none", .json, "The event, or one of the events, that did not come."),
        Setting(
            "after", .json,
            "The event, or one of the events, after which an event of `none` must come; without `after`, events of `none` must keep coming."
        ),
        Setting(
            "within", .either([.duration, .record(span)]), required: true, least: "1ms",
            "The time in which they must come, or `{time, calendar}`."),
        Setting("by", .expression, "A key that the events share, such as `task.id`; by default all belong together."),
    ]

    /// One of several events with more than its type.
    static let patternEntry: [Setting] = [
        Setting("type", .json, required: true, "A type of event, a list of types, or a change of fields."),
        Setting("when", .expression, "A condition for this event alone."),
        Setting("from", .list(.name), "The sources whose events count, in place of the rule's."),
    ]

    static let change: [Setting] = [
        Setting("from", .list(.text), "The value, or one of the values, that it changed from; raw or label."),
        Setting("to", .list(.text), "The value, or one of the values, that it changed to; raw or label."),
    ]

    /// The arguments of an action; every action that writes to a task also takes `task`.
    static func arguments(of action: ActionManifest) -> [Setting] {
        guard action.effect == .writes, !action.arguments.contains(where: { $0.name == "task" }) else { return action.arguments }
        return action.arguments + [Setting("task", .text, "The id of a task other than the event's.")]
    }

    /// Other programs' names for the keys of a rule.
    static let aliases = [
        // Tools for YAML 1.1 write `true` for `on`.
        "true": "on", "trigger": "on", "triggers": "on", "event": "on", "events": "on", "actions": "do", "action": "do",
        "then": "do",
        "steps": "do", "run": "do", "if": "when", "condition": "when", "conditions": "when", "where": "when", "filter": "when",
        "name": "rule", "id": "rule", "source": "from", "sources": "from", "delay": "for", "wait": "for", "dedupe": "once",
        "dedup": "once", "cooldown": "throttle", "debounce": "throttle", "rate_limit": "throttle", "quiet_hours": "quiet",
    ]

    /// What to write instead of keys that a rule does not have.
    static let advice = inverted([
        "it belongs under `on`: `on: {schedule: …}`": ["schedule", "every", "timezone", "missed"],
        "write `enabled: false` to turn the rule off": ["disabled", "disable", "active"],
        "write the opposite as `when`: `when: \"!(…)\"`": ["unless"],
        "for messages, write `quiet: {outside: …}`; for the whole rule, `when: is_open(\"…\", now)`, both with a calendar": [
            "hours", "days", "calendar",
        ],
    ])

    private static func inverted(_ words: [String: [String]]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: words.flatMap { shown, names in names.map { ($0, shown) } })
    }

    /// Other programs' names for actions, with what to write.
    static let actionAliases = inverted([
        "notify: {to: …, title: …}": [
            "slack", "teams", "discord", "telegram", "email", "mail", "message", "send", "send_message", "alert", "page",
            "pagerduty", "opsgenie", "ntfy", "push", "post", "chat",
        ],
        "update: {assigned_to: …}": ["assign", "reassign", "assignee"],
        "update: {state: …}": ["close", "resolve", "set_state", "transition", "state"],
        "update: {field: value}": ["set", "edit", "change", "patch", "set_field"],
        "comment: a text": ["note", "work_note", "work_notes", "comments", "reply", "add_comment"],
        "log: a text": ["print", "echo", "debug"], "exec: {command: […]}": ["run", "shell", "script", "command", "sh"],
        "webhook: {url: …}": ["http", "request", "curl", "post_url", "call"],
        "create: {to: …, table: …, fields: {…}}": ["insert", "open", "create_task", "new_task"],
    ])

    /// Words for schedules, with their cron expressions.
    static let schedulesInWords = [
        "hourly": "0 * * * *", "daily": "30 8 * * *", "nightly": "0 2 * * *", "weekly": "30 8 * * MON", "monthly": "30 8 1 * *",
        "workdays": "30 8 * * MON-FRI", "weekdays": "30 8 * * MON-FRI", "yearly": "0 0 1 1 *", "midnight": "0 0 * * *",
    ]

    /// Whether an argument under `do` is a name, never a template: a choice called `level` is, and a member of an event that happens
    /// to have this name is not.
    static func isLiteral(_ setting: Setting) -> Bool {
        switch setting.type {
        case .name, .list(.name): true
        case .oneOf: setting.name == "level"
        default: false
        }
    }
}
