import BellhopCore

/// One request to the instance.
struct ServiceNowCall: Sendable {
    var method = "GET"
    /// The path and query.
    var target: String
    var body: JSON?
    /// A body other than JSON, with its media type.
    var file: (bytes: [UInt8], type: String)?
    var expecting: AnswerShape
    /// Additional to those of every request.
    var headers: HeaderFields = [:]
    /// It is not sent after this moment, even if it waited for its turn.
    var notAfter: Timestamp?
    /// Nil for the connection's default.
    var timeout: Duration?
    /// A read with a longer address than this is sent as a batch.
    var longest = Int.max

    /// Reads rows or a record of the Table API, version 2, where an empty list is 200.
    static func table(_ path: String, _ parameters: [(String, String)], expecting: AnswerShape) -> ServiceNowCall {
        ServiceNowCall(target: target("/api/now/v2/table/\(path)", parameters), expecting: expecting)
    }

    /// A path and its query.
    static func target(_ path: String, _ parameters: [(String, String)]) -> String {
        let query = parameters.map { "\($0.0)=\(PercentEncoding.encode($0.1, keeping: "-._~,"))" }.joined(separator: "&")
        return path + (query.isEmpty ? "" : "?" + query)
    }

    /// Updates or creates a record of the Table API. The answer has its new fields, as raw and display values.
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
    /// The parsed body; null if it is scanned.
    var json: JSON
    var body: [UInt8]
    var headers: HeaderFields
    /// The server's time from the `Date` header; nil without one.
    var serverTime: Timestamp?

    var rows: [JSON] { json["result"]?.asArray ?? [] }
    var record: JSON { json["result"] ?? .null }
    var status: Int
}
