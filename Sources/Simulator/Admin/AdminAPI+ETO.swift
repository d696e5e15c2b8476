import BellhopCore

extension AdminAPI {
    static let helpOnETO = """
        GET    /simulator/eto                 accounts, enterprises, TouchPoints, responses and counts, without passwords and tokens
        PATCH  /simulator/eto                 dead_session (500, 401, 400 or 200), sends_nothing, lists_elements, rewrites_values
        POST   /simulator/eto/accounts        {"email": "…", "password": "…"}
        POST   /simulator/eto/enterprises     {"guid": "…", "name": "…", "sites": [{"id": 77, "name": "…",
                                               "programs": [{"id": 1, "name": "…", "disabled": false}]}]}
        POST   /simulator/eto/touchpoints     {"id": 14, "name": "…"}
        POST   /simulator/eto/responses       {"touchpoint": 14, "subject": 501, "program": 1, "elements": {"1006": "…"}}
        PATCH  /simulator/eto/responses/{id}  {"elements": {"1006": "…"}}
        DELETE /simulator/eto/responses/{id}
        DELETE /simulator/eto/sessions        ends sessions, like a login to the web pages; ?account=… for those of one account

        """

    func eto(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let eto = simulation.eto
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", nil, 1): return .json(200, eto.json)
        case ("PATCH", nil, 1):
            var form = try AdminForm(request)
            var behavior = eto.behavior
            if let value = try form.int("dead_session") {
                guard [500, 401, 400, 200].contains(value) else {
                    throw AdminProblem(message: "'dead_session' is 500, 401, 400 or 200")
                }
                behavior.deadSession = value
            }
            if let value = try form.bool("sends_nothing") { behavior.sendsEmptyBody = value }
            if let value = try form.bool("lists_elements") { behavior.listsElements = value }
            if let value = try form.bool("rewrites_values") { behavior.rewritesValues = value }
            try form.end()
            eto.behavior = behavior
        case ("POST", "accounts", 2):
            var form = try AdminForm(request)
            let email = try form.requiredText("email")
            let password = try form.requiredText("password")
            try form.end()
            eto.addAccount(email, password: password)
        case ("POST", "enterprises", 2): eto.addEnterprise(try enterprise(request))
        case ("POST", "touchpoints", 2):
            var form = try AdminForm(request)
            let id = try form.requiredInt("id")
            let name = try form.text("name") ?? ""
            try form.end()
            eto.addTouchPoint(id, name)
        case ("DELETE", "sessions", 2): eto.endSessions(of: request.parameter("account"))
        case (_, "responses", 2...3): return try responses(Array(path.dropFirst(2)), request)
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }

    private func responses(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let eto = simulation.eto
        if request.method == "POST", path.isEmpty {
            var form = try AdminForm(request)
            let touchPoint = try form.requiredInt("touchpoint")
            let subject = try form.requiredInt("subject")
            let program = try form.int("program")
            let elements = try elements(&form)
            try form.end()
            let made = eto.addResponse(touchPoint: touchPoint, subject: subject, program: program, elements: elements ?? [])
            return .json(201, made.json)
        }
        guard let text = path.first, let id = Int(text), eto.responses.contains(where: { $0.id == id }) else {
            throw AdminProblem(status: 404, message: "no response '\(path.first ?? "")'")
        }
        switch request.method {
        case "PATCH":
            var form = try AdminForm(request)
            let elements = try elements(&form) ?? []
            try form.end()
            eto.changeResponse(id) { response in
                for element in elements {
                    response.elements.removeAll { $0.id == element.id }
                    response.elements.append(element)
                }
            }
        case "DELETE": eto.deleteResponse(id)
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }

    private func elements(_ form: inout AdminForm) throws(AdminProblem) -> [(id: Int, json: String)]? {
        guard let members = try form.value("elements")?.asObject else { return nil }
        var elements: [(id: Int, json: String)] = []
        for (name, value) in members {
            guard let id = Int(name) else { throw AdminProblem(message: "'\(name)' is not an element's number") }
            elements.append((id, value.text))
        }
        return elements
    }

    private func enterprise(_ request: ReceivedRequest) throws(AdminProblem) -> SimulatedETO.Enterprise {
        var form = try AdminForm(request)
        let guid = try form.requiredText("guid")
        let name = try form.requiredText("name")
        var sites: [SimulatedETO.Site] = []
        for value in try form.value("sites")?.asArray ?? [] {
            var site = AdminForm(value)
            let id = try site.requiredInt("id")
            let name = try site.requiredText("name")
            var programs: [SimulatedETO.Program] = []
            for value in try site.value("programs")?.asArray ?? [] {
                var program = AdminForm(value)
                let number = try program.requiredInt("id")
                let title = try program.requiredText("name")
                let isDisabled = try program.bool("disabled") ?? false
                try program.end()
                programs.append(.init(number, title, isDisabled: isDisabled))
            }
            try site.end()
            sites.append(.init(id, name, programs: programs))
        }
        try form.end()
        return .init(guid, name, sites: sites)
    }
}

extension SimulatedETO {
    /// Without passwords and tokens.
    var json: JSON {
        change { state in
            let counts = state.counts
            return [
                "accounts": .array(state.accounts.keys.sorted().map(JSON.string)),
                "enterprises": .array(state.enterprises.map(\.json)),
                "touchpoints": .object(
                    .init(state.touchPoints.sorted { $0.key < $1.key }.map { (String($0.key), .string($0.value)) })),
                "responses": .array(state.responses.map(\.json)), "open_sessions": .int(state.sessions.count),
                "counts": [
                    "logins": .int(counts.logins), "failed_logins": .int(counts.failedLogins),
                    "site_logins": .int(counts.siteLogins), "program_changes": .int(counts.programChanges),
                    "added": .int(counts.added),
                ],
            ]
        }
    }
}

extension SimulatedETO.Enterprise {
    fileprivate var json: JSON {
        [
            "guid": .string(guid), "name": .string(name),
            "sites": .array(
                sites.map { site in
                    [
                        "id": .int(site.id), "name": .string(site.name),
                        "programs": .array(
                            site.programs.map { ["id": .int($0.id), "name": .string($0.name), "disabled": .bool($0.isDisabled)] }),
                    ]
                }),
        ]
    }
}

extension SimulatedETO.Response {
    fileprivate var json: JSON {
        let values = JSON.Object(elements.map { (String($0.id), (try? JSON.parse($0.json)) ?? .null) })
        return [
            "id": .int(id), "touchpoint": .int(touchPoint), "subject": .int(subject),
            "program": program.map { .int($0) } ?? .null, "created": .int(created), "elements": .object(values),
        ]
    }
}
