import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

/// The other simulated systems over HTTP: ETO, Mobile Foundation, the JSON API and the pages, set up from another process.
@Suite(.closing) struct OtherSystemsTests {
    let office = Office()
    static let enterprise = "9f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0"

    private func send(_ client: inout Client, _ method: Method, _ path: String, _ body: String = "") async throws {
        let reply = try await client.send(method, "/simulator/" + path, body: body)
        #expect([201, 204].contains(reply.status), "\(path): \(reply.status) \(reply.text)")
    }

    @Test func `ETO can be set up and used over HTTP, and its log and state contain no secret`() async throws {
        var client = try await office.open()
        client.authorization = nil
        try await send(&client, .POST, "eto/accounts", #"{"email": "ada@example.com", "password": "c0rrect"}"#)
        try await send(
            &client, .POST, "eto/enterprises",
            #"{"guid": "\#(Self.enterprise)", "name": "Shelter", "sites": [{"id": 77, "name": "North", "programs": [{"id": 1, "name": "Intake"}]}]}"#
        )
        try await send(&client, .POST, "eto/touchpoints", #"{"id": 14, "name": "Visit"}"#)
        try await send(&client, .POST, "eto/responses", #"{"touchpoint": 14, "subject": 501, "elements": {"1006": "hello"}}"#)
        client.headers = ["Content-Type": "application/json"]
        let login = try await client.send(
            .POST, "/API/Security.svc/SSOAuthenticate/",
            body: #"{"security": {"Email": "ada@example.com", "Password": "c0rrect"}}"#)
        let token = try #require(try login.json()["SSOAuthenticateResult"]?["SSOAuthToken"]?.asString)
        #expect(token != SimulatedETO.zeros)
        let security = try await client.get("/API/Security.svc/SSOSiteLogin/77/\(Self.enterprise)/\(token)/0").text.filter {
            $0 != "\""
        }
        client.headers["securityToken"] = security
        client.headers["enterpriseGuid"] = Self.enterprise
        let list = try await client.get("/API/TouchPoint.svc/ListTouchPointResponses?TouchPointID=14")
        #expect(try list.json().asArray?.count == 1)
        try await send(&client, .PATCH, "eto", #"{"dead_session": 401}"#)
        try await send(&client, .DELETE, "eto/sessions")
        #expect(try await client.get("/API/TouchPoint.svc/ListTouchPointResponses?TouchPointID=14").status == 401)

        let state = try await client.get("/simulator/eto").text
        #expect(state.contains(#""logins":1"#) && state.contains("hello"))
        let log = try await client.get("/simulator/requests").text
        #expect(log.contains("/API/Security.svc/SSOSiteLogin/77/(left out)/(left out)/0"))
        for secret in ["c0rrect", token, security] {
            #expect(!log.contains(secret))
            #expect(!state.contains(secret))
        }
        #expect(!log.contains(Self.enterprise))
    }

    @Test func `Mobile Foundation can be given clients, adapters and an external resource, and its tokens can be revoked`()
        async throws
    {
        var client = try await office.open()
        client.authorization = nil
        try await send(&client, .POST, "mfp/clients", #"{"id": "bellhop", "secret": "s3cret", "scopes": ["orders"]}"#)
        try await send(&client, .POST, "mfp/adapters", #"{"name": "orders", "scopes": ["orders"], "body": "[1]"}"#)
        try await send(&client, .PUT, "mfp/external", #"{"body": "{}", "challenges": true}"#)
        try await send(&client, .PATCH, "mfp", #"{"lifetime": 60}"#)
        #expect(try await client.get("/external/x").header("WWW-Authenticate") == "Bearer")
        client.headers = ["Content-Type": "application/x-www-form-urlencoded", "Authorization": "Basic YmVsbGhvcDpzM2NyZXQ="]
        let answer = try await client.send(
            .POST, "/mfp/api/az/v1/token", body: "grant_type=client_credentials&scope=RegisteredClient%20orders")
        #expect(try answer.json()["expires_in"]?.asInt == 60)
        let token = try #require(try answer.json()["access_token"]?.asString)
        client.headers = ["Authorization": "Bearer \(token)"]
        #expect(try await client.get("/mfp/api/adapters/orders/all").text == "[1]")
        client.headers = [:]
        try await send(&client, .DELETE, "mfp/tokens")
        client.headers = ["Authorization": "Bearer \(token)"]
        #expect(
            try await client.get("/mfp/api/adapters/orders/all").header("WWW-Authenticate")?.contains("invalid_token") == true
        )
        client.headers = [:]
        let state = try await client.get("/simulator/mfp").text
        let all = state + (try await client.get("/simulator/requests").text)
        for secret in ["s3cret", token, "YmVsbGhvcDpzM2NyZXQ="] { #expect(!all.contains(secret)) }
    }

    @Test func `the JSON API and the pages can be changed, closed and made to fail`() async throws {
        var client = try await office.open()
        client.authorization = nil
        try await send(&client, .POST, "api/issues", #"{"title": "Door stuck"}"#)
        try await send(&client, .PATCH, "api/issues/1", #"{"state": "closed"}"#)
        let refused = try await client.send(.POST, "/simulator/api/issues", body: #"{"title": "A", "colour": "red"}"#)
        #expect(refused.status == 400)
        #expect(office.simulation.api.issues.count == 1)
        #expect(try await client.get("/rest/v1/page?page=9223372036854775807&per_page=-1").status == 200)
        try await send(
            &client, .PATCH, "api",
            #"{"door": {"header": "X-API-Key", "value": "k3y"}, "quirks": ["missing_id"], "rate_limit": 60}"#)
        #expect(try await client.get("/rest/v1/list").status == 401)
        client.headers = ["X-API-Key": "k3y"]
        let list = try await client.get("/rest/v1/list")
        #expect(list.header("X-RateLimit-Limit") == "60")
        #expect(list.text == #"[{"title":"Door stuck"}]"#)
        #expect(try await client.get("/simulator/api").json()["issues"]?.asArray?.first?["state"]?.asString == "closed")
        client.headers = [:]
        #expect(try await client.send(.PATCH, "/simulator/api", body: #"{"quirks": ["lazy"]}"#).status == 400)
        try await send(&client, .PUT, "pages/kb_view.do", #"{"html": "<p>News</p>"}"#)
        #expect(office.simulation.instance.hasPage("/kb_view.do"))
        try await send(&client, .DELETE, "pages/kb_view.do")
        #expect(!office.simulation.instance.hasPage("/kb_view.do"))
        #expect(!(try await client.get("/simulator/requests").text.contains("k3y")))
    }

    @Test(arguments: [
        (OtherSystemFault.etoDetail, 200, #"{"Detail":"#), (.mfpNoToken, 401, ""), (.mfpInvalidToken, 401, ""),
        (.mfpInsufficientScope, 403, ""), (.mfpUnsuccessful, 200, #""isSuccessful":false"#),
    ])
    func `each fault of the other systems is set by name and changes the answer`(
        _ fault: OtherSystemFault, _ status: Int, _ words: String
    ) async throws {
        var client = try await office.open()
        client.authorization = nil
        let set = try await client.send(.POST, "/simulator/faults", body: #"{"fault": "\#(fault.rawValue)", "path": "/API/x"}"#)
        #expect(set.status == 201)
        let reply = try await client.get("/API/x")
        #expect(reply.status == status)
        #expect(words.isEmpty || reply.text.contains(words))
        switch fault {
        case .mfpNoToken: #expect(reply.header("WWW-Authenticate") == "Bearer")
        case .mfpInvalidToken: #expect(reply.header("WWW-Authenticate")?.contains("invalid_token") == true)
        case .mfpInsufficientScope:
            #expect(reply.header("WWW-Authenticate")?.contains("RegisteredClient scopeA scopeB") == true)
        case .etoDetail, .mfpUnsuccessful: break
        }
    }

    @Test func `the help lists every endpoint of the other systems`() {
        for path in ["eto", "eto/sessions", "mfp/adapters", "mfp/tokens", "api/issues", "pages/"] {
            #expect(AdminAPI.help.contains("/simulator/" + path))
        }
    }
}
