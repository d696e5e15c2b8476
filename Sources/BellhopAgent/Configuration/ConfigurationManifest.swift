public import BellhopCore

/// The settings of bellhop.yaml itself; those of connections and sources are declared by their kinds.
public enum ConfigurationManifest {
    public static let root: [Setting] = [
        Setting("version", .oneOf(["1"]), required: true, "The version of the file's format."),
        Setting(
            "project", .name,
            "The name by which the keychain keeps this project's logins and secrets; `bellhop init` makes one up."),
        Setting("store", .text, default: "bellhop.db", "The SQLite file in which everything is remembered."),
        Setting("rules", .list(.text), default: "rules", "Files, folders and globs of rules."),
        Setting("timezone", .name, default: "UTC", "The time zone for schedules and rendered times, as `Europe/Berlin`."),
        Setting(
            "max_delivery", .size, default: "256KB", least: "1KB",
            "How large what one delivery sends may be; a larger one is not made."),
        Setting(
            "log_folders", .list(.text),
            "Further folders below which the action `log` may write files, besides the folder of bellhop.yaml."),
        Setting(
            "retention", .record(retention), "How long events, deliveries and removed tasks are kept."),
    ]

    public static let retention: [Setting] = [
        Setting("events", .duration, default: "30d", least: "1h", "How long events are kept."),
        Setting("deliveries", .duration, default: "30d", least: "1h", "How long deliveries that have ended are kept."),
        Setting("forgotten", .duration, default: "400d", least: "1h", "How long a removed task is remembered."),
    ]

    /// Keys of the root that are read by hand, because what they hold depends on kinds.
    public static let others: Set<String> = ["secrets", "connections", "sources"]

    /// Keys of the contract that are not built yet.
    public static let later: [String: String] = ["allow_exec": "the `exec` action"]

    /// What every source says besides its kind's own settings.
    public static let source: [Setting] = [
        Setting("kind", .name, required: true, "What is watched: `tracker`, `table`, `rest`, …"),
        Setting("connection", .name, required: true, "The connection it reads from."),
        Setting(
            "every", .either([.duration, .record(busyIdle)]), default: "1m",
            "How often it is polled; or one pace while things change and another while nothing does."),
        Setting("schedule", .text, "When it is polled, as a cron expression, instead of `every`."),
        Setting(
            "storm", .oneOf(["hold", "off"]), default: "hold",
            "Whether a result that is very unlike the last is held back until a later poll shows the same; `off` believes each at once."
        ),
    ]

    public static let busyIdle: [Setting] = [
        Setting("busy", .duration, required: true, "The pace while polls show changes."),
        Setting("idle", .duration, required: true, "The pace while they show none."),
    ]

    /// What every connection says besides its kind's own settings.
    public static let connection: [Setting] = [
        Setting("kind", .name, required: true, "Whom it talks to: `servicenow`, `slack`, …")
    ]

    /// Kinds of the contract that are not built yet.
    public static let laterConnections = [
        "teams", "discord", "mattermost", "googlechat", "telegram", "pagerduty", "opsgenie", "email",
    ]
}
