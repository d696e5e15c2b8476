import BellhopCore

extension SimulatedETO {
    func answer(_ request: ReceivedRequest) -> Reply { change { $0.answer(request) } }
}

extension SimulatedETO.State {
    private static let noEndpoint = Reply.html(404, "<html><body>Endpoint not found.</body></html>")
    private static let empty = Reply(200, type: "application/json;charset=UTF-8")

    fileprivate mutating func answer(_ request: ReceivedRequest) -> Reply {
        let path = Array(request.segments.dropFirst())
        guard request.header("Content-Type")?.hasPrefix("application/json") == true else {
            return .detail(400, "Simulator: Content-Type is not application/json")
        }
        if path.first == "Security.svc", path.count > 1, path[1] != "UpdateCurrentProgram" { return security(request, path) }
        guard let token = request.header("securityToken"), let session = sessions[token],
            request.header("enterpriseGuid")?.lowercased() == session.enterprise.lowercased()
        else { return deadSession() }
        switch (request.method, path.first, path.dropFirst().first) {
        case ("POST", "Security.svc"?, "UpdateCurrentProgram"?): return changeProgram(request, session)
        case ("GET", "Form.svc"?, "Forms"?): return programs(path, session)
        case ("GET", "TouchPoint.svc"?, "ListTouchPointResponses"?): return list(request)
        case ("GET", "TouchPoint.svc"?, "GetTouchPointResponse"?): return single(request)
        case ("GET", "TouchPoint.svc"?, "GetTouchPoint"?): return form(request)
        case ("POST", "TouchPoint.svc"?, "TouchPointResponseAdd"?): return add(request, session)
        default: return Self.noEndpoint
        }
    }

    private func deadSession() -> Reply {
        switch behavior.deadSession {
        case 200: .detail(200, "Security token is invalid or has expired")
        case let status: .detail(status, "The server was unable to process the request due to an internal error")
        }
    }

    // MARK: Logging in

    private mutating func security(_ request: ReceivedRequest, _ path: [String]) -> Reply {
        switch (request.method, path[1], path.count) {
        case ("POST", "SSOAuthenticate", 2): return authenticate(request)
        case ("GET", "GetSSOEnterprises", 3):
            guard ssoAccounts[path[2]] != nil else { return .detail(200, "The SSO token \(path[2]) is invalid") }
            return .json(200, .array(enterprises.map { ["Key": .string($0.guid), "Value": .string($0.name)] }))
        case ("GET", "GetSSOSites", 4):
            guard ssoAccounts[path[2]] != nil, let enterprise = enterprise(path[3]) else {
                return .detail(200, "The SSO token \(path[2]) is invalid for \(path[3])")
            }
            return .json(200, .array(enterprise.sites.map { ["Key": .int($0.id), "Value": .string($0.name)] }))
        case ("GET", "SSOSiteLogin", 6):
            guard let account = ssoAccounts[path[4]], let enterprise = enterprise(path[3]), let site = Int(path[2]),
                Int(path[5]) != nil,
                enterprise.sites.contains(where: { $0.id == site })
            else { return .detail(500, "The SSO token \(path[4]) is invalid") }
            counts.siteLogins += 1
            let token = guid()
            sessions[token] = .init(account: account, enterprise: enterprise.guid, site: site)
            return .json(200, .string(token))
        default: return Self.noEndpoint
        }
    }

    /// Checks a login. The answer is always 200 and contains the password, as with the real service.
    private mutating func authenticate(_ request: ReceivedRequest) -> Reply {
        guard let security = (try? JSON.parse(request.body))?["security"], let email = security["Email"]?.asString,
            let password = security["Password"]?.asString
        else { return .detail(400, "Simulator: no Email or Password in security") }
        let isRight = accounts[email] == password
        var token = SimulatedETO.zeros
        if isRight {
            counts.logins += 1
            token = guid()
            ssoAccounts[token] = email
        } else {
            counts.failedLogins += 1
        }
        return .json(
            200,
            [
                "SSOAuthenticateResult": [
                    "AccessKey": .string(SimulatedETO.zeros), "AuthStatusCode": isRight ? 0 : 1,
                    "Email": .string(email),
                    "MarketplaceId": 0, "Password": .string(password), "SSOAuthToken": .string(token), "TimeZoneOffset": .null,
                ]
            ])
    }

    private func enterprise(_ guid: String) -> SimulatedETO.Enterprise? {
        enterprises.first { $0.guid.lowercased() == guid.lowercased() }
    }

    // MARK: Programs

    private func site(of session: SimulatedETO.Session) -> SimulatedETO.Site? {
        enterprise(session.enterprise)?.sites.first { $0.id == session.site }
    }

    private func programs(_ path: [String], _ session: SimulatedETO.Session) -> Reply {
        guard path.count == 5, path[2] == "Program", path[3] == "GetPrograms", path[4] == String(session.site) else {
            return Self.noEndpoint
        }
        let programs = site(of: session)?.programs ?? []
        return .json(
            200, .array(programs.map { ["ID": .int($0.id), "Name": .string($0.name), "Disabled": .bool($0.isDisabled)] }))
    }

    private mutating func changeProgram(_ request: ReceivedRequest, _ session: SimulatedETO.Session) -> Reply {
        guard let text = (try? JSON.parse(request.body))?["ProgramID"]?.asString, let id = Int(text),
            site(of: session)?.programs.contains(where: { $0.id == id }) == true
        else { return .detail(400, "The program does not belong to the site") }
        counts.programChanges += 1
        setProgram(id, of: session.account)
        return Reply(200)
    }

    // MARK: Responses

