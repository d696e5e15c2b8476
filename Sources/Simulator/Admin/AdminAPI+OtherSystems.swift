import BellhopCore

extension AdminAPI {
    static let helpOnOtherSystems = """
        PUT    /simulator/access_rules        the content of sys_security_acl, or null if no user may read it:
                                              [{"name": "incident.work_notes", "operation": "write", "roles": ["itil"], "condition": "…"}]
        GET    /simulator/mfp                 clients, adapters, services and counts, without secrets and tokens
        PATCH  /simulator/mfp                 {"lifetime": 3600}: the lifetime of new tokens, in seconds
        POST   /simulator/mfp/clients         {"id": "…", "secret": "…", "scopes": ["…"]}
        POST   /simulator/mfp/adapters        {"name": "…", "scopes": ["…"], "javascript": false, "status": 200, "body": "…"}
        POST   /simulator/mfp/services        the same, for a back-end service of the API connector
        PUT    /simulator/mfp/external        {"body": "…", "challenges": true}: the answer of /external, and whether it requires a token
        DELETE /simulator/mfp/tokens          revokes all tokens
        GET    /simulator/api                 the issues under /rest/v1, the number of writes, the quirks
        PATCH  /simulator/api                 {"door": {"header": "Authorization", "value": "Bearer …"} or null, "has_validators": true, "rate_limit": 60,
                                               "quirks": ["…"]}   quirks: \(SimulatedAPI.Quirk.allCases.map(\.rawValue).joined(separator: ", "))
        POST   /simulator/api/issues          {"title": "…", "state": "open", "priority": 3}
        PATCH  /simulator/api/issues/{id}     the same
        DELETE /simulator/api/issues/{id}
        PUT    /simulator/pages/{path}        {"html": "…"} or {"redirect": "…"}: a page of the instance, at /{path}
        DELETE /simulator/pages/{path}

        """

    func mobileFoundation(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let runtime = simulation.mobileFoundation
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", nil, 1): return .json(200, runtime.json)
        case ("PATCH", nil, 1):
            var form = try AdminForm(request)
            let seconds = try form.requiredInt("lifetime")
            try form.end()
            runtime.setLifetime(seconds)
        case ("POST", "clients", 2):
            var form = try AdminForm(request)
            let id = try form.requiredText("id")
            let secret = try form.requiredText("secret")
            let scopes = try form.texts("scopes") ?? []
            try form.end()
            runtime.addClient(id, secret: secret, scopes: Set(scopes))
        case ("POST", "adapters", 2), ("POST", "services", 2):
            var form = try AdminForm(request)
            let name = try form.requiredText("name")
            let scopes = try form.texts("scopes") ?? []
            let isJavaScript = try form.bool("javascript") ?? false
            let status = try form.has("status") ? form.requiredStatus() : 200
            let answer = SimulatedMobileFoundation.Answer(status, body: try form.text("body") ?? "{}")
            try form.end()
            let adapter = SimulatedMobileFoundation.Adapter(scopes: scopes, isJavaScript: isJavaScript) { _ in answer }
            if path[1] == "adapters" { runtime.addAdapter(name, adapter) } else { runtime.addService(name, adapter) }
        case ("PUT", "external", 2):
            var form = try AdminForm(request)
            let body = try form.text("body") ?? ""
            let challenges = try form.bool("challenges") ?? false
            try form.end()
            runtime.setExternal(body, challenges: challenges)
        case ("DELETE", "tokens", 2): runtime.revokeTokens()
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }

