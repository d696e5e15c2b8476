import BellhopConnectors
public import BellhopCore
import BellhopInbound
import BellhopRules
import YAML

/// The settings of bellhop.yaml itself; those of connections and sources are declared by their kinds.
public enum ConfigurationManifest {
    /// The text that `bellhop init` writes for a value that only the user knows. Loading refuses it.
    public static let placeholder = "CHANGE-ME"

    public static let root: [Setting] = [
        Setting("version", .oneOf(["1"]), required: true, "The version of the file's format."),
        Setting(
            "project", .name,
            "The name under which the keychain stores this project's logins and secrets; `bellhop init` creates one."),
        Setting("store", .text, default: "bellhop.db", "The SQLite file that stores everything Bellhop remembers."),
        Setting(
            "rules", .list(.text), default: "rules",
            "Files, folders and globs of rules. Folders and globs leave out a bellhop.yaml."),
        Setting("timezone", .name, default: "UTC", "The time zone for schedules and rendered times, such as `Europe/Berlin`."),
        Setting(
            "calendars", .map(.record(calendar)),
            "When teams work, by name: for `is_open`, `working_time` and `add_working_time`."),
        Setting(
            "silences", .list(.record(silence)),
            "When messages are kept back: once, or at each time of a schedule. `bellhop silence` adds others."),
        Setting(
            "max_delivery", .size, default: "256KB", least: "1KB",
            "The largest size of what one delivery sends; a larger delivery is dead."),
        Setting(
            "log_folders", .list(.text),
            "Folders below which the action `log` may write files, in addition to the folder of bellhop.yaml."),
        Setting("allow_exec", .boolean, default: "false", "Whether rules may run programs, with the action `exec`."),
        Setting(
            "retention", .record(retention), "How long to keep events, deliveries and removed tasks, and how many keys of a rule."
        ),
        Setting(
            "inbound", .record(InboundSettings.root),
            "The address and paths for requests from other systems; without it nothing listens."),
        Setting("console", .record(console), "Pages and an API for people; without it there is no console."),
        Setting("telemetry", .record(telemetry), "Metrics, health and traces for the tools of operators."),
    ]

    public static let calendar = CalendarReading.settings

    public static let silence: [Setting] = [
        Setting("when", .text, "Only messages for which this condition is true. It can use the same names as a rule's `when`."),
        Setting("rules", .list(.name), "Only messages of these rules."),
        Setting("receivers", .list(.name), "Only messages to these connections."),
        Setting("schedule", .text, "When it begins, as a cron expression; with `for`."),
        Setting("timezone", .name, "The time zone of `schedule`; by default the file's."),
        Setting("for", .duration, least: "1s", "How long it lasts."),
        Setting(
            "starts", .text,
            "The moment when it begins, such as `2026-12-24 18:00` in the file's time zone or `2026-12-24T18:00:00+01:00`; with `ends`."
        ),
        Setting("ends", .text, "The moment when it ends."), Setting("reason", .text, "Why, in a sentence."),
        Setting("by", .text, default: "bellhop.yaml", "Who asked for it."),
        Setting(
            "writes", .boolean, default: "false",
            "Whether the silence also keeps back actions that write to a task or create one."),
    ]

    public static let retention: [Setting] = [
        Setting("events", .duration, default: "30d", least: "1h", "How long to keep events."),
        Setting("deliveries", .duration, default: "30d", least: "1h", "How long to keep deliveries that have ended."),
        Setting(
            "forgotten", .duration, default: "400d", least: "1h",
            "How long to remember a removed task, and the keys of `once` of a removed rule; longer while a rule waits for it, or events or deliveries are kept longer."
        ),
        Setting("audit", .duration, default: "400d", least: "1h", "How long to keep the audit."),
        Setting(
            "keys", .integer(1...10_000_000), default: "100000",
            "The most keys that each rule remembers: what it waits for, counts, gathers and throttles. Beyond that, those that were not used for the longest time are dropped; a rule with more keys of `once`, or more escalations, is paused."
        ),
    ]

    /// The keys whose values are mappings.
    static let known = KnownKeys(
        mappings: Set(
            (root + Catalogue.connections.flatMap(\.settings)).compactMap { setting in
                if case .record = setting.type { setting.name } else { nil }
            }))

    /// Keys of the root that this list does not declare, because their settings depend on kinds.
    public static let others: Set<String> = ["secrets", "connections", "sources", "events"]

    /// The settings that sources of all kinds have.
    public static let source: [Setting] = [
        Setting("kind", .name, required: true, "The kind of source: `tracker`, `table`, `rest`, …"),
        Setting("connection", .name, required: true, "The connection it reads from."),
        Setting(
            "every", .either([.duration, .record(busyIdle)]), default: "1m",
            "The time between polls, or one for busy and one for quiet periods."),
        Setting("schedule", .text, "When to poll, as a cron expression, instead of `every`."),
        Setting(
            "push", .record(InboundSettings.push),
            "A path of `inbound` where a request starts a poll at once. The poll reads the changes, not the request."),
        Setting(
            "storm", .oneOf(["hold", "off"]), default: "hold",
            "Whether to hold a result that differs very much from the last until a later poll shows the same; `off` accepts every result at once."
        ),
    ]

    public static let busyIdle: [Setting] = [
        Setting("busy", .duration, required: true, "The time between polls while they show changes."),
        Setting("idle", .duration, required: true, "The time between polls while they show no changes."),
    ]

    /// The settings that connections of all kinds have.
    public static let connection: [Setting] = [
        Setting("kind", .name, required: true, "The kind of connection: `servicenow`, `slack`, …")
    ]
}
