import BellhopCore

extension SimulatedAPI.State {
    /// The answer; a fault may make its lists empty.
    mutating func answer(_ request: ReceivedRequest, _ faults: Set<Fault>, at now: Int64) -> Reply {
        let isCounted = faults.contains(.emptyListCounted)
        guard isCounted || faults.contains(.emptyList), request.segments.dropFirst(2).first != "issues" else {
            return answer(request, at: now)
        }
        var emptied = self
        emptied.statedTotal = isCounted ? issues.count : 0
        emptied.issues = []
        return emptied.answer(request, at: now)
    }

    private var total: Int { statedTotal ?? issues.count }

    private mutating func answer(_ request: ReceivedRequest, at now: Int64) -> Reply {
        if case .field(let name, let value) = requiredCredentials, request.header(name) != value {
            return .json(401, ["message": "Requires authentication"])
        }
        if quirks.contains(.echoes) {
            return .json(200, ["error": ["message": .string("cannot take \(request.header("Authorization") ?? "nobody")")]])
        }
        let path = Array(request.segments.dropFirst(2))
        guard request.segments.count > 2, request.segments[1] == "v1" else { return .json(404, ["message": "Not Found"]) }
        if path[0] == "issues" { return write(Array(path.dropFirst()), request, at: now) }
        var reply: Reply
        do throws(Refusal) {
            switch (request.method, path[0], path.count) {
            case ("GET", "list", 1): reply = try list(request)
            case ("GET", "link", 1): reply = try linked(request)
            case ("GET", "page", 1): reply = try numbered(request)
            case ("GET", "offset", 1): reply = try offset(request)
            case ("GET", "cursor", 1): reply = try cursor(request)
            case ("POST", "search", 1): reply = search(request)
            default: return .json(404, ["message": "Not Found"])
            }
        } catch {
            reply = error.reply
        }
        reply.add("Set-Cookie", "visit=\(revision); Path=/; HttpOnly")
        if quirks.contains(.hoardsCookies) {
            cookies += 40
            for number in cookies - 40..<cookies {
                reply.add("Set-Cookie", "c\(number)=\(String(repeating: "x", count: 1500)); Path=/")
            }
        }
        if quirks.contains(.shrinking), !issues.isEmpty { issues.removeFirst() }
        return conditional(reply, request)
    }

    /// 304 if the client already has the answer.
    private func conditional(_ reply: Reply, _ request: ReceivedRequest) -> Reply {
        if quirks.contains(.alwaysUnchanged) { return Reply(304) }
        guard hasValidators, reply.status == 200, request.method == "GET" else { return reply }
        var reply = reply
        let tag = reply.tag
        reply.set("ETag", tag)
        reply.set("Last-Modified", CivilTime.http(changed))
        guard request.header("If-None-Match") == tag else { return reply }
        reply.status = 304
        reply.body = []
        return reply
    }

    /// The parameters, if all are known and occur once; otherwise the refusal.
    private func parameters(_ request: ReceivedRequest, _ known: Set<String>) throws(Refusal) -> [String: String] {
        var found: [String: String] = [:]
        for (name, value) in request.parameters {
            guard known.contains(name) || quirks.contains(.sloppyQueries) else {
                throw Refusal(400, ["message": .string("Simulator: unknown parameter \(name)")])
            }
            guard found.updateValue(value, forKey: name) == nil || quirks.contains(.sloppyQueries) else {
                throw Refusal(400, ["message": .string("Simulator: \(name) occurs twice")])
            }
        }
        return found
    }

    private func list(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        let asked = try parameters(request, ["state", "updated_since"])
        var found = issues
        if let word = asked["state"] { found = found.filter { $0.state == word } }
        let isAhead = quirks.contains(.farFuture) ? found.first?.id : nil
        if let since = asked["updated_since"] { found = found.filter { $0.id == isAhead || $0.updatedText >= since } }
        return .json(200, .array(rows(found)))
    }

    private func linked(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        let asked = try parameters(request, ["page", "per_page"])
        let (page, size) = (number(asked["page"]) ?? 1, pageSize(asked["per_page"], usually: 30))
        var reply = Reply.json(200, .array(rows(slice((page - 1) * size, size))))
        guard page * size < issues.count else { return reply }
        let host = quirks.contains(.poisonedLink) ? "evil.example" : request.header("Host") ?? "localhost"
        let next = quirks.contains(.circularLink) ? page : page + 1
        let base = "http://\(host)/rest/v1/link?per_page=\(size)&page="
        reply.set("Link", "<\(base)1>; rel=\"first\", <\(base)\(next)>; title=\"a, b\"; rel=\"next\"")
        return reply
    }

    private func numbered(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        let asked = try parameters(request, ["page", "per_page", "updated_since"])
        let (page, size) = (number(asked["page"]) ?? 1, pageSize(asked["per_page"], usually: 30))
        let changed = asked["updated_since"].map { since in issues.filter { $0.updatedText >= since } }
        let found = slice((page - 1) * size, size, of: changed)
        if found.isEmpty, page > 1, quirks.contains(.missesPages) { return .json(404, ["message": "Not Found"]) }
        return .json(200, ["items": .array(rows(found)), "total": .int(changed?.count ?? total)])
    }

    private func offset(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        let asked = try parameters(request, ["offset", "limit"])
        let (start, size) = (number(asked["offset"]) ?? 0, pageSize(asked["limit"], usually: 25))
        let found = slice(start, size)
        if found.count < 2, start > 0, quirks.contains(.missesPages) { return .json(404, ["message": "Not Found"]) }
        return .json(200, ["issues": .array(rows(found)), "total_count": .int(total)])
    }