    func api(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let api = simulation.api
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", nil, 1): return .json(200, api.json)
        case ("PATCH", nil, 1):
            var form = try AdminForm(request)
            if form.has("door") { api.requiredCredentials = try requiredCredentials(try form.value("door")) }
            if form.has("rate_limit") { api.rateLimit = try form.int("rate_limit") }
            if let value = try form.bool("has_validators") { api.hasValidators = value }
            if let quirks = try form.choices("quirks", SimulatedAPI.Quirk.self, kind: "quirk") { api.quirks = quirks }
            try form.end()
        case ("POST", "issues", 2):
            var form = try AdminForm(request)
            let title = try form.requiredText("title")
            let (state, priority) = (try form.text("state") ?? "open", try form.int("priority") ?? 3)
            try form.end()
            return .json(201, ["id": .int(api.add(title, state: state, priority: priority))])
        case ("PATCH", "issues", 3):
            var form = try AdminForm(request)
            let (title, state, priority) = (try form.text("title"), try form.text("state"), try form.int("priority"))
            try form.end()
            let isThere = api.change(Int(path[2]) ?? 0) { issue in
                issue.title = title ?? issue.title
                issue.state = state ?? issue.state
                issue.priority = priority ?? issue.priority
            }
            guard isThere else { throw AdminProblem(status: 404, message: "no issue '\(path[2])'") }
        case ("DELETE", "issues", 3): api.remove(Int(path[2]) ?? 0)
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }

    private func requiredCredentials(_ value: JSON?) throws(AdminProblem) -> SimulatedAPI.RequiredCredentials {
        guard let value else { return .open }
        var form = AdminForm(value)
        let header = try form.requiredText("header")
        let content = try form.requiredText("value")
        try form.end()
        return .field(header, content)
    }

    func accessRules(_ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        guard let values = try AdminForm.body(of: request).asArray else {
            simulation.instance.accessRules = nil
            return Reply(204)
        }
        var rules: [SimulatedAccessRule] = []
        for value in values {
            var form = AdminForm(value)
            let name = try form.requiredText("name")
            let operation = try form.required("operation", try form.choice("operation", SimulatedAccessRule.Operation.self))
            let roles = try form.texts("roles") ?? []
            let condition = try form.text("condition") ?? ""
            let script = try form.text("script") ?? ""
            try form.end()
            rules.append(.init(name, operation, roles: roles, condition: condition, script: script))
        }
        simulation.instance.accessRules = rules
        return Reply(204)
    }

    func pages(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let place = "/" + path.dropFirst().joined(separator: "/")
        switch request.method {
        case "PUT":
            var form = try AdminForm(request)
            let html = try form.text("html")
            let redirect = try form.text("redirect")
            try form.end()
            if let redirect {
                simulation.instance.setRedirect(place, to: redirect)
            } else {
                simulation.instance.setPage(place, try form.required("html", html))
            }
        case "DELETE": simulation.instance.setPage(place, nil)
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }
}

extension SimulatedMobileFoundation {
    /// Without secrets and tokens.
    var json: JSON {
        change { state, now in
            [
                "clients": .object(
                    .init(
                        state.clients.sorted { $0.key < $1.key }.map {
                            ($0.key, .array($0.value.scopes.sorted().map(JSON.string)))
                        })),
                "adapters": .array(state.adapters.keys.sorted().map(JSON.string)),
                "services": .array(state.services.keys.sorted().map(JSON.string)),
                "good_tokens": .int(state.tokens.values.count { $0.ends > now }),
                "counts": [
                    "tokens": .int(state.counts.tokens), "refused_clients": .int(state.counts.refusedClients),
                    "calls": .int(state.counts.calls),
                ],
            ]
        }
    }
}

extension SimulatedAPI {
    /// Without the credentials that it requires.
    var json: JSON {
        [
            "issues": .array(
                issues.map {
                    [
                        "id": .int($0.id), "title": .string($0.title), "state": .string($0.state), "priority": .int($0.priority),
                        "updated": .string(CivilTime.text($0.updated)),
                    ]
                }),
            "writes": .int(writes), "is_open": .bool(requiredCredentials == .open), "has_validators": .bool(hasValidators),
            "quirks": .array(quirks.map(\.rawValue).sorted().map(JSON.string)),
        ]
    }
}
