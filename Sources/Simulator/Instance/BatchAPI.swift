import BellhopCore

/// The Batch API: `/api/now/[v1/]batch`. The requests inside are answered one after the other, as if sent separately.
extension SimulatedInstance.State {
    mutating func batch(_ call: InstanceCall) -> Reply {
        let request = call.request
        guard request.method == "POST" else { return .wrongMethod }
        guard settings.takesBatches else { return .readRefused }
        guard let body = try? JSON.parse(request.body), let id = body["batch_request_id"]?.asString,
            let requests = body["rest_requests"]?.asArray
        else { return .error(400, "Exception while reading request", detail: "The payload is not valid JSON.") }
        if call.quirks.contains(.unserviced) {
            let names = requests.compactMap { $0["id"] }
            return .json(
                200,
                ["batch_request_id": .string(id), "serviced_requests": .array([]), "unserviced_requests": .array(names)])
        }
        var serviced: [JSON] = []
        for item in requests {
            guard let name = item["id"]?.asString, let method = item["method"]?.asString, let url = item["url"]?.asString else {
                return .error(400, "Simulator: a request of a batch needs id, method and url", detail: nil)
            }
            var inner = call
            inner.request = self.inner(request, method, url, item)
            let reply = route(inner)
            var members: JSON.Object = [
                "id": .string(name), "status_code": .int(reply.status),
                "status_text": .string(reply.status == 200 ? "OK" : "Error"),
                "body": .string(Base64.encode(reply.body)),
                "execution_time": .int(1),
            ]
            if item["exclude_response_headers"] != .bool(true) {
                let headers = reply.headers.map { JSON.object(["name": .string($0.name), "value": .string($0.value)]) }
                members["headers"] = .array(headers)
            }
            serviced.append(.object(members))
        }
        return .json(
            200, ["batch_request_id": .string(id), "serviced_requests": .array(serviced), "unserviced_requests": .array([])])
    }

    private func inner(_ request: ReceivedRequest, _ method: String, _ url: String, _ item: JSON) -> ReceivedRequest {
        let halves = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var inner = request
        inner.method = method
        inner.path = PercentEncoding.decode(halves[0])
        inner.query = halves.count == 2 ? String(halves[1]) : ""
        inner.headers = (item["headers"]?.asArray ?? []).compactMap { header in
            guard let name = header["name"]?.asString, let value = header["value"]?.asString else { return nil }
            return .init(name: name, value: value)
        }
        inner.body = item["body"]?.asString.flatMap { Base64.decode($0) } ?? []
        return inner
    }
}
