public import BellhopCore

extension TableSource {
    /// What bellhop.yaml may say of a source of kind `table`, besides what every source has.
    public static let manifest = SourceManifest(
        kind: "table", summary: "The rows of a table that an encoded query asks for, by the Table API.",
        connections: ["servicenow"],
        settings: [
            Setting("table", .text, required: true, "The table's name, such as `incident`.")
        ] + TableQuestion.settings + TaskFields.settings + [
            Setting(
                "reconcile", .duration, default: "15m",
                "How often all rows are walked, which shows what left and what changed without a stamp; while all tasks fit on one page (`page`), and are no more than 1000, that is each poll."
            ),
            Setting(
                "overlap", .duration, default: "2m",
                "How far a poll reaches back before the last row it saw, for transactions that commit late."),
            Setting("lag", .duration, default: "5s", "How far a poll stays behind the server's clock."),
            Setting("updated", .name, default: "sys_updated_on", "The field that holds when a row was last touched."),
            Setting("page", .integer(10...10_000), default: "1000", "How many rows are asked for at once."),
            Setting(
                "longest_address", .integer(256...65_536), default: "2048",
                "The longest address a request may have; a longer one is sent in the body of a batch."),
            Setting(
                "timeout", .duration, least: "1ms", "How long a request of this source may take; by default the connection's."),
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
