import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct AdminTests {
    let office = Office()

    @Test func `tasks are added, changed, commented and deleted over HTTP`() async throws {
        var client = try await office.open()
        client.authorization = nil
        let made = try await client.send(
            .POST, "/simulator/tasks",
            body: #"{"title":"A","priority":1,"assigned_to":"john.doe","fields":{"category":"network"}}"#)
        #expect(made.status == 201)
        let number = try #require(try made.json()["number"]?.asString)
        let changed = try await client.send(
            .PATCH, "/simulator/tasks/\(number)", body: #"{"set":{"priority":4},"assign":null,"by":"john.doe"}"#)
        #expect(try changed.json()["priority"] == "4")
        #expect(try changed.json()["assigned_to"] == "")
        #expect(try changed.json()["sys_updated_by"] == "john.doe")
        let note = try await client.send(.POST, "/simulator/tasks/\(number)/journal", body: #"{"text":"x","kind":"work_notes"}"#)
        #expect(note.status == 201)
        #expect(try await client.get("/simulator/tasks/\(number)/journal").json().asArray?.count == 1)
        #expect(try await client.send(.PATCH, "/simulator/tasks/\(number)", body: #"{"close":true}"#).json()["active"] == "false")
        #expect(try await client.send(.DELETE, "/simulator/tasks/\(number)").status == 204)
        #expect(try await client.get("/simulator/tasks/\(number)").status == 404)
        #expect(office.simulation.requests.total == 0)
    }

    @Test func `faults are set and removed over HTTP`() async throws {
        var client = try await office.open()
        let set = try await client.send(
            .POST, "/simulator/faults",
            body: #"[{"fault":"too_many_requests","retry_after":2},{"fault":"slow","milliseconds":1,"times":null}]"#)
        #expect(set.text == #"{"ids":[1,2]}"#)
        #expect(try await client.list().header("Retry-After") == "2")
        let rules = try await client.get("/simulator/faults").json()
        #expect(rules.asArray?.map { $0["struck"]?.asInt } == [1, 0])
        #expect(rules.asArray?.last?["times"] == .null)
        #expect(try await client.send(.DELETE, "/simulator/faults/2").status == 204)
        #expect(try await client.send(.DELETE, "/simulator/faults").status == 204)
        #expect(try await client.list().status == 200)
    }

    @Test func `every fault has a name and arguments in JSON`() throws {
        for name in Fault.names {
            let extra = #","milliseconds":5,"to":"/x","status":418,"body":"b","field":"priority","value":"2""#
            var needed = ["slow", "redirect", "status", "business_rule"].contains(name) ? extra : ""
            if name == "text_cut" { needed = #","characters":4000,"field":"comments""# }
            let value = try JSON.parse("{\"fault\":\"\(name)\"\(needed)}")
            var form = AdminForm(value)
            let fault = try Fault(&form)
            #expect(fault.name == name)
            var again = AdminForm(.object((["fault": .string(name)] as JSON.Object).adding(fault.arguments)))
            #expect(try Fault(&again) == fault)
            try again.end()
        }
    }

    @Test(arguments: [
        ("/simulator/faults", #"{"fault":"nosuch"}"#), ("/simulator/faults", #"{"fault":"slow"}"#),
        ("/simulator/faults", #"{"fault":"internal_error","tmes":1}"#), ("/simulator/faults", "{"),
        ("/simulator/tasks", #"{"title":1}"#), ("/simulator/tasks", #"{"assigned_to":"nobody"}"#),
        ("/simulator/tasks", #"{"table":"sys_user"}"#), ("/simulator/tasks", #"{"fields":{"nosuch":"1"}}"#),
        ("/simulator/users", #"{"user_name":"x"}"#), ("/simulator/faults", #"{"fault":"status","status":1000}"#),
        ("/simulator/mfp/adapters", #"{"name":"a","status":1000}"#),
    ])
    func `an invalid request is refused with a message`(_ path: String, _ body: String) async throws {
        let answer = try await office.open { try await $0.send(.POST, path, body: body) }
        #expect(answer.status == 400)
        #expect(try answer.json()["error"]?.asString?.isEmpty == false)
        #expect(office.instance.tasks.isEmpty && office.simulation.faults.rules.isEmpty)
    }

    @Test func `users, sessions, receivers and settings are changed over HTTP`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        client.authorization = nil
        #expect(try await client.send(.DELETE, "/simulator/sessions").status == 204)
        #expect(try await client.list().status == 401)
        let user = try await client.send(
            .PATCH, "/simulator/users/john.doe", body: #"{"password":"new","journal":"forbidden","hidden_fields":["number"]}"#
        )
        #expect(try user.json()["journal"] == "forbidden")
        #expect(!user.text.contains("new\""))
        #expect(try await client.send(.PUT, "/simulator/receivers/ops", body: #"{"status":500}"#).status == 204)
        #expect(try await client.send(.POST, "/hooks/ops", body: "{}").status == 500)
        #expect(try await client.get("/simulator/received?receiver=ops").json().asArray?.count == 1)
        #expect(try await client.send(.PATCH, "/simulator/settings", body: #"{"session_seconds":5}"#).status == 204)
        #expect(office.instance.settings.sessionSeconds == 5)
        #expect(try await client.get("/simulator").text.contains("too_many_requests"))
        #expect(try await client.get("/simulator/nosuch").status == 404)
        #expect(office.instance.user("john.doe")?.password == "new")
    }

    @Test func `the admin pages show no credentials`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        _ = try await client.list()
        let (state, requests) = (try await client.get("/simulator/state"), try await client.get("/simulator/requests"))
        #expect(try state.json()["counts"]?["logins"] == 1)
        for text in [state.text, requests.text] { #expect(!text.contains("secret") && !text.contains("Basic ")) }
        #expect(try requests.json().asArray?.count == 2)
    }

    @Test func `requests are shown without credentials, wherever these occur`() async throws {
        let (token, guid) = ("0a1b2c3d-0000-4000-8000-00c0ffee0001", "0a1b2c3d-0000-4000-8000-00c0ffee0002")
        var client = try await office.open()
        client.authorization = nil
        let fields = [
            "X-UserToken", "securityToken", "enterpriseGuid", "X-API-Key", "x-sn-apikey", "Private-Token", "Cookie",
            "Authorization", "X-Auth", "Proxy-Authorization",
        ]
        _ = try await client.get("/rest/v1/list", headers: fields.map { ($0, "canary") } + [("Idempotency-Key", "seen")])
        _ = try await client.send(
            .POST, "/API/Security.svc/SSOAuthenticate/", body: #"{"security": {"Email": "a@b", "Password": "canary"}}"#)
        _ = try await client.get("/API/Security.svc/SSOSiteLogin/7/\(guid)/\(token)/0")
        _ = try await client.send(.POST, "/mfp/api/az/v1/token", body: "grant_type=client_credentials&secret=canary")
        _ = try await client.get("/rest/v1/list?state=open&api_key=canary&access_token=canary")
        let shown = try await client.get("/simulator/requests").text
        #expect(!shown.contains("canary") && !shown.contains("c0ffee"))
        for word in ["seen", "SSOSiteLogin/7/", "state=open", "X-UserToken"] { #expect(shown.contains(word), "\(word)") }
    }
}
