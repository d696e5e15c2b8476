import BellhopCore
import BellhopTesting
import Crypto
import Simulator
import Testing

@testable import BellhopConnectors

/// All ways to log in other than by name and password, over HTTP.
@Suite(.closing) struct LoginMethodTests {
    let practice = Practice()
    let storage = MemoryTokenStorage()

    func open(_ auth: JSON.Object) async throws -> ServiceNowConnection {
        try connection(await practice.simulation.serve(), auth)
    }

    func connection(_ address: String, _ auth: JSON.Object, username: String? = nil) throws -> ServiceNowConnection {
        try ServiceNowConnection(
            name: "snow", settings: Settings(["instance": .string(address), "auth": .object(auth)]), username: username,
            in: practice.environment(storage)
        ).untilTestEnds()
    }

    func list(_ connection: ServiceNowConnection) async throws { _ = try await connection.reading.send(.tasks) }

    var bearers: Int {
        practice.simulation.requests.all.count { $0.header("Authorization")?.hasPrefix("Bearer ") == true }
    }

    var tokenRequests: Int { practice.simulation.requests.count("POST", path: "/oauth_token.do") }

    static let bearer = "canary-bearer-token"

    @Test(arguments: ["password", "client_credentials", "refresh_token"])
    func `the token is sent first, then the session's cookies, and the instance names the user`(_ grant: String) async throws {
        var settings = practice.oauth(grant)
        if grant == "refresh_token" {
            settings["refresh_token"] = .string(try #require(practice.instance.refreshToken(of: "john.doe", client: "bellhop")))
        }
        let connection = try await open(["oauth": .object(settings)])
        for _ in 1...3 { try await list(connection) }
        let user = await connection.reading.user
        #expect(user?.username == "john.doe")
        #expect(user?.name == "John Doe")
        #expect(bearers == 1)
        #expect(tokenRequests == 1)
        #expect(practice.events.summary == ["login_event ok"])
        #expect(practice.events.events.first?.data["user"] == "john.doe")
    }

    @Test func `a token and its session are replaced before the token expires, without a login event`() async throws {
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        for _ in 1...4 {
            try await list(connection)
            await practice.clock.advance(by: .seconds(1750))
        }
        #expect(practice.instance.counts.loggedOut == 0)
        #expect(tokenRequests == 4)
        #expect(bearers == 4)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `after a session ends with its token, one renewal and one replay follow`() async throws {
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        try await list(connection)
        practice.instance.revokeTokens()
        try await list(connection)
        #expect(tokenRequests == 2)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 3)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test(arguments: [Fault.loginPage, .redirectToLogin, .redirect(to: "https://idp.example.com/sso"), .sessionLost])
    func `a login page during a session is followed by a new token and one replay`(_ fault: Fault) async throws {
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        try await list(connection)
        practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work")
        try await list(connection)
        let tokens = Set(practice.simulation.requests.all.compactMap { $0.header("Authorization") })
        #expect(tokens.count == 2)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 3)
    }

    @Test(arguments: [Fault.loginPage, .redirectToLogin, .redirect(to: "https://idp.example.com/sso")])
    func `repeated login pages cause no loop, and are reported as login pages`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work", times: nil)
        let failure = await failure { try await list(open(["oauth": .object(practice.oauth("password"))])) }
        #expect(failure?.reason == .sessionExpired || failure?.reason == .loginRequired)
        #expect(failure?.message.contains("not even a new one") == true)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 2)
        #expect(tokenRequests == 2)
    }

    @Test func `a token refused by the instance is renewed once only`() async throws {
        let settings = practice.oauth("password")
        practice.simulation.faults.add(.status(401, body: "{}"), "GET", path: "/api/now/v2/table/sys_user", times: nil)
        let failure = await failure { try await list(open(["oauth": .object(settings)])) }
        #expect(failure?.reason == .unauthenticated)
        #expect(tokenRequests == 2)
        #expect(bearers == 2)
        #expect(practice.events.summary == ["login_event failed"])
    }

    @Test func `a refused token that the endpoint returns again is not used until a wait is over`() async throws {
        let settings = practice.oauth("client_credentials")
        let connection = try await open(["oauth": .object(settings)])
        practice.simulation.faults.add(.status(401, body: "{}"), "GET", path: "/api/now/v2/table/sys_user", times: 2)
        let found = await failure { try await list(connection) }
        await practice.clock.advance(by: .seconds(1800))
        try await list(connection)
        #expect(found?.remedy == .retry(after: .seconds(1800)))
        #expect(found?.message.contains("returns the same one again") == true)
    }

    @Test func `both sessions of a connection share one renewal`() async throws {
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        for session in [connection.reading, connection.writers.all[0]] { _ = try await session.send(.tasks) }
        practice.instance.revokeTokens()
        await withTaskGroup(of: Void.self) { group in
            for session in [connection.reading, connection.writers.all[0]] {
                group.addTask { _ = try? await session.send(.tasks) }
            }
        }
        #expect(tokenRequests == 2)
    }

    @Test func `a refusal of the token endpoint is a failed login, reported once`() async throws {
        let wrong = practice.oauth("password", ["password": "canary-wrong-password"])
        let address = try await practice.simulation.serve()
        for _ in 1...2 {  // the second after a restart
            let connection = try connection(address, ["oauth": .object(wrong)])
            for session in [connection.reading, connection.writers.all[0], connection.reading] {
                let failure = await failure { _ = try await session.send(.tasks) }
                #expect(failure?.reason == .unauthenticated)
                #expect(failure?.message.contains("canary") == false)
            }
        }
        #expect(practice.instance.counts.tokensRefused == 1)
        #expect(practice.events.summary == ["login_event failed"])
        #expect(!practice.notebook.all.values.contains { $0.text.contains("canary") })
    }

    @Test func `a refusal at the renewal of a token is a failed login, reported once, and is not tried again`() async throws {
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        let sessions = [connection.reading, connection.writers.all[0]]
        for session in sessions { _ = try await session.send(.tasks) }
        practice.instance.changeClient("bellhop") { $0.secret = "another secret" }
        // The token is due for its renewal, and still valid.
        await practice.clock.advance(by: .seconds(1750))
        for session in sessions + sessions { _ = try await session.send(.tasks) }
        #expect(practice.events.summary == ["login_event ok", "login_event ok", "login_event failed"])
        // The refresh token, and the grant itself.
        #expect(practice.instance.counts.tokensRefused == 2)
        await practice.clock.advance(by: .seconds(100))
        for session in sessions + sessions {
            let failure = await failure { _ = try await session.send(.tasks) }
            #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
        }
        #expect(practice.instance.counts.tokensRefused == 2)
        #expect(practice.events.summary.filter { $0 == "login_event failed" }.count == 1)
    }

    @Test func `a write that requires the session's own token is replayed with it`() async throws {
        practice.instance.settings.missingUserToken = .told
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        for number in 1...2 {
            var call = ServiceNowCall.table("incident/\(task.id)", [], expecting: .record)
            (call.method, call.body) = ("PATCH", ["short_description": .string("Printer \(number)")])
            _ = try await connection.writers.all[0].send(call)
        }
        #expect(practice.instance.task(task.id)?["short_description"] == "Printer 2")
        #expect(practice.simulation.requests.count("PATCH") == 3)
    }

    @Test func `a page that protects against forged requests is answered with the token`() async throws {
        practice.instance.settings.missingUserToken = .intercepted
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        let connection = try await open(["oauth": .object(practice.oauth("password"))])
        var call = ServiceNowCall.table("incident/\(task.id)", [], expecting: .record)
        (call.method, call.body) = ("PATCH", ["short_description": "Toner"])
        _ = try await connection.writers.all[0].send(call)
        #expect(practice.instance.task(task.id)?["short_description"] == "Toner")
    }

}
