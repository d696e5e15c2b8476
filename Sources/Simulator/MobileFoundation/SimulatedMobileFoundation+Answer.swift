import BellhopCore

extension SimulatedMobileFoundation {
    func answer(_ request: ReceivedRequest) -> Reply { change { $0.answer(request, at: $1) } }
}

extension SimulatedMobileFoundation.State {
    fileprivate mutating func answer(_ request: ReceivedRequest, at now: Int64) -> Reply {
        let path = request.segments
        if path.first == "external" { return outside(request, at: now) }
        guard path.count > 2, path[1] == "api" else { return .json(404, ["errorCode": "NOT_FOUND"]) }
        if path == ["mfp", "api", "az", "v1", "token"], request.method == "POST" { return token(request, at: now) }
        guard path.count >= 4, let known = path[2] == "adapters" ? adapters[path[3]] : services[path[3]],
            ["adapters", "services"].contains(path[2])
        else { return .json(404, ["errorCode": "ADAPTER_NOT_FOUND"]) }
        if let challenge = challenge(request, known.scopes, at: now) { return challenge }
        counts.calls += 1
        return call(known, request, path.dropFirst(4).joined(separator: "/"))
    }

    // MARK: Tokens

    private mutating func token(_ request: ReceivedRequest, at now: Int64) -> Reply {
        guard let pair = request.basicCredentials, let client = clients[pair.name], client.secret == pair.password else {
            counts.refusedClients += 1
            return .json(401, ["errorCode": "invalid_client"])
        }
        let form = request.formFields
        guard request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true,
            form["grant_type"] == "client_credentials", Set(form.keys) == ["grant_type", "scope"]
        else { return .json(400, ["errorCode": "invalid_request"]) }
        let scopes = Set((form["scope"] ?? "").split(separator: " ").map(String.init))
        guard scopes.isSubset(of: client.scopes) else { return .json(403, ["errorCode": "invalid_scope"]) }
        counts.tokens += 1
        let text = "eyJ" + random.hex(48)
        tokens[text] = .init(scopes: scopes, ends: now + Int64(lifetime) * 1_000_000)
        return .json(
            200,
            [
                "access_token": .string(text), "token_type": "Bearer", "expires_in": .int(lifetime),
                "scope": .string(scopes.sorted().joined(separator: " ")),
            ])
    }

    private func challenge(_ request: ReceivedRequest, _ scopes: [String], at now: Int64) -> Reply? {
        guard let text = request.bearerToken else { return Reply(401).with("WWW-Authenticate", "Bearer") }
        guard let token = tokens[text], token.ends > now else {
            return Reply(401).with("WWW-Authenticate", "Bearer error=\"invalid_token\"")
        }
        guard token.scopes.isSuperset(of: scopes) else {
            let wanted = (["RegisteredClient"] + scopes.filter { $0 != "RegisteredClient" }).joined(separator: " ")
            return Reply(403).with("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"\(wanted)\"")
        }
        return nil
    }

    // MARK: Resources

    private mutating func outside(_ request: ReceivedRequest, at now: Int64) -> Reply {
        guard let external else { return .json(404, ["message": "nothing here"]) }
        if external.challenges {
            if let challenge = challenge(request, [], at: now) { return challenge }
        } else if request.header("Authorization") != nil {
            return .json(400, ["message": "Simulator: a token that was not requested"])
        }
        counts.calls += 1
        return Reply(200, type: "application/json", body: Array(external.body.utf8))
    }

    private func call(_ adapter: SimulatedMobileFoundation.Adapter, _ request: ReceivedRequest, _ path: String) -> Reply {
        let query = Dictionary(request.parameters.map { ($0.name, $0.value) }) { $1 }
        let isForm = request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true
        let form = isForm ? request.formFields : [:]
        let params = query["params"] ?? form["params"]
        let arguments = params.flatMap { try? JSON.parse($0) }?.asArray?.map(\.text)
        if adapter.isJavaScript, params != nil, arguments == nil {
            return .json(
                200, ["isSuccessful": false, "errors": ["Simulator: params is not a strict JSON array"], "statusCode": 0])
        }
        let answer = adapter.answer(
            .init(method: request.method, path: path, query: query, form: form, arguments: arguments, request: request))
        return Reply(answer.status, type: answer.type, body: Array(answer.body.utf8))
    }
}
