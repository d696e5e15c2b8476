import BellhopCore

/// One thing asked of the instance.
struct ServiceNowCall: Sendable {
    var method = "GET"
    /// The path with the query.
    var target: String
    var body: JSON?
    /// A body that is no JSON, with its media type.
    var file: (bytes: [UInt8], type: String)?
    var expecting: AnswerShape
    /// Besides those that every request carries.
    var headers: HeaderFields = [:]
    /// Once this moment has passed it is not sent any more, a wait for its turn included.
    var notAfter: Timestamp?
    /// Nil for the connection's own.
    var timeout: Duration?
    /// What reads by a longer address than this is sent in the body of a batch.
    var longest = Int.max

    /// Reads rows or a record of the Table API. Version 2, in which a list without rows is 200.
    static func table(_ path: String, _ parameters: [(String, String)], expecting: AnswerShape) -> ServiceNowCall {
        ServiceNowCall(target: target("/api/now/v2/table/\(path)", parameters), expecting: expecting)
    }

    /// A path with its query.
    static func target(_ path: String, _ parameters: [(String, String)]) -> String {
        let query = parameters.map { "\($0.0)=\(PercentEncoding.encode($0.1, keeping: "-._~,"))" }.joined(separator: "&")
        return path + (query.isEmpty ? "" : "?" + query)
    }

    /// Writes fields to a record of the Table API, or makes one. The answer shows them as they are then, raw and as people read them.
    static func write(
        _ method: String, _ path: String, _ writes: [FieldWrite], showing others: [String], notAfter: Timestamp
    ) -> ServiceNowCall {
        var parameters = [
            ("sysparm_fields", (others + writes.map(\.name)).joined(separator: ",")), ("sysparm_display_value", "all"),
            ("sysparm_exclude_reference_link", "true"),
        ]
        if writes.contains(where: \.isDisplay) { parameters.append(("sysparm_input_display_value", "true")) }
        var call = table(path, parameters, expecting: .record)
        call.method = method
        call.body = .object(JSON.Object(writes.map { ($0.name, .string($0.value)) }))
        call.notAfter = notAfter
        return call
    }

    static let tasks = ServiceNowCall(target: "/api/x_snc_my_work/v1/tracker/task", expecting: .listing)
}

/// A good answer.
struct ServiceNowReply: Sendable {
    /// The body, read; null where it is scanned.
    var json: JSON
    var body: [UInt8]
    var headers: HeaderFields
    /// The server's time, by this answer's `Date`; nil without one.
    var serverTime: Timestamp?

    var rows: [JSON] { json["result"]?.asArray ?? [] }
    var record: JSON { json["result"] ?? .null }
    var status: Int
}
