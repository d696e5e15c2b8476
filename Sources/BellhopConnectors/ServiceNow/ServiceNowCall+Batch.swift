import BellhopCore

extension ServiceNowCall {
    /// Whether asking twice is not the same as asking once. A batch is posted, and only ever reads.
    var changesSomething: Bool { method != "GET" && expecting != .batch }

    /// Whether it may be asked in the body of a batch as well.
    var mayBeInBatch: Bool { method == "GET" && expecting != .page }

    /// What is asked, in the body of a batch, where its address would be longer than proxies and servers take; nil where it would not.
    ///
    /// - Parameter length: of the longest address that is known to pass.
    func inBatch(beyond length: Int) -> ServiceNowCall? {
        guard mayBeInBatch, target.utf8.count > min(longest, length) else { return nil }
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

    /// The answer to the one request of a batch; nil when the server left it unserviced.
    ///
    /// - Parameter headers: of the batch's own answer, which alone has the server's time.
    static func reply(in batch: JSON, headers: HeaderFields) -> HTTPResponse? {
        guard let reply = batch["serviced_requests"]?[0], let status = reply["status_code"]?.asInt,
            let body = Base64.decode(reply["body"]?.asString ?? "")
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
