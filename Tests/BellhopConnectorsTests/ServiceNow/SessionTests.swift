import BellhopCore
import BellhopTesting
import Simulator
import Synchronization
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct SessionTests {
    let practice = Practice()

    func list(_ connection: ServiceNowConnection) async throws { _ = try await connection.reading.send(.tasks) }

    @Test func `the first request logs in, and later ones send the session's cookies, rotated ones too`() async throws {
        let connection = try await practice.open()
        for _ in 1...4 { try await list(connection) }
        #expect(practice.instance.counts.logins == 1)
        #expect(practice.instance.counts.loggedOut == 0)
        #expect(practice.events.summary == ["login_event ok"])
        #expect(practice.simulation.requests.all.count { $0.header("Authorization") != nil } == 1)
        let login = try #require(practice.simulation.requests.all.first)
        #expect(login.path == "/api/now/v2/table/sys_user")
        #expect(login.parameter("sysparm_query") == "user_name=john.doe")
    }

    @Test func `a login returns the user`() async throws {
        let user = try await practice.open().verifyUser()
        #expect(user.name == "John Doe")
        let event = try #require(practice.events.events.first)
        #expect(event.source == "snow")
        #expect(event.data == ["connection": "snow", "user": "john.doe", "ok": true, "reason": "", "code": ""])
    }

    @Test func `a user name in another case than on the instance finds the same user`() async throws {
        let login: JSON = ["basic": ["username": "John.Doe", "password": "correct horse"]]
        let user = try await practice.open(settings: ["auth": login]).verifyUser()
        #expect(user.sysID == practice.instance.user("john.doe")?.id)
        #expect(user.name == "John Doe")
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `a user without access to its own record is still logged in`(_ reading: SimulatedUser.Reading) async throws {
        practice.instance.changeUser("john.doe") { $0.users = reading }
        let user = try await practice.open().verifyUser()
        #expect(user == ServiceNowUser(username: "john.doe"))
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test(arguments: [Fault.sessionLost, .loginPage, .redirectToLogin, .redirect(to: "https://idp.example.com/sso")])
    func `a session that ends in the middle is renewed once and the request replayed`(_ fault: Fault) async throws {
        let connection = try await practice.open()
        try await list(connection)
        practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work")
        try await list(connection)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 3)
        #expect(Set(practice.events.events.map(\.id)).count == 3)
        #expect(practice.events.events[1].data["code"] == .string(Self.code(of: fault)))
    }

    private static func code(of fault: Fault) -> String {
        switch fault {
        case .sessionLost: "unauthenticated"
        case .redirect: "login_required"
        default: "session_expired"
        }
    }

    @Test func `a failed login has one code if it was refused and another if no answer came`() async throws {
        _ = await failure { try await list(practice.open(password: "wrong")) }
        let away = try practice.connection("http://127.0.0.1:1")
        _ = await failure { try await list(away) }
        practice.simulation.faults.add(.hibernating, "GET", path: "/api/now", times: nil)
        _ = await failure { try await list(practice.open()) }
        #expect(practice.events.events.map { $0.data["ok"] } == [false, false, false])
        #expect(practice.events.events.map { $0.data["code"] } == ["unauthenticated", "unreachable", "hibernating"])
    }

    @Test func `a session that ends again at once causes no loop`() async throws {
        practice.simulation.faults.add(.loginPage, "GET", path: "/api/x_snc_my_work", times: nil)
        let failure = await failure { try await list(practice.open()) }
        #expect(failure?.reason == .sessionExpired)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 2)
    }

    @Test func `a session that expired while unused is renewed`() async throws {
        let connection = try await practice.open()
        try await list(connection)
        await practice.clock.advance(by: .seconds(1801))
        try await list(connection)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test func `a changed password is used at the next login`() async throws {
        let address = try await practice.simulation.serve()
        let stored = SharedText("correct horse")
        let connection = try ServiceNowConnection(
            name: "snow", settings: Settings(["instance": .string(address), "auth": ["keychain": true]]),
            username: "john.doe",
            credentials: { Credentials(username: "john.doe", password: stored.text) }, in: practice.environment())
        try await list(connection)
        practice.instance.setPassword(of: "john.doe", to: "battery staple")
        practice.instance.expireSessions()
        #expect(await failure { try await list(connection) }?.reason == .unauthenticated)
        stored.text = "battery staple"
        try await list(connection)
        try await connection.shutdown()
        #expect(
            practice.events.summary == ["ks_login_event ok", "session_expired", "ks_login_event failed", "ks_login_event ok"])
    }

    @Test func `each session sends one request at a time, and sessions do not wait for each other`() async throws {
        let connection = try await practice.open()
        practice.simulation.faults.add(.slow(milliseconds: 20), path: "/api/x_snc_my_work", times: nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                let session = number % 2 == 0 ? connection.reading : connection.writers.all[0]
                group.addTask { _ = try await session.send(.tasks) }
            }
            try await group.waitForAll()
        }
        #expect(practice.instance.counts.queued == 0)
        #expect(practice.instance.counts.dropped == 0)
        #expect(practice.instance.counts.logins == 2)
    }

    @Test func `a request cancelled while waiting leaves the queue to the others`() async throws {
        let gate = FIFOGate()
        try await gate.enter()
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gate.enter() }
            for _ in 0..<50 { await Task.yield() }
            group.cancelAll()
            await #expect(throws: CancellationError.self) { try await group.next() }
        }
        gate.leave()
        try await gate.enter()
    }

    // MARK: Answers that the simulator does not give

    private func scripted(_ answers: [HTTPResponse]) throws -> (ServiceNowSession, ScriptedExchange) {
        let exchange = ScriptedExchange(answers)
        return (try practice.session(over: exchange), exchange)
    }

    private let welcome = HTTPResponse.json(200, ["Set-Cookie": "JSESSIONID=1; Path=/; Secure"], #"{"result":[]}"#)
    private let good = HTTPResponse.json(200, [:], #"{"result":{}}"#)

    @Test func `a write that requires the session's token is replayed with it once`() async throws {
        let want = HTTPResponse.json(401, ["X-Is-Logged-In": "true", "X-UserToken-Response": "t0k"], "{}")
        let (session, exchange) = try scripted([welcome, want, good])
        let call = ServiceNowCall(method: "PATCH", target: "/api/now/v2/table/task/x", body: [:], expecting: .record)
        _ = try await session.send(call)
        #expect(exchange.requests.map { $0.headers["X-UserToken"] } == [nil, nil, "t0k"])
        let (again, asked) = try scripted([welcome, want])
        #expect(await failure { _ = try await again.send(call) }?.reason == .csrf)
        #expect(asked.requests.count == 3)
    }

    @Test func `the CSRF page without a token is answered with the credentials`() async throws {
        let page = HTTPResponse(status: 302, headers: ["Location": "/security_interceptor.do"])
        let (session, exchange) = try scripted([welcome, page, good])
        _ = try await session.send(ServiceNowCall(method: "PATCH", target: "/x", body: [:], expecting: .record))
        #expect(exchange.requests.map { $0.headers["Authorization"] != nil } == [true, false, true])
    }

    @Test func `a server without cookies gets the credentials each time`() async throws {
        let (session, exchange) = try scripted([.json(200, [:], #"{"result":[]}"#), good])
        for _ in 1...2 { _ = try await session.send(ServiceNowCall(target: "/x", expecting: .record)) }
        #expect(exchange.requests.allSatisfy { $0.headers["Authorization"] != nil })
    }

    @Test func `credentials are never sent to the target of a redirect`() async throws {
        let away = HTTPResponse(status: 302, headers: ["Location": "https://evil.example/"])
        let (session, exchange) = try scripted([away])
        #expect(await failure { _ = try await session.send(.tasks) }?.reason == .loginRequired)
        #expect(Set(exchange.requests.map(\.address.host)) == ["acme.service-now.com"])
    }

    @Test func `a required second factor is reported and not retried`() async throws {
        let (session, exchange) = try scripted([.json(401, ["X-MFA_TOKEN": "invalid"], "{}")])
        for _ in 1...2 { #expect(await failure { _ = try await session.send(.tasks) }?.remedy == .pauseConnection) }
        #expect(exchange.requests.count == 1)
    }

    @Test func `a request refused right after a login does not count as a refused login`() async throws {
        let no = HTTPResponse.json(401, ["X-Is-Logged-In": "false"], "{}")
        let (session, _) = try scripted([welcome, no, welcome, no])
        let failure = await failure { _ = try await session.send(.tasks) }
        #expect(failure?.reason == .forbidden)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a user name is encoded so that it cannot change the query`() async throws {
        let exchange = ScriptedExchange([welcome])
        let session = try practice.session(over: exchange, username: "a^b&c+d")
        _ = try await session.verify(force: true)
        #expect(exchange.requests.first?.address.target.contains("sysparm_query=user_name%3Da%5E%5Eb%26c%2Bd&") == true)
    }
}

/// A text that a test changes while other tasks read it.
final class SharedText: Sendable {
    private let stored: Mutex<String>
    init(_ text: String) { stored = Mutex(text) }
    var text: String {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
