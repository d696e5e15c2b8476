import BellhopCore
import BellhopTesting
import Crypto
import Simulator
import Testing

@testable import BellhopConnectors

/// Every way to log in beside a name and a password, over real HTTP.
@Suite struct LoginWaysTests {
    let practice = Practice()
    let keeper = MemoryKeeper()

    private func open<Value: Sendable>(
        _ auth: JSON.Object, _ body: (ServiceNowConnection) async throws -> Value
    ) async throws -> Value {
        try await practice.simulation.serve { address in
            let connection = try connection(address, auth)
            do {
                let value = try await body(connection)
                try await connection.shutdown()
                return value
            } catch {
                try await connection.shutdown()
                throw error
            }
        }
    }

    private func connection(_ address: String, _ auth: JSON.Object, username: String? = nil) throws -> ServiceNowConnection {
        try ServiceNowConnection(
            name: "snow", settings: Settings(["instance": .string(address), "auth": .object(auth)]), username: username,
            in: practice.environment(keeper))
    }

    private func list(_ connection: ServiceNowConnection) async throws { _ = try await connection.reading.send(.tasks) }

    private var bearers: Int {
        practice.simulation.requests.all.count { $0.header("Authorization")?.hasPrefix("Bearer ") == true }
    }

    private var asked: Int { practice.simulation.requests.count("POST", path: "/oauth_token.do") }

    private static let bearer = "canary-bearer-token"

