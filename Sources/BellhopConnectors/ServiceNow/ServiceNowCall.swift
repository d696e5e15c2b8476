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
    /// Headers besides those of every request.
    var headers: HeaderFields = [:]
    /// The request is not sent after this moment, including time spent waiting for its turn.
    var notAfter: Timestamp?
    /// Nil for the connection's default.
    var timeout: Duration?
    /// A read whose address is longer than this is sent in a batch.
    var longest = Int.max

    /// Reads rows or a record of the Table API, version 2, where an empty list is 200.
    static func table(_ path: String, _ parameters: [(String, String)], expecting: AnswerShape) -> ServiceNowCall {
        ServiceNowCall(target: target("/api/now/v2/table/\(path)", parameters), expecting: expecting)
    }

    /// Reads rows of a table and their number. An empty query reads any rows.
    static func rows(_ table: String, _ query: String, _ fields: [String], limit: Int) -> ServiceNowCall {
        Self.table(
            table,
            [
                ("sysparm_query", query), ("sysparm_fields", fields.joined(separator: ",")), ("sysparm_limit", String(limit)),
                ("sysparm_exclude_reference_link", "true"), ("sysparm_suppress_pagination_header", "true"),
            ].filter { !$0.1.isEmpty }, expecting: .rows)
    }

    /// Reads records by their sys_ids, without their total.
    static func records(_ keys: [TaskKey], of table: String, _ fields: [String], display: String) -> ServiceNowCall {
        Self.table(
            table,
            [
                ("sysparm_query", "sys_idIN" + keys.map(\.text).joined(separator: ",")),
                ("sysparm_fields", fields.joined(separator: ",")), ("sysparm_display_value", display),
                ("sysparm_exclude_reference_link", "true"), ("sysparm_limit", String(keys.count)),
                ("sysparm_no_count", "true"), ("sysparm_suppress_pagination_header", "true"),
            ], expecting: .rows)
    }

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

extension ServiceNowCall {
    /// Whether the request changes something. A batch is a POST, but it only reads.
    var changesSomething: Bool { method != "GET" && expecting != .batch }

    var canBeInBatch: Bool { method == "GET" && expecting != .page }

    /// The request as a batch, if its address would be longer than proxies and servers accept; otherwise nil.
    /// - Parameters:
    ///   - length: the longest address that was not refused.
    ///   - inAdvance: whether ``longest`` matters too.
    func inBatch(beyond length: Int, inAdvance: Bool) -> ServiceNowCall? {
        guard canBeInBatch, target.utf8.count > (inAdvance ? min(longest, length) : length) else { return nil }
        var call = self
        call.method = "POST"
        call.target = "/api/now/v1/batch"
        call.expecting = .batch
        call.body = [
            "batch_request_id": "1",
            "rest_requests": [
                [
                    "id": "1", "method": "GET", "url": .string(target), "exclude_response_headers": false,
                    "headers": [["name": "Accept", "value": "application/json"]],
                ]
            ],
        ]
        return call
    }

    /// The answer to the only request of a batch; nil if the server did not process it.
    /// - Parameter headers: those of the batch's answer, whose `Date` is the server's time.
    static func reply(in batch: JSON, headers: HeaderFields) -> HTTPResponse? {
        guard let reply = batch["serviced_requests"]?[0], let status = reply["status_code"]?.asInt,
            let body = Base64.decode(reply["body"].textOrEmpty)
        else { return nil }
        var fields = HeaderFields()
        for header in reply["headers"]?.asArray ?? [] {
            if let name = header["name"]?.asString, let value = header["value"]?.asString { fields.add(name, value) }
        }
        if fields["Content-Type"] == nil { fields["Content-Type"] = "application/json" }
        fields["Date"] = headers["Date"]
        return HTTPResponse(status: Int(status), headers: fields, body: body)
    }
}

/// The answer to a successful request.
struct ServiceNowReply: Sendable {
    /// The parsed body; null for an answer that the caller scans.
    var json: JSON
    var body: [UInt8]
    var headers: HeaderFields
    /// The server's time from the `Date` header; nil without one.
    var serverTime: Timestamp?
    var status: Int

    init(_ response: HTTPResponse, _ json: JSON) {
        self.json = json
        body = response.body
        headers = response.headers
        serverTime = response.headers["Date"].flatMap { Timestamp(httpDate: $0) }
        status = response.status
    }

    var rows: [JSON] { json["result"]?.asArray ?? [] }
    var record: JSON { json["result"] ?? .null }

    /// The number of rows before access rules apply; nil if the answer does not say.
    var total: Int? { headers["X-Total-Count"].flatMap { Int($0) } }

    /// The rows of a list that is not parsed yet.
    var list: [JSON] {
        get throws(Failure) {
            let json: JSON
            do { json = try JSON.parse(body) } catch { throw Failure.badAnswer("The answer is not JSON: \(error).") }
            if let rows = json["result"]?.asArray { return rows }
            throw Failure.badAnswer("The answer has no list in 'result'.")
        }
    }

    func tasks(from place: String) throws(Failure) -> Listing {
        do {
            return try Listing(body, shape: .serviceNow)
        } catch {
            throw Failure.badAnswer("The task list of \(place) cannot be read: \(error.description).")
        }
    }
}
