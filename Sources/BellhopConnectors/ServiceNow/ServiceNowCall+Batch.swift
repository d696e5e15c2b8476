import BellhopCore

extension ServiceNowCall {
    /// Whether repeating the request has an effect. A batch is a POST that only reads.
    var changesSomething: Bool { method != "GET" && expecting != .batch }

    /// Whether it may also be sent in a batch.
    var mayBeInBatch: Bool { method == "GET" && expecting != .page }

    /// The request as a batch, if its address would be longer than proxies and servers accept; otherwise nil.
    ///
    /// - Parameter length: the longest address known to pass.
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

    /// The answer to the one request of a batch; nil if the server did not service it.
    ///
    /// - Parameter headers: of the batch's own answer, the only one with the server's time.
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