    @Test(arguments: ["password", "client_credentials", "refresh_token"])
    func `a token goes first, then the session's cookies, and the instance says who we are`(_ grant: String) async throws {
        var settings = practice.oauth(grant)
        if grant == "refresh_token" {
            settings["refresh_token"] = .string(try #require(practice.instance.refreshToken(of: "john.doe", client: "bellhop")))
        }
        let user = try await open(["oauth": .object(settings)]) { connection in
            for _ in 1...3 { try await list(connection) }
            return await connection.reading.user
        }
        #expect(user?.username == "john.doe")
        #expect(user?.name == "John Doe")
        #expect(bearers == 1)
        #expect(asked == 1)
        #expect(practice.events.summary == ["login_event ok"])
        #expect(practice.events.events.first?.data["user"] == "john.doe")
    }

    @Test func `a token is replaced before it ends, its session with it, and nobody is told`() async throws {
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            for _ in 1...4 {
                try await list(connection)
                await practice.clock.advance(by: .seconds(1750))
            }
        }
        #expect(practice.instance.counts.loggedOut == 0)
        #expect(asked == 4)
        #expect(bearers == 4)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `a session that dies with its token is followed by one renewal and one replay`() async throws {
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            try await list(connection)
            practice.instance.revokeTokens()
            try await list(connection)
        }
        #expect(asked == 2)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 3)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test(arguments: [Fault.loginPage, .redirectToLogin, .redirect(to: "https://idp.example.com/sso"), .sessionLost])
    func `a login page in the middle is followed by another token and one replay`(_ fault: Fault) async throws {
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            try await list(connection)
            practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work")
            try await list(connection)
        }
        let tokens = Set(practice.simulation.requests.all.compactMap { $0.header("Authorization") })
        #expect(tokens.count == 2)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 3)
    }

    @Test(arguments: [Fault.loginPage, .redirectToLogin, .redirect(to: "https://idp.example.com/sso")])
    func `login pages without end are no loop, and are told as what they are`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work", times: nil)
        let failure = await failure {
            try await open(["oauth": .object(practice.oauth("password"))]) { try await list($0) }
        }
        #expect(failure?.reason == .sessionExpired || failure?.reason == .loginRequired)
        #expect(failure?.message.contains("not even a new one") == true)
        #expect(practice.simulation.requests.count("GET", path: "/api/x_snc_my_work") == 2)
        #expect(asked == 2)
    }

    @Test func `a token that the instance refuses is renewed once, and no more`() async throws {
        let settings = practice.oauth("password")
        practice.simulation.faults.add(.status(401, body: "{}"), "GET", path: "/api/now/v2/table/sys_user", times: nil)
        let failure = await failure { try await open(["oauth": .object(settings)]) { try await list($0) } }
        #expect(failure?.reason == .unauthenticated)
        #expect(asked == 2)
        #expect(bearers == 2)
        #expect(practice.events.summary == ["login_event failed"])
    }

    @Test func `the same refused token again is waited out`() async throws {
        let settings = practice.oauth("client_credentials")
        let met = try await practice.simulation.serve { address in
            let connection = try connection(address, ["oauth": .object(settings)])
            practice.simulation.faults.add(.status(401, body: "{}"), "GET", path: "/api/now/v2/table/sys_user", times: 2)
            let failure = await failure { try await list(connection) }
            await practice.clock.advance(by: .seconds(1800))
            try await list(connection)
            try await connection.shutdown()
            return failure
        }
        #expect(met?.remedy == .retry(after: .seconds(1800)))
        #expect(met?.message.contains("hands out the same one again") == true)
    }

    @Test func `both sessions of a connection share one renewal`() async throws {
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            for session in [connection.reading, connection.writing] { _ = try await session.send(.tasks) }
            practice.instance.revokeTokens()
            await withTaskGroup(of: Void.self) { group in
                for session in [connection.reading, connection.writing] {
                    group.addTask { _ = try? await session.send(.tasks) }
                }
            }
        }
        #expect(asked == 2)
    }

    @Test func `a refusal of the token endpoint is a failed login, told once`() async throws {
        let wrong = practice.oauth("password", ["password": "canary-wrong-password"])
        try await practice.simulation.serve { address in
            for _ in 1...2 {  // the second is after a restart
                let connection = try connection(address, ["oauth": .object(wrong)])
                for session in [connection.reading, connection.writing, connection.reading] {
                    let failure = await failure { _ = try await session.send(.tasks) }
                    #expect(failure?.reason == .unauthenticated)
                    #expect(failure?.message.contains("canary") == false)
                }
                try await connection.shutdown()
            }
        }
        #expect(practice.instance.counts.tokensRefused == 1)
        #expect(practice.events.summary == ["login_event failed"])
        #expect(!practice.notebook.all.values.contains { $0.text.contains("canary") })
    }

    @Test func `a write that wants the session's own token is told it and replayed`() async throws {
        practice.instance.settings.missingUserToken = .told
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            for number in 1...2 {
                var call = ServiceNowCall.table("incident/\(task.id)", [], expecting: .record)
                (call.method, call.body) = ("PATCH", ["short_description": .string("Printer \(number)")])
                _ = try await connection.writing.send(call)
            }
        }
        #expect(practice.instance.task(task.id)?["short_description"] == "Printer 2")
        #expect(practice.simulation.requests.count("PATCH") == 3)
    }

    @Test func `the page that intercepts forgeries is answered with the token`() async throws {
        practice.instance.settings.missingUserToken = .intercepted
        let task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe")
        try await open(["oauth": .object(practice.oauth("password"))]) { connection in
            var call = ServiceNowCall.table("incident/\(task.id)", [], expecting: .record)
            (call.method, call.body) = ("PATCH", ["short_description": "Toner"])
            _ = try await connection.writing.send(call)
        }
        #expect(practice.instance.task(task.id)?["short_description"] == "Toner")
    }

    @Test func `a bearer token logs in, and one that is refused is not tried again until it is another`() async throws {
        _ = practice.oauth("password")
        let good = try #require(practice.instance.accessToken(of: "john.doe", client: "bellhop"))
        try await practice.simulation.serve { address in
            for _ in 1...2 {
                let wrong = try connection(address, ["bearer": .string(Self.bearer)])
                let failure = await failure { try await list(wrong) }
                #expect(failure?.remedy == .pauseConnection)
                #expect(failure?.message.contains(Self.bearer) == false)
                try await wrong.shutdown()
            }
            #expect(practice.instance.counts.failedLogins == 1)
            let right = try connection(address, ["bearer": .string(good)])
            for _ in 1...3 { try await list(right) }
            try await right.shutdown()
        }
        #expect(bearers == 2)
        #expect(practice.events.summary == ["login_event failed", "login_event ok"])
        #expect(!practice.notebook.all.values.contains { $0.text.contains("canary") })
    }

    @Test func `an API key goes with every request, in one session`() async throws {
        practice.instance.addAPIKey("canary-key", of: "john.doe")
        try await open(["api_key": "canary-key"]) { connection in for _ in 1...3 { try await list(connection) } }
        #expect(
            practice.simulation.requests.all.allSatisfy {
                $0.header("x-sn-apikey") == "canary-key" && !$0.query.contains("canary")
            })
        #expect(practice.instance.counts.logins == 1)
        #expect(practice.events.events.first?.data["user"] == "john.doe")
    }

    @Test func `an API key outside its policy is told as that`() async throws {
        practice.instance.addAPIKey("canary-key", of: "john.doe", paths: ["/api/now/"])
        let failure = await failure { try await open(["api_key": "canary-key"]) { try await list($0) } }
        #expect(failure?.reason == .forbidden)
        #expect(failure?.message.contains("REST API Access Policy") == true)
    }

    @Test func `who a source's memory belongs to is the same over restarts and changed keys, and is nobody else's`() async throws
    {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        practice.instance.addAPIKey("key-2", of: "john.doe")
        practice.instance.addAPIKey("key-3", of: "abel.tuter")
        try await practice.simulation.serve { address in
            var scopes: Set<Scope.ID> = []
            for key in ["key-1", "key-2"] {
                let connection = try connection(address, ["api_key": .string(key)])
                try await list(connection)
                scopes.insert(try TrackerSource(name: "work", settings: Settings(), connection: connection).scope.id)
                try await connection.shutdown()
            }
            #expect(scopes.count == 1)
            let other = try connection(address, ["api_key": "key-3"])
            let failure = await failure { try await list(other) }
            #expect(failure?.reason == .unauthenticated)
            #expect(failure?.message.contains("for abel.tuter, and it was john.doe") == true)
            #expect(failure?.message.contains("`username: abel.tuter`") == true)
            try await other.shutdown()
            let named = try connection(address, ["api_key": "key-3", "username": "abel.tuter"])
            try await list(named)
            scopes.insert(try TrackerSource(name: "work", settings: Settings(), connection: named).scope.id)
            #expect(scopes.count == 2)
            try await named.shutdown()
        }
    }

    @Test func `a login of another user than bellhop.yaml says is refused`() async throws {
        practice.instance.addAPIKey("key-3", of: "abel.tuter")
        let failure = await failure {
            try await open(["api_key": "key-3", "username": "john.doe"]) { try await list($0) }
        }
        #expect(failure?.message.contains("for abel.tuter, and it was john.doe") == true)
    }

    @Test func `whoever may not read their own record has logged in all the same, as somebody`() async throws {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        practice.instance.changeUser("john.doe") { $0.users = .forbidden }
        let user = try await open(["api_key": "key-1"]) { try await $0.verifyUser() }
        #expect(user == ServiceNowUser(username: "(api key of snow)"))
    }

    @Test func `a certificate is shown to who asks for one`() async throws {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        let files: JSON = ["cert": .string(ca), "key": .string(try folder.write("key.pem", TLSServer.key))]
        try await TLSServer.serve(wantsCertificate: true) { server in
            let settings: JSON.Object = ["instance": .string("https://localhost:\(server.port)"), "ca": .string(ca)]
            var with = settings
            with["auth"] = ["certificate": files]
            let connection = try ServiceNowConnection(name: "snow", settings: Settings(with), in: practice.environment())
            let user = try await connection.verifyUser()
            #expect(user.username == "john.doe")
            try await connection.shutdown()
            var without = settings
            without["auth"] = ["bearer": "x"]
            let other = try ServiceNowConnection(name: "snow", settings: Settings(without), in: practice.environment())
            #expect(await failure { _ = try await other.verifyUser() } != nil)
            try await other.shutdown()
        }
    }

    @Test(
        arguments: [
            (["cert": "/nowhere.pem", "key": "/nowhere.pem"], "https://acme.example.com", "auth.certificate.cert"),
            (["cert": "/nowhere.pem", "key": "/nowhere.pem"], "http://127.0.0.1:9", "auth.certificate"),
        ] as [(JSON, String, String)])
    func `a certificate that cannot be used is told of when it is made`(_ files: JSON, _ instance: String, _ setting: String) {
        let error = #expect(throws: ConnectorError.self) {
            try ServiceNowConnection(
                name: "snow", settings: Settings(["instance": .string(instance), "auth": ["certificate": files]]),
                in: practice.environment())
        }
        #expect(error?.setting == setting)
    }

    @Test(
        arguments: [
            (["basic": ["username": "a", "password": "b"], "bearer": "t"], "auth", "Choose one of basic and bearer."),
            ([:], "auth", "Say how to log in: auth: {basic: {username: …, password: …}} or auth: {keychain: true}."),
            (["keychain": true, "username": "a"], "auth.username", "`keychain` says the user name itself."),
            (["bearer": "a\nb"], "auth.bearer", "This is nothing that a request can carry."),
            (
                [
                    "oauth": [
                        "grant": "client_credentials", "client_id": "a", "client_secret": "b",
                        "token_url": "http://idp.example.com/t",
                    ]
                ],
                "auth.oauth.token_url",
                "Plain http:// to idp.example.com:80 would be readable on the way: use https://, or set plain_http: true."
            ),
        ] as [(JSON.Object, String, String)])
    func `ways that do not go together are refused`(_ auth: JSON.Object, _ setting: String, _ message: String) {
        let error = #expect(throws: ConnectorError.self) { try connection("https://acme.example.com", auth) }
        #expect(error == ConnectorError(connection: "snow", setting: setting, message))
    }

    @Test func `what is for the instance alone is not shown to a token endpoint elsewhere`() async throws {
        let elsewhere = Practice()
        let settings = elsewhere.oauth("client_credentials")
        let user = try await elsewhere.simulation.serve { tokens in
            try await practice.simulation.serve { address in
                var oauth = settings
                oauth["token_url"] = .string(tokens + "/oauth_token.do")
                let connection = try ServiceNowConnection(
                    name: "snow",
                    settings: Settings([
                        "instance": .string(address), "auth": ["oauth": .object(oauth)], "headers": ["X-Gate": "canary-gate"],
                    ]), in: practice.environment())
                let failure = await failure { _ = try await connection.verifyUser() }
                try await connection.shutdown()
                return failure
            }
        }
        #expect(user?.reason == .unauthenticated)
        #expect(elsewhere.simulation.requests.total > 0)
        #expect(elsewhere.simulation.requests.all.allSatisfy { $0.header("X-Gate") == nil })
        #expect(practice.simulation.requests.all.allSatisfy { $0.header("X-Gate") == "canary-gate" })
    }
}
