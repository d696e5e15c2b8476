import BellhopCore

/// A structured filter, `where:` of bellhop.yaml, compiled to an encoded query.
///
/// Criteria are alternatives, conditions hold together, and every value is escaped: nothing that somebody writes as a text can be a
/// script, a second condition or a second value.
struct Filter: Sendable, Hashable {
    /// With the filter's order.
    var query: EncodedQuery
    /// How many rows are wanted; nil for all.
    var limit: Int?
    /// The index or replica that the server is to use (`sysparm_query_category`).
    var category: String?

    static let maximalLimit = 10_000

    /// What may stand in it beside conditions.
    static let settings: [Setting] = [
        Setting(
            "any", .list(.json), "A list of criteria, one of which must hold; each is a mapping of conditions that must all hold."
        ),
        Setting(
            "all", .list(.json), "A list of mappings whose conditions must all hold, for when one mapping would need a key twice."
        ),
        Setting("keywords", .text, "Words to search for in the table's text index."),
        Setting(
            "sort", .list(.either([.map(.oneOf(["asc", "desc"])), .text])),
            "Fields, each alone or as `{opened_at: desc}`: the order of rows in `bellhop query`."),
        Setting("limit", .integer(1...maximalLimit), "The number of rows in `bellhop query`; a poll reads all rows."),
        Setting("query_category", .name, "The query category, which selects an index or a replica on the server."),
    ]

    /// Reads a filter, or says all that is wrong with it.
    ///
    /// - Parameters:
    ///   - json: the value of `where`.
    ///   - path: where it stands, from which the complaints' paths start.
    init(_ json: JSON, at path: [SettingComplaint.Step] = [.key("where")]) throws(SettingComplaints) {
        var reader = FilterReader()
        let filter = reader.filter(json, path)
        guard let filter, reader.complaints.isEmpty else { throw SettingComplaints(reader.complaints) }
        self = filter
    }

    init(query: EncodedQuery, limit: Int? = nil, category: String? = nil) {
        self.query = query
        self.limit = limit
        self.category = category
    }
}
