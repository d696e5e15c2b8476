import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct ETOSessionTests {
    let practice = ETOPractice()

    private func list(_ connection: ETOConnection, subject: Int64 = 501) async throws {
        _ = try await connection.session.send(.responses(of: 14, subject: subject))
    }

    @Test func `the chain of logins runs once, and its tokens are sent with every later request`() async throws {
        let connection = try await practice.open()
        for _ in 1...3 { try await list(connection) }
        #expect(practice.requestNames == ETOPractice.chain + Array(repeating: "ListTouchPointResponses", count: 3))
        let last = try #require(practice.simulation.requests.all.last)
        #expect(last.header("enterpriseGuid") == ETOPractice.enterprise)
        #expect(last.header("securityToken")?.isEmpty == false)
        #expect(last.query == "SubjectID=501&TouchPointID=14")
        let site = try #require(practice.simulation.requests.matching(path: "/API/Security.svc/SSOSiteLogin").first)
        #expect(site.path.hasSuffix("/0"))
        #expect(practice.events.summary == ["login_event ok"])
        #expect(practice.events.events.first?.data["user"] == "ada@example.com")
    }

    @Test(
        arguments: [
            (["enterprise": .string(ETOPractice.enterprise.uppercased())], "North"), (["site": "north"], "North"),
            (["site": "South", "time_zone_offset": -300], "South"), (["enterprise": "Other House", "site": .null], "Only"),
        ] as [(JSON.Object, String)])
    func `enterprise and site are chosen by key, by name, or because there is only one`(
        _ more: JSON.Object, _ site: String
    ) async throws {
        let name = try #require(try await practice.open(more).verifyLogin(ConnectionNeeds()).user)
        #expect(name.hasPrefix("ada@example.com, "))
        #expect(name.hasSuffix(", \(site)"))
        if let offset = more["time_zone_offset"]?.asInt {
            #expect(practice.simulation.requests.all.last?.path.hasSuffix("/\(offset)") == true)
        }
    }

    @Test(
        arguments: [
            (["enterprise": "Nowhere"], "Shelter Network, Other House"), (["enterprise": .null], "`enterprise`"),
            (["site": .null], "North, South"),
            (["site": "99"], "North, South"),
        ] as [(JSON.Object, String)])
    func `an unknown or ambiguous enterprise or site is reported with the choices, and pauses the connection`(
        _ more: JSON.Object, _ words: String
    ) async throws {
        let failure = await failure { try await list(practice.open(more)) }
        #expect(failure?.remedy == .pauseConnection)
        #expect(failure?.message.contains(words) == true)
        #expect(practice.events.summary == ["login_event failed"])
    }

    @Test func `a wrong password, answered 200 with a token of zeros, is tried once, also after a restart`() async throws {
        let address = try await practice.simulation.serve()
        for _ in 1...2 {
            let connection = try await practice.open(at: address, password: "wrong")
            for _ in 1...2 {
                let failure = await failure { try await list(connection) }
                #expect(failure?.reason == .unauthenticated)
                #expect(failure?.remedy == .pauseConnection)
                #expect(failure?.message.contains("bellhop login eto") == true)
            }
        }
        #expect(practice.eto.counts.failedLogins == 1)
        #expect(practice.events.summary == ["login_event failed"])
        try await list(practice.open(at: address))
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a nonzero token is not a login if the status is an error`() async throws {
        practice.simulation.faults.add(
            .status(
                200,
                body: #"{"SSOAuthenticateResult": {"AuthStatusCode": 3, "SSOAuthToken": "11111111-1111-1111-1111-111111111111"}}"#
            ),
            "POST", path: "/API/Security.svc/SSOAuthenticate")
        let failure = await failure { try await list(practice.open()) }
        #expect(failure?.reason == .unauthenticated)
        #expect(practice.simulation.requests.count() == 1)
    }

    @Test(arguments: [500, 401, 400, 200])
    func `a login to the web pages ends the session, and the chain of logins is repeated once`(_ status: Int) async throws {
        practice.eto.behavior.deadSession = status
        let connection = try await practice.open()
        try await list(connection)
        practice.eto.logInToWebPages("ada@example.com")
        try await list(connection)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
        #expect(practice.requestNames.suffix(6) == ["ListTouchPointResponses"] + ETOPractice.chain + ["ListTouchPointResponses"])
    }

    @Test func `a call that fails again after a new login waits longer each time, without delaying other calls`() async throws {
        practice.simulation.faults.add(
            .status(500, body: "{}"), "GET", path: "/API/TouchPoint.svc/GetTouchPointResponse", times: nil)
        let connection = try await practice.open()
        func fail() async -> Failure? {
            await failure { _ = try await connection.session.send(.response("7", of: 14)) }
        }
        try await list(connection)
        #expect(await fail()?.remedy == .retry(after: .seconds(5)))
        let asked = practice.simulation.requests.count()
        #expect(await fail()?.remedy == .retry(after: .seconds(5)))
        #expect(practice.simulation.requests.count() == asked)
        try await list(connection)
        await practice.clock.advance(by: .seconds(5))
        #expect(await fail()?.remedy == .retry(after: .seconds(10)))
        await practice.clock.advance(by: .seconds(10))
        #expect(await fail()?.remedy == .retry(after: .seconds(20)))
    }

    @Test func `a pause ends if the clock was set back by more than the longest one`() throws {
        var pauses = ETOPauses()
        _ = pauses.begin(after: .badAnswer("cut"), of: "list", at: SampleDelivery.now)
        let failure = #expect(throws: Failure.self) { try pauses.check("list", at: SampleDelivery.now + .seconds(1)) }
        #expect(failure?.remedy == .retry(after: .seconds(4)))
        try pauses.check("list", at: SampleDelivery.now - .days(1))
    }

    @Test(arguments: [400, 401, 500, 502])
    func `a login that fails with an error status is retried after longer waits, and is not a refused password`(_ status: Int)
        async throws
    {
        practice.simulation.faults.add(
            .status(status, body: #"{"Detail": "oops"}"#), path: "/API/Security.svc/GetSSOSites", times: nil)
        let connection = try await practice.open()
        for pause in [5, 10, 20] {
            let failure = await failure { try await list(connection) }
            #expect(failure?.remedy == .retry(after: .seconds(pause)))
            await practice.clock.advance(by: .seconds(pause))
        }
        #expect(practice.eto.counts.logins == 3)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a closed site is reported as closed, and does not count as a refused password`() async throws {
        practice.simulation.faults.add(
            .status(200, body: "\"00000000-0000-0000-0000-000000000000\""), path: "/API/Security.svc/SSOSiteLogin", times: nil)
        let found = await failure { try await list(practice.open()) }
        #expect(found?.reason == .forbidden)
        #expect(found?.message.contains("does not let this account into the site North (77)") == true)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a token that is not a JSON string is refused`() async throws {
        for body in [#"{"Token": "x"}"#, "plain", "\"\"", "\"a\\nb\""] {
            let practice = ETOPractice()
            practice.simulation.faults.add(.status(200, body: body), path: "/API/Security.svc/SSOSiteLogin", times: nil)
            #expect(await failure { try await list(practice.open()) }?.reason == .badAnswer, "\(body)")
        }
    }

    @Test func `an answer is read up to 50 MB, or to the connection's limit`() async throws {
        #expect(ETOConnection.manifest.settings.first { $0.name == "max_body" }?.fallback == "50MB")
        let found = await failure {
            for _ in 1...40 { practice.eto.addResponse(touchPoint: 14, subject: 501, elements: []) }
            try await list(practice.open(["max_body": 1000]))
        }
        #expect(found?.reason == .tooLarge)
    }

    @Test func `redirects are not followed`() async throws {
        practice.simulation.faults.add(.redirect(to: "https://evil.example.com/x"), path: "/API/Security.svc/GetSSOEnterprises")
        let failure = await failure { try await list(practice.open()) }
        #expect(failure?.reason == .refused)
        #expect(failure?.message.contains("evil.example.com") == true)
        #expect(practice.simulation.requests.count() == 2)
    }

    @Test func `the program is set before requests that need it, and again after another program or a new login`() async throws {
        let connection = try await practice.open(["program": "housing"])
        try await list(connection)
        try await list(connection)
        var intake = ETOCall.responses(of: 14, subject: 501)
        intake.program = .id(1)
        _ = try await connection.session.send(intake)
        practice.eto.logInToWebPages("ada@example.com")
        try await list(connection)
        let programs = practice.simulation.requests.matching("POST", path: "/API/Security.svc/UpdateCurrentProgram").map(\.text)
        let (first, other) = (#"{"ProgramID":"2"}"#, #"{"ProgramID":"1"}"#)
        // The third request of housing met the ended session.
        #expect(programs == [first, other, first, first])
        #expect(practice.requestNames.count { $0 == "Forms" } == 2)
    }

    @Test func `an inactive program cannot be chosen`() async throws {
        let failure = await failure { try await list(practice.open(["program": "Old"])) }
        #expect(failure?.message.contains("Intake, Housing") == true)
    }

    @Test func `concurrent requests run one at a time after one login`() async throws {
        let connection = try await practice.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for subject in 1...8 { group.addTask { try await list(connection, subject: Int64(subject)) } }
            try await group.waitForAll()
        }
        #expect(practice.eto.counts.logins == 1)
        #expect(practice.simulation.requests.count() == 4 + 8)
    }

    @Test func `enterprises and sites are listed to choose from`() async throws {
        let connection = try await practice.open(["enterprise": .null, "site": .null])
        let enterprise = try await connection.question(after: [:])
        let chosen = ["enterprise": try #require(enterprise?.choices.first?.key)]
        let site = try await connection.question(after: chosen)
        let end = try await connection.question(after: chosen.merging(["site": "77"]) { old, _ in old })
        #expect(enterprise?.setting == "enterprise")
        #expect(enterprise?.choices.map(\.name) == ["Shelter Network", "Other House"])
        #expect(
            site
                == LoginQuestion(
                    "site", [.init(key: "77", name: "North", showsKey: true), .init(key: "78", name: "South", showsKey: true)]))
        #expect(end == nil)
        #expect(practice.eto.counts.logins == 1)
    }

    @Test func `a password refused while a person chooses an enterprise is remembered and not tried again`() async throws {
        let connection = try await practice.open(password: "wrong")
        let found = await failure { _ = try await connection.question(after: [:]) }
        _ = await failure { try await list(connection) }
        #expect(found?.reason == .unauthenticated)
        #expect(practice.eto.counts.failedLogins == 1)
    }

    @Test func `no failure, event or note contains a secret, whatever the services answer`() async throws {
        var texts: [String] = []
        for path in [
            "Security.svc/SSOAuthenticate", "Security.svc/GetSSOEnterprises", "Security.svc/GetSSOSites",
            "Security.svc/SSOSiteLogin", "TouchPoint.svc",
        ] {
            for fault in [
                Fault.status(500, body: #"{"Detail": "SECRETS"}"#), .status(200, body: #"{"Detail": "SECRETS"}"#),
                .status(403, body: "SECRETS"), .status(200, body: "SECRETS"), .resetAfter, .redirect(to: "/API/SECRETS"),
            ] {
                let practice = ETOPractice()
                var secrets = practice.eto.secrets + [ETOPractice.password]
                let connection = try await practice.open(["enterprise": .string(ETOPractice.enterprise)])
                // One successful login, so that there are tokens; then the fault.
                try await list(connection)
                secrets = practice.eto.secrets + [ETOPractice.password]
                let all = secrets.joined(separator: " and ")
                let spoken: Fault =
                    switch fault {
                    case .status(let status, let body): .status(status, body: body.replacing("SECRETS", with: all))
                    case .redirect(let place): .redirect(to: place.replacing("SECRETS", with: secrets[0]))
                    default: fault
                    }
                practice.eto.logInToWebPages("ada@example.com")
                practice.simulation.faults.add(spoken, path: "/API/" + path, times: nil)
                let failure = await failure { try await list(connection) }
                let source = try practice.source(connection)
                texts += [
                    failure.map { "\($0)" } ?? "", "\(practice.events.events)", "\(practice.notebook.all)", "\(connection)",
                    "\(source.scope)", connection.instance,
                ].map { text in
                    for secret in practice.eto.secrets + secrets { #expect(!text.contains(secret), "\(path) \(fault)") }
                    return text
                }
            }
        }
        #expect(texts.contains { $0.contains(Redaction.mark) })
    }
}