    private func cursor(_ request: ReceivedRequest) throws(Refusal) -> Reply {
        let asked = try parameters(request, ["cursor", "limit"])
        let (start, size) = (number(asked["cursor"].map { String($0.dropFirst()) }) ?? 0, pageSize(asked["limit"], usually: 25))
        let end = start + size
        let next: JSON = quirks.contains(.sameCursor) ? "c1" : end < issues.count ? .string("c\(end)") : .null
        return .json(200, ["data": ["items": .array(rows(slice(start, size)))], "next": next])
    }

    private func search(_ request: ReceivedRequest) -> Reply {
        guard request.header("Content-Type") == "application/json", let body = try? JSON.parse(request.body) else {
            return .json(415, ["message": "Simulator: the body must be JSON"])
        }
        for name in body.asObject?.keys ?? [] where !["query", "startAt", "maxResults"].contains(name) {
            return .json(400, ["message": .string("Simulator: unknown member \(name)")])
        }
        if let since = request.parameter("updated_since") { return found(issues.filter { $0.updatedText >= since }, body) }
        return found(issues, body)
    }

    private func found(_ issues: [SimulatedAPI.Issue], _ body: JSON) -> Reply {
        let size = pageSize(body["maxResults"]?.asWhole.map(String.init), usually: 50)
        let found = slice(number(body["startAt"]?.asWhole.map(String.init)) ?? 0, size, of: issues).map { issue in
            [
                "id": .string(String(10_000 + issue.id)), "key": .string("OPS-\(issue.id)"),
                "fields": [
                    "summary": .string(issue.title), "status": ["name": .string(issue.state)],
                    "priority": ["id": .string(String(issue.priority))],
                    "updated": .string(issue.updatedText.replacing("Z", with: ".000+0000")),
                ],
            ] as JSON
        }
        return .json(200, ["issues": .array(found), "total": .int(statedTotal ?? issues.count)])
    }

    private func slice(_ start: Int, _ size: Int, of some: [SimulatedAPI.Issue]? = nil) -> [SimulatedAPI.Issue] {
        let start = quirks.contains(.ignoresPaging) ? 0 : max(start, 0)
        if start > 0, quirks.contains(.losesPages) { return [] }
        return Array((some ?? issues).dropFirst(start).prefix(size))
    }

    /// A number that a client sent, limited so that it can be computed with.
    private func number(_ text: String?) -> Int? { text.flatMap { Int($0) }.map { min(max($0, 0), 1_000_000) } }

    private func pageSize(_ asked: String?, usually size: Int) -> Int {
        let wanted = number(asked) ?? size
        return quirks.contains(.capsPages) ? min(wanted, 3) : wanted
    }

    private func rows(_ issues: [SimulatedAPI.Issue]) -> [JSON] {
        issues.enumerated().map { place, issue in
            if quirks.contains(.missingID), place == issues.count - 1 { return ["title": .string(issue.title)] }
            return quirks.contains(.farFuture) && issue.id == self.issues.first?.id ? issue.ofFarFuture.json : issue.json
        }
    }

    // MARK: Writing

    private mutating func write(_ path: [String], _ request: ReceivedRequest, at now: Int64) -> Reply {
        let key = quirks.contains(.forgetsKeys) ? nil : request.header("Idempotency-Key")
        if let known = key.flatMap({ answered[$0] }) { return known }
        let reply = perform(path, request, at: now)
        if let key, reply.status < 300 { answered[key] = reply }
        return reply
    }

    private mutating func perform(_ path: [String], _ request: ReceivedRequest, at now: Int64) -> Reply {
        if request.method == "POST", path.isEmpty {
            guard let body = try? JSON.parse(request.body), let title = body["title"]?.asString else {
                return .json(422, ["message": "title is missing"])
            }
            writes += 1
            let id = add(title, "open", body["priority"]?.asWhole ?? 3, at: now)
            return .json(201, issues.last { $0.id == id }?.json ?? .null)
        }
        guard path.count == 1, let place = issues.firstIndex(where: { String($0.id) == path[0] }) else {
            return .json(404, ["message": "Not Found"])
        }
        switch request.method {
        case "GET": return .json(200, issues[place].json)
        case "DELETE":
            writes += 1
            issues.remove(at: place)
            touch(at: now)
            return Reply(204)
        case "PUT", "PATCH":
            guard let body = try? JSON.parse(request.body) else { return .json(422, ["message": "no JSON"]) }
            writes += 1
            if let title = body["title"]?.asString { issues[place].title = title }
            if let word = body["state"]?.asString { issues[place].state = word }
            issues[place].updated = now
            touch(at: now)
            return .json(200, issues[place].json)
        default: return .json(405, ["message": "Method Not Allowed"])
        }
    }
}

extension SimulatedAPI.Issue {
    /// The issue, changed at the end of the year 9999.
    fileprivate var ofFarFuture: Self {
        var copy = self
        copy.updated = 253_402_300_799_000_000
        return copy
    }

    var updatedText: String { CivilTime.text(updated).replacing(" ", with: "T") + "Z" }

    var json: JSON {
        [
            "id": .int(id), "title": .string(title), "state": .string(state), "priority": .int(priority),
            "html_url": .string("https://issues.example.com/\(id)"), "updated_at": .string(updatedText),
            "labels": .array(priority == 1 ? [["name": "urgent"]] : []),
        ]
    }
}