    private func numbers(_ request: ReceivedRequest, _ known: Set<String>) -> [String: Int]? {
        var numbers: [String: Int] = [:]
        for (name, value) in request.parameters {
            if name == "PopulateElementCollection" { continue }
            guard known.contains(name), let number = Int(value) else { return nil }
            numbers[name] = number
        }
        return numbers
    }

    private func list(_ request: ReceivedRequest) -> Reply {
        guard let asked = numbers(request, ["SubjectID", "TouchPointID"]), let touchPoint = asked["TouchPointID"] else {
            return .detail(400, "Simulator: SubjectID and TouchPointID are numbers")
        }
        let found = responses.filter { $0.touchPoint == touchPoint && (asked["SubjectID"] ?? $0.subject) == $0.subject }
        if found.isEmpty, behavior.sendsEmptyBody { return Self.empty }
        return .json(200, .array(found.map { record($0, withElements: behavior.listsElements) }))
    }

    /// An empty answer if the form does not exist.
    private func form(_ request: ReceivedRequest) -> Reply {
        guard let asked = numbers(request, ["TouchPointID"]), let id = asked["TouchPointID"] else {
            return .detail(400, "Simulator: TouchPointID is a number")
        }
        guard let name = touchPoints[id] else { return Self.empty }
        return .json(200, ["TouchPointID": .int(id), "TouchPointName": .string(name)])
    }

    private func single(_ request: ReceivedRequest) -> Reply {
        guard let asked = numbers(request, ["TouchPointID", "TouchPointResponseID"]), let touchPoint = asked["TouchPointID"],
            let id = asked["TouchPointResponseID"]
        else { return .detail(400, "Simulator: TouchPointID and TouchPointResponseID are numbers") }
        guard let response = responses.first(where: { $0.id == id && $0.touchPoint == touchPoint }) else { return Self.empty }
        return .json(200, record(response, withElements: true))
    }

    private func record(_ response: SimulatedETO.Response, withElements: Bool) -> JSON {
        var members: JSON.Object = [
            "TouchPointResponseID": .int(response.id),
            "TouchPointID": .int(response.touchPoint),
            "SubjectID": .int(response.subject),
            "ProgramID": response.program.map { .int($0) } ?? .null,
            "FormName": "Visit",
            "ResponseCreatedDate": .string("/Date(\(response.created)-0400)/"),
        ]
        if withElements {
            let elements = response.elements.compactMap { element in
                (try? JSON.parse(element.json)).map { Self.element(element.id, $0) }
            }
            members["ResponseElements"] = .array(elements)
        }
        return .object(members)
    }

    /// An element of a response, as the services send it. A value that is not an object is the text that a user entered.
    private static func element(_ id: Int, _ value: JSON) -> JSON {
        guard case .object(let members) = value else {
            return [
                "ElementID": .int(id), "ElementType": 5, "Value": value == .null ? .null : .string(value.asString ?? value.text),
            ]
        }
        if members["ElementID"] != nil { return value }
        return .object((["ElementID": .int(id)] as JSON.Object).adding(members))
    }

    private mutating func add(_ request: ReceivedRequest, _ session: SimulatedETO.Session) -> Reply {
        guard let response = (try? JSON.parse(request.body))?["TouchPointResponse"],
            let touchPoint = response["TouchPointID"]?.asWhole, let subject = response["SubjectID"]?.asWhole,
            let created = response["ResponseCreatedDate"]?.asString, created.hasPrefix("/Date("), created.hasSuffix(")/"),
            let millis = Int64(created.dropFirst(6).dropLast(2)), let elements = response["ResponseElements"]?.asArray
        else { return .detail(400, "Simulator: this is not a TouchPointResponse") }
        guard response["ProgramID"]?.asWhole == session.program else {
            return .detail(400, "The response's program is not the current one")
        }
        var kept: [(id: Int, json: String)] = []
        for element in elements {
            guard let id = element["ElementID"]?.asWhole, let type = element["ElementType"]?.asWhole, isValid(element, type)
            else { return .detail(400, "Element \(element["ElementID"]?.text ?? "?") is not valid for this TouchPoint") }
            kept.append((id, rewritten(element).text))
        }
        lastResponse += 1
        counts.added += 1
        responses.append(
            .init(
                id: lastResponse, touchPoint: touchPoint, subject: subject, program: session.program, created: millis,
                elements: kept))
        return .json(200, ["AddTouchPointResponseResult": ["TouchPointResponseID": .int(lastResponse)]])
    }

    private func isValid(_ element: JSON, _ type: Int) -> Bool {
        switch type {
        case 9:
            let parts = (element["Value"]?.asString ?? "").split(separator: "/")
            return parts.map(\.count) == [2, 2, 4] && parts.allSatisfy { Int($0) != nil }
        case 29:
            let bytes = element["ResponseFileAttachment"]?["FileContent"]?.asArray ?? [.null]
            return bytes.allSatisfy { 0...255 ~= $0.asWhole ?? -1 }
                && element["ResponseFileAttachment"]?["FileName"]?.asString != nil
        case 4:
            return element["ResponseElementChoices"]?.asArray?.allSatisfy { $0["TouchPointElementChoiceID"]?.asWhole != nil }
                == true
        default: return element["Value"]?.asString != nil
        }
    }

    private func rewritten(_ element: JSON) -> JSON {
        guard behavior.rewritesValues, let value = element["Value"]?.asString, case .object(var members) = element else {
            return element
        }
        members["Value"] = .string(value.uppercased())
        return .object(members)
    }
}

extension Reply {
    /// The error shape of ETO's services.
    static func detail(_ status: Int, _ text: String) -> Reply { .json(status, ["Detail": .string(text)]) }
}
