public import BellhopCore

extension TableSource {
    /// The settings of a source of kind `table`, besides those of every source.
    public static let manifest = SourceManifest(
        kind: "table", summary: "The rows of a table that an encoded query asks for, by the Table API.",
        connections: ["servicenow"], labels: TaskFields.labels, journal: TaskFields.journal,
        settings: [
            Setting("table", .text, required: true, "The table's name, such as `incident`.")
        ] + TableQuestion.settings + TaskFields.settings + [
            Setting(
                "reconcile", .duration, default: "15m",
                "How often to walk all rows, which finds tasks that left and changes without a new timestamp; at every poll while all tasks fit on one page (`page`, at most 1000)."
            ),
            Setting(
                "overlap", .duration, default: "2m",
                "How far a poll reaches back before the last row it saw, to find transactions that commit late."),
            Setting("lag", .duration, default: "5s", "How far a poll stays behind the server's clock."),
            Setting("updated", .name, default: "sys_updated_on", "The field with the time of a row's last update."),
            Setting("page", .integer(10...10_000), default: "1000", "The number of rows per request."),
            Setting(
                "longest_address", .integer(256...65_536), default: "2048",
                "The longest address of a request; a longer one is sent in the body of a batch."),
            .timeout,
        ])

    static let kind = SourceKind(manifest) { settings in
        do throws(SettingComplaints) {
            _ = try TableQuestion(settings)
            return []
        } catch {
            return error.all
        }
    }
}
