import BellhopCore

// ntfy's publishing as JSON, and Matrix's client-server API for sending messages.
extension SimulatedServices.State {
    mutating func ntfy(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        func refusal(_ code: Int64, _ error: String) -> Refusal {
            Refusal(Int(code / 100), ["code": .int(code), "http": .int(code / 100), "error": .string(error)])
        }
        guard request.method == "POST" || request.method == "PUT" else { throw refusal(40401, "page not found") }
        guard request.body.count <= 2 * 4096 else { throw refusal(41303, "JSON body too large") }
        guard let body = try? JSON.parse(request.body), let topic = body["topic"]?.asString else {
            throw refusal(40024, "invalid request: request body must be valid JSON")
        }
        let isName = topic.utf8.allSatisfy {
            $0 == 0x2d || $0 == 0x5f || 0x30...0x39 ~= $0 || 0x41...0x5a ~= $0 || 0x61...0x7a ~= $0
        }
        guard isName, 1...64 ~= topic.utf8.count else { throw refusal(40009, "invalid request: topic invalid") }
        let token = request.bearerToken
        if let token, revoked.contains(token) { throw refusal(40101, "unauthorized") }
        if token == nil, protectedTopics.contains(topic) { throw refusal(40301, "forbidden") }
        if let priority = body["priority"], !(1...5).contains(priority.asInt ?? 0) {
            throw refusal(40007, "invalid priority parameter")
        }
        if let click = body["click"]?.asString, !click.hasPrefix("http") { throw refusal(40000, "invalid request: click") }
        let isAttachment = (body["message"]?.asString ?? "").utf8.count > 4096
        let id = next("ntfy")
        notifications.append(SimulatedNotification(id: id, message: body, isAttachment: isAttachment))
        var answer = body.asObject ?? [:]
        answer["id"] = .string(id)
        answer["time"] = .int(request.time / 1_000_000)
        answer["event"] = "message"
        if isAttachment { answer["message"] = "You received a file: attachment.txt" }
        return .json(200, .object(answer))
    }

    mutating func matrix(_ request: ReceivedRequest, _ path: [String]) throws(Refusal) -> Reply {
        if request.method == "GET", path == ["_matrix", "client", "v3", "account", "whoami"] {
            try checkToken(request)
            return .json(200, ["user_id": "@bellhop:simulator"])
        }
        if request.method == "GET", path.count == 7, path.prefix(4) == ["_matrix", "client", "v3", "rooms"], path[5] == "event" {
            try checkToken(request)
            if let event = events.first(where: { $0.id == path[6] && $0.room == path[4] }) {
                return .json(200, ["event_id": .string(event.id), "content": event.content])
            }
            guard redacted.contains(where: { $0.id == path[6] && $0.room == path[4] }) else {
                throw refusal(404, "M_NOT_FOUND", "Event not found.")
            }
            let because: JSON = ["type": "m.room.redaction"]
            return .json(
                200, ["event_id": .string(path[6]), "content": .object([:]), "unsigned": ["redacted_because": because]])
        }
        guard request.method == "PUT", path.count == 8, path.prefix(4) == ["_matrix", "client", "v3", "rooms"], path[5] == "send",
            path[6] == "m.room.message"
        else { throw refusal(404, "M_UNRECOGNIZED", "Unrecognized request") }
        try checkToken(request)
        let (room, transaction) = (path[4], path[7])
        guard !closedRooms.contains(room) else {
            throw refusal(403, "M_FORBIDDEN", "User @bellhop:simulator not in room \(room)")
        }
        if let sent = events.first(where: { $0.room == room && $0.transaction == transaction }) {
            return .json(200, ["event_id": .string(sent.id)])
        }
        guard let content = try? JSON.parse(request.body), content.asObject != nil else {
            throw refusal(400, "M_NOT_JSON", "Content not JSON.")
        }
        // The server adds the sender, the room, hashes and a signature.
        guard request.body.count + 1000 <= 65_536 else { throw refusal(413, "M_TOO_LARGE", "event too large") }
        guard content["msgtype"]?.asString != nil, content["body"]?.asString != nil else {
            throw refusal(400, "M_BAD_JSON", "'body' not in content")
        }
        let related = content["m.relates_to"]?["event_id"]?.asString
        if let related {
            guard let event = (events + redacted).first(where: { $0.id == related }) else {
                throw refusal(400, "M_UNKNOWN", "Can't send relation to unknown event")
            }
            guard event.room == room else { throw refusal(400, "M_UNKNOWN", "Relations must be in the same room") }
        }
        let id = next("$event")
        // An edit of a deleted event is accepted and never shown.
        if content["m.relates_to"]?["rel_type"] == "m.replace", redacted.contains(where: { $0.id == related }) {
            return .json(200, ["event_id": .string(id)])
        }
        events.append(SimulatedRoomEvent(id: id, room: room, transaction: transaction, content: content))
        return .json(200, ["event_id": .string(id)])
    }

    private func refusal(_ status: Int, _ code: String, _ error: String) -> Refusal {
        Refusal(status, ["errcode": .string(code), "error": .string(error)])
    }

    private func checkToken(_ request: ReceivedRequest) throws(Refusal) {
        guard let token = request.bearerToken else { throw refusal(401, "M_MISSING_TOKEN", "Missing access token") }
        guard !revoked.contains(token) else { throw refusal(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.") }
    }
}
