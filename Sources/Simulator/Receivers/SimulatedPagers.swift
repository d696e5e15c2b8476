import BellhopCore

// PagerDuty's Events API v2 and Opsgenie's Alert API v2.
extension SimulatedServices.State {
    mutating func pagerDuty(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        func invalid(_ error: String) -> Refusal {
            Refusal(400, ["status": "invalid event", "message": "Event object is invalid", "errors": [.string(error)]])
        }
        guard request.method == "POST" else { throw Refusal(405, ["status": "invalid"]) }
        guard request.body.count <= 512 * 1024 else {
            throw Refusal(413, ["status": "invalid event", "message": "Event is too large"])
        }
        guard let event = try? JSON.parse(request.body), event.asObject != nil else { throw invalid("JSON is invalid") }
        guard let routing = event["routing_key"]?.asString else { throw invalid("'routing_key' is missing or blank") }
        guard routing.utf8.count == 32 else { throw invalid("Length of 'routing_key' is incorrect (should be 32 characters)") }
        guard !revoked.contains(routing) else { throw invalid("'routing_key' is unknown") }
        let given = try event.text("dedup_key", upTo: 255, or: invalid("'dedup_key' is too long"))
        let key = given ?? next("pd")
        switch event["event_action"]?.asString {
        case "trigger":
            guard let payload = event["payload"] else { throw invalid("'payload' is missing or blank") }
            guard let summary = try payload.text("summary", upTo: 1024, or: invalid("'payload.summary' is too long")),
                !summary.isEmpty
            else { throw invalid("'payload.summary' is missing or blank") }
            guard payload["source"]?.asString?.isEmpty == false else { throw invalid("'payload.source' is missing or blank") }
            guard ["critical", "error", "warning", "info"].contains(payload["severity"]?.asString) else {
                throw invalid(
                    "'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')")
            }
            for link in event["links"]?.asArray ?? [] where link["href"]?.asString?.hasPrefix("http") != true {
                throw invalid("'links.href' is invalid")
            }
            trigger("pagerduty", key, event)
        case "acknowledge" where given != nil: set("pagerduty", key, .acknowledged)
        case "resolve" where given != nil: set("pagerduty", key, .closed)
        case "acknowledge", "resolve": throw invalid("'dedup_key' is missing or blank")
        default: throw invalid("'event_action' is invalid")
        }
        return .json(202, ["status": "success", "message": "Event processed", "dedup_key": .string(key)])
    }

    mutating func opsgenie(_ request: ReceivedRequest, _ path: [String]) throws(Refusal) -> Reply {
        let id = next("request-")
        func refusal(_ status: Int, _ message: String, _ field: String? = nil) -> Refusal {
            var answer: JSON.Object = ["message": .string(message), "took": 0, "requestId": .string(id)]
            if let field { answer["errors"] = [field: "is not valid."] }
            return Refusal(status, .object(answer))
        }
        guard let key = request.header("Authorization"), key.hasPrefix("GenieKey ") else {
            throw refusal(401, "Could not authenticate")
        }
        guard !revoked.contains(String(key.dropFirst(9))) else { throw refusal(403, "You are not authorized for this action") }
        guard request.method == "POST", path.prefix(2) == ["v2", "alerts"] else { throw refusal(404, "Not found") }
        guard let body = try? JSON.parse(request.body), body.asObject != nil else {
            throw refusal(400, "Request body is not a valid JSON")
        }
        if path.count > 3, request.parameter("identifierType") == "alias", let verb = path.last,
            ["close", "acknowledge"].contains(verb)
        {
            // An alias may have slashes.
            set("opsgenie", path[2..<(path.count - 1)].joined(separator: "/"), verb == "close" ? .closed : .acknowledged)
        } else {
            guard path.count == 2 else { throw refusal(404, "Not found") }
            let wrong = "Request body is not processable. Please check the errors."
            guard try body.text("message", upTo: 130, or: refusal(422, wrong, "message"))?.isEmpty == false else {
                throw refusal(422, wrong, "message")
            }
            for (name, limit) in [("description", 15_000), ("entity", 512), ("source", 100)] {
                _ = try body.text(name, upTo: limit, or: refusal(422, wrong, name))
            }
            let alias = try body.text("alias", upTo: 512, or: refusal(422, wrong, "alias"))
            let details = (body["details"]?.asObject ?? [:]).reduce(0) {
                $0 + $1.key.unicodeScalars.count + ($1.value.asString?.unicodeScalars.count ?? 8001)
            }
            guard details <= 8000 else { throw refusal(422, wrong, "details") }
            guard body["priority"].map({ ["P1", "P2", "P3", "P4", "P5"].contains($0.asString) }) ?? true else {
                throw refusal(422, wrong, "priority")
            }
            trigger("opsgenie", alias ?? id, body)
        }
        return .json(202, ["result": "Request will be processed", "took": 0.002, "requestId": .string(id)])
    }
}
