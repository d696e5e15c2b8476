import BellhopCore

/// A structured filter, `where:` of bellhop.yaml, compiled to an encoded query.
///
/// Criteria are alternatives: all conditions of at least one of them must hold. Every value is escaped, so that a text cannot
/// become a script, a second condition or a second value.
struct Filter: Sendable, Hashable {
    /// Including the filter's order.
    var query: EncodedQuery
    /// The maximum number of rows; nil for all.
    var limit: Int?
    /// The index or replica the server should use (`sysparm_query_category`).
    var category: String?

    static let maxLimit = 10_000

    /// The keys allowed besides conditions.
    static let settings: [Setting] = [
        Setting(
            "any", .list(.json), "A list of criteria, one of which must hold; each is a mapping of conditions that must all hold."
        ),
        Setting(
            "all", .list(.json),
            "A list of mappings whose conditions must all hold. It is needed if one mapping would contain a key twice."
        ),
        Setting("keywords", .text, "Words to search for in the table's text index."),
        Setting(
            "sort", .list(.either([.map(.oneOf(["asc", "desc"])), .text])),
            "Fields, each alone or as `{opened_at: desc}`: the order of rows in `bellhop query`."),
        Setting("limit", .integer(1...maxLimit), "The number of rows in `bellhop query`; a poll reads all rows."),
        Setting("query_category", .name, "The query category, which selects an index or a replica on the server."),
    ]
}

extension Filter {
    /// Reads a filter, or throws all its errors.
    ///
    /// - Parameters:
    ///   - json: the value of `where`.
    ///   - path: its path in the settings, for complaints.
    init(_ json: JSON, at path: [SettingComplaint.Step] = [.key("where")]) throws(SettingComplaints) {
        var reader = FilterReader()
        let filter = reader.filter(json, path)
        guard let filter, reader.complaints.isEmpty else { throw SettingComplaints(reader.complaints) }
        self = filter
    }
}
