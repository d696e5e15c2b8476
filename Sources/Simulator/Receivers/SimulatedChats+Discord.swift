import BellhopCore

// Discord's webhooks: `/discord/api/webhooks/{id}/{token}`. One whose id begins with 9 belongs to a forum. Source: Discord's
// reference of webhooks, embeds and rate limits.
extension SimulatedChats.State {
    /// Five messages in two seconds.
    private static let bucket = (size: 5, microseconds: Int64(2_000_000))

    mutating func discord(_ call: ChatCall) throws(Refusal) -> Reply {
        guard call.path.prefix(2) == ["api", "webhooks"], call.path.count >= 4 else {
            throw Refusal(404, ["message": "404: Not Found", "code": 0])
        }
        let hook = call.path[2]
        switch call.fault {
        case .tooManyRequests(let seconds)?: throw limited(seconds)
        case .revoked?: throw Refusal(401, ["message": "Invalid Webhook Token", "code": 50027])
        case .noChat?: throw Refusal(404, ["message": "Unknown Webhook", "code": 10015])
        case .hiddenError?, nil: break
        }
        if call.request.method == "GET" {
            return .json(200, ["id": .string(hook), "name": "bellhop", "channel_id": .string(hook), "type": 1])
        }
        let now = call.request.time
        let recent = (uses[hook] ?? []).filter { $0 > now - Self.bucket.microseconds }
        guard recent.count < Self.bucket.size else { throw limited(Double(recent[0] + Self.bucket.microseconds - now) / 1e6) }
        uses[hook] = recent + [now]
        let body = try call.body(or: Refusal(400, ["message": "The request body contains invalid JSON.", "code": 50109]))
        try checkEmbeds(body)
        var reply = try put(call, hook, body)
        reply.set("X-RateLimit-Limit", String(Self.bucket.size))
        reply.set("X-RateLimit-Remaining", String(Self.bucket.size - recent.count - 1))
        reply.set("X-RateLimit-Reset-After", "2.000")
        return reply
    }

    private mutating func put(_ call: ChatCall, _ hook: String, _ body: JSON) throws(Refusal) -> Reply {
        let isForum = hook.hasPrefix("9")
        let thread = call.request.parameter("thread_id")
        if let thread, find("discord", hook, thread) == nil { throw Refusal(404, ["message": "Unknown Channel", "code": 10003]) }
        if let thread, locked.contains(thread) { throw Refusal(403, ["message": "Thread is locked", "code": 160_005]) }
        if call.request.method == "PATCH", call.path.count == 6, call.path[4] == "messages" {
            if let thread, archived.contains(thread) { throw Refusal(400, ["message": "Thread is archived", "code": 50083]) }
            if unchangeable.contains(call.path[5]) {
                throw Refusal(
                    429,
                    [
                        "message": "Maximum number of edits to messages older than 1 hour reached. Try again later",
                        "code": 30046,
                        "retry_after": 600.0,
                    ])
            }
            guard UInt64(call.path[5]) != nil else { throw invalid("message_id") }
            guard edit(call, place: hook, id: call.path[5], body) else {
                throw Refusal(404, ["message": "Unknown Message", "code": 10008])
            }
            return .json(200, ["id": .string(call.path[5]), "channel_id": .string(hook)])
        }
        guard call.request.method == "POST", call.path.count == 4 else {
            throw Refusal(405, ["message": "405: Method Not Allowed", "code": 0])
        }
        let name = body["thread_name"]?.asString
        if isForum, name == nil, thread == nil {
            throw Refusal(
                400, ["message": "Webhooks posted to forum channels must have a thread_name or thread_id", "code": 220001])
        }
        if !isForum, name != nil {
            throw Refusal(400, ["message": "Webhooks can only create threads in forum channels", "code": 220003])
        }
        if let thread { archived.remove(thread) }
        let id = String(1_100_000_000_000_000_000 + next())
        // A post of a forum has its first message's id.
        add(call, place: hook, thread: thread, id: id, body)
        guard call.request.parameter("wait") == "true" else { return Reply(204) }
        return .json(200, ["id": .string(id), "channel_id": .string(isForum ? thread ?? id : hook), "webhook_id": .string(hook)])
    }

    private func limited(_ seconds: Double) -> Refusal {
        let answer: JSON = ["message": "You are being rate limited.", "retry_after": .double(seconds), "global": false]
        return Refusal(Reply.json(429, answer).with("X-RateLimit-Reset-After", String(seconds)))
    }

    private func checkEmbeds(_ body: JSON) throws(Refusal) {
        let content = body["content"]?.asString ?? ""
        let embeds = body["embeds"]?.asArray ?? []
        guard !content.isEmpty || !embeds.isEmpty else {
            throw Refusal(400, ["message": "Cannot send an empty message", "code": 50006])
        }
        var total = 0
        func size(_ value: JSON?, _ name: String, _ range: ClosedRange<Int>) throws(Refusal) {
            let count = value?.asString?.unicodeScalars.count ?? 0
            guard range.contains(count) else { throw invalid(name) }
            total += count
        }
        try size(body["content"], "content", 0...2000)
        total = 0
        guard embeds.count <= 10 else { throw invalid("embeds") }
        for embed in embeds {
            try size(embed["title"], "title", 0...256)
            try size(embed["description"], "description", 0...4096)
            if let footer = embed["footer"] { try size(footer["text"], "footer", 1...2048) }
            let fields = embed["fields"]?.asArray ?? []
            guard fields.count <= 25 else { throw invalid("fields") }
            for field in fields {
                try size(field["name"], "name", 1...256)
                try size(field["value"], "value", 1...1024)
            }
            // It takes no host without a full stop.
            let host = embed["url"]?.asString.map { $0.split(separator: "/").dropFirst().first ?? "" }
            if let host, !host.contains(".") { throw invalid("url") }
        }
        guard total <= 6000 else { throw invalid("embeds: over 6000") }
        let allowed = body["allowed_mentions"]
        let parse = (allowed?["parse"]?.asArray ?? []).compactMap(\.asString)
        // The same users may not be allowed in two ways.
        if parse.contains("users"), !(allowed?["users"]?.asArray ?? []).isEmpty { throw invalid("allowed_mentions") }
        for kind in ["parse", "users", "roles"] {
            let names = (allowed?[kind]?.asArray ?? []).compactMap(\.asString)
            if Set(names).count < names.count { throw invalid("allowed_mentions") }
        }
    }

    private func invalid(_ field: String) -> Refusal {
        Refusal(400, ["message": "Invalid Form Body", "code": 50035, "errors": .object([field: ["_errors": []]])])
    }
}
