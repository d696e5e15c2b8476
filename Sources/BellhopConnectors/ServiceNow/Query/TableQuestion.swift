import BellhopCore

/// The rows of a table to read: those of `query`, those of `where`, or all.
struct TableQuestion: Sendable, Hashable {
    /// Without an order.
    var query: EncodedQuery
    /// The order for a person's query; polls have their own.
    var order: [EncodedQuery.Order]
    /// The limit for a person's query; polls have none.
    var limit: Int?
    /// The index or read replica to use (`sysparm_query_category`).
    var category: String?

    static let settings: [Setting] = [
        Setting(
            "query", .text,
            "An encoded query, such as `active=true^priorityIN1,2`; without it and `where`, all rows. Its order is ignored."),
        Setting("where", .json, "A structured filter instead of `query`, with every value escaped."),
        Setting("query_category", .text, "The index or read replica that the server should use (`sysparm_query_category`)."),
    ]

    init(_ settings: Settings) throws(SettingComplaints) {
        let text = settings.values["query"]
        var filter = Filter(query: .all)
        if text != nil, settings.values["where"] != nil {
            throw SettingComplaints([
                SettingComplaint(code: "both-given", "give either `query` or `where`", at: [.key("where")], isAboutKey: true)
            ])
        }
        if let text {
            filter.query = try Self.query(text.asString ?? "")
        } else if let json = settings.values["where"] {
            filter = try Filter(json)
        }
        let changing = filter.query.conditions.filter(\.how.testsChange)
        if let first = changing.first {
            throw SettingComplaints([
                SettingComplaint(
                    code: "wrong-value", "a source cannot filter by how `\(first.field)` changes: it reads rows as they are now",
                    at: [.key(text == nil ? "where" : "query")],
                    help: "write in a rule: `on: {task_changed: {\(first.field): {to: …}}}`")
            ])
        }
        order = filter.query.order
        query = EncodedQuery(groups: filter.query.groups)
        limit = filter.limit
        category = settings.text("query_category") ?? filter.category
    }

    static func complaints(_ settings: Settings) -> [SettingComplaint] {
        do throws(SettingComplaints) { _ = try TableQuestion(settings) } catch { return error.all }
        return []
    }

    private static func query(_ text: String) throws(SettingComplaints) -> EncodedQuery {
        do throws(EncodedQueryError) {
            return try EncodedQuery(parsing: text)
        } catch {
            throw SettingComplaints([
                SettingComplaint(
                    code: "bad-query", error.message, at: [.key("query")], range: error.range.isEmpty ? nil : error.range,
                    help: error.help)
            ])
        }
    }
}
