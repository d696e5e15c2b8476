import BellhopCore

struct TableSettings: Sendable {
    var table: String
    var question: TableQuestion
    /// The name of the setting that selects the rows: `query` or `where`.
    var selection: String
    var display: Display
    var times: TableTimes
    var page: Int
    /// The column with a row's time.
    var timeField: String
    var timeout: Duration?
    var journal: [String]
    /// The declared fields; nil for the built-in list.
    var fields: JSON?

    init(_ settings: Settings, source: String) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: source, setting: setting, message)
        }
        table = settings.text("table") ?? ""
        guard EncodedQuery.isName(table) else {
            throw problem("table", "`\(table)` is not a table name: lower-case letters, digits and _ only, as in `incident`.")
        }
        selection = settings.values["where"] == nil ? "query" : "where"
        do throws(SettingComplaints) {
            question = try TableQuestion(settings)
        } catch {
            throw problem(selection, error.all.map { "\($0.message).\($0.help.map { " (\($0))" } ?? "")" }.joined(separator: " "))
        }
        display = settings.text("display").flatMap(Display.init(rawValue:)) ?? .values
        times = TableTimes(
            overlap: settings.duration("overlap") ?? TableTimes().overlap, lag: settings.duration("lag") ?? TableTimes().lag,
            reconcile: settings.duration("reconcile") ?? TableTimes().reconcile)
        page = settings.integer("page") ?? 1000
        timeField = settings.text("updated") ?? "sys_updated_on"
        guard EncodedQuery.isName(timeField) else { throw problem("updated", "`\(timeField)` is not a field name.") }
        timeout = settings.duration("timeout")
        journal = TaskFields.journals.filter(settings.texts("journal").contains)
        fields = settings.values["fields"]
    }

    /// Identifies the declared fields: the same rows are read again if another field, name or type is declared.
    var seed: Fingerprint { fields.map { Fingerprint(content: $0.encoded(.sorted)) } ?? .zero }

    /// Identifies the rows that a source reads. A query with a label and one with its value count as different.
    var scope: String {
        var parts = ["table=\(table)", "query=\(question.query.text)"]
        if display == .labels { parts.append("labels") }
        return parts.joined(separator: " ")
    }
}

struct TableTimes: Sendable, Hashable {
    /// How far a window reaches back before the last row seen, because transactions commit later than their timestamps.
    var overlap = Duration.seconds(120)
    /// How far a window stays behind the server's clock, because rows may still change in the current second.
    var lag = Duration.seconds(5)
    /// How often all rows are walked, because windows miss rows that left and changes without a new timestamp.
    var reconcile = Duration.seconds(900)
    /// With at most this many tasks, every poll walks all rows.
    var few = 1000
}
