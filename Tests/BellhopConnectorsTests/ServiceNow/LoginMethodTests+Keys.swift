import BellhopCore
import BellhopTesting
import Crypto
import Simulator
import Testing

@testable import BellhopConnectors

/// Bearer tokens, API keys and certificates, and combinations that do not work.
extension LoginMethodTests {
    @Test func `a bearer token logs in, and a refused one is not tried again until it is changed`() async throws {
        _ = practice.oauth("password")
        let good = try #require(practice.instance.accessToken(of: "john.doe", client: "bellhop"))
        let address = try await practice.simulation.serve()
        for _ in 1...2 {
            let wrong = try connection(address, ["bearer": .string(Self.bearer)])
            let failure = await failure { try await list(wrong) }
            #expect(failure?.remedy == .pauseConnection)
            #expect(failure?.message.contains(Self.bearer) == false)
        }
        #expect(practice.instance.counts.failedLogins == 1)
        let right = try connection(address, ["bearer": .string(good)])
        for _ in 1...3 { try await list(right) }
        #expect(bearers == 2)
        #expect(practice.events.summary == ["login_event failed", "login_event ok"])
        #expect(!practice.notebook.all.values.contains { $0.text.contains("canary") })
    }

    @Test func `an API key is sent with every request, in one session`() async throws {
        practice.instance.addAPIKey("canary-key", of: "john.doe")
        let connection = try await open(["api_key": "canary-key"])
        for _ in 1...3 { try await list(connection) }
        #expect(
            practice.simulation.requests.all.allSatisfy {
                $0.header("x-sn-apikey") == "canary-key" && !$0.query.contains("canary")
            })
        #expect(practice.instance.counts.logins == 1)
        #expect(practice.events.events.first?.data["user"] == "john.doe")
    }

    @Test func `a refusal by an API key's policy is reported as such`() async throws {
        practice.instance.addAPIKey("canary-key", of: "john.doe", paths: ["/api/now/"])
        let failure = await failure { try await list(open(["api_key": "canary-key"])) }
        #expect(failure?.reason == .forbidden)
        #expect(failure?.message.contains("REST API Access Policy") == true)
    }

    @Test func `a source's memory keeps its user across restarts and changed keys, and each user has its own`() async throws {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        practice.instance.addAPIKey("key-2", of: "john.doe")
        practice.instance.addAPIKey("key-3", of: "abel.tuter")
        let address = try await practice.simulation.serve()
        var scopes: Set<Scope.ID> = []
        for key in ["key-1", "key-2"] {
            let connection = try connection(address, ["api_key": .string(key)])
            try await list(connection)
            scopes.insert(try TrackerSource(name: "work", settings: Settings(), connection: connection).scope.id)
        }
        #expect(scopes.count == 1)
        let other = try connection(address, ["api_key": "key-3"])
        let failure = await failure { try await list(other) }
        #expect(failure?.reason == .unauthenticated)
        #expect(failure?.message.contains("as abel.tuter, but it was john.doe") == true)
        #expect(failure?.message.contains("`username: abel.tuter`") == true)
        let named = try connection(address, ["api_key": "key-3", "username": "abel.tuter"])
        try await list(named)
        scopes.insert(try TrackerSource(name: "work", settings: Settings(), connection: named).scope.id)
        #expect(scopes.count == 2)
    }

    @Test func `a login as another user than in bellhop.yaml is refused`() async throws {
        practice.instance.addAPIKey("key-3", of: "abel.tuter")
        let failure = await failure { try await list(open(["api_key": "key-3", "username": "john.doe"])) }
        #expect(failure?.message.contains("as abel.tuter, but it was john.doe") == true)
    }

    @Test func `a user without access to its own record is logged in, without a name`() async throws {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        practice.instance.changeUser("john.doe") { $0.users = .forbidden }
        let user = try await open(["api_key": "key-1"]).verifyUser()
        #expect(user == ServiceNowUser(username: "(api key of snow)"))
    }

    @Test func `a source whose user cannot be read logs in once, and its user stays unknown`() async throws {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        practice.instance.changeUser("john.doe") { $0.users = .forbidden }
        let connection = try await open(["api_key": "key-1"])
        let source = try TrackerSource(name: "work", settings: Settings(), connection: connection)
        for _ in 1...2 { await source.prepare(offline: false) }
        #expect(source.user == nil)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `a source learns the user of an API key before its first poll, keeps its scope, and knows the user offline later`()
        async throws
    {
        practice.instance.addAPIKey("key-1", of: "john.doe")
        func user(_ address: String, offline: Bool) async throws -> String? {
            let connection = try connection(address, ["api_key": "key-1"])
            let source = try TrackerSource(name: "work", settings: Settings(), connection: connection)
            await source.prepare(offline: offline)
            #expect(source.scope.user == "(api key of snow)")
            return source.user
        }
        let address = try await practice.simulation.serve()
        #expect(try await user(address, offline: true) == nil)
        #expect(try await user(address, offline: false) == "john.doe")
        #expect(try await user(address, offline: true) == "john.doe")
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test(arguments: [("", "john.doe"), ("john.doe", "john.doe"), ("John Doe", "John Doe (john.doe)")])
    func `a user whose name is the user name is shown once`(_ name: String, _ shown: String) {
        #expect(ServiceNowUser(username: "john.doe", name: name).shown == shown)
    }

    @Test func `a certificate is sent to a server that requests one`() async throws {
        let folder = try TemporaryFolder()
        let ca = try folder.write("ca.pem", TLSServer.certificate)
        let files: JSON = ["cert": .string(ca), "key": .string(try folder.write("key.pem", TLSServer.key))]
        let server = try await TLSServer.serve(wantsCertificate: true)
        let settings: JSON.Object = ["instance": .string("https://localhost:\(server.port)"), "ca": .string(ca)]
        var with = settings
        with["auth"] = ["certificate": files]
        let connection = try ServiceNowConnection(name: "snow", settings: Settings(with), in: practice.environment())
            .untilTestEnds()
        let user = try await connection.verifyUser()
        #expect(user.username == "john.doe")
        var without = settings
        without["auth"] = ["bearer": "x"]
        let other = try ServiceNowConnection(name: "snow", settings: Settings(without), in: practice.environment())
            .untilTestEnds()
        #expect(await failure { _ = try await other.verifyUser() } != nil)
    }

    @Test(
        arguments: [
            (["cert": "/nowhere.pem", "key": "/nowhere.pem"], "https://acme.example.com", "auth.certificate.cert"),
            (["cert": "/nowhere.pem", "key": "/nowhere.pem"], "http://127.0.0.1:9", "auth.certificate"),
        ] as [(JSON, String, String)])
    func `an unusable certificate is reported when it is loaded`(_ files: JSON, _ instance: String, _ setting: String) {
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
            (["keychain": true, "username": "a"], "auth.username", "`keychain` already contains the user name."),
            (["bearer": "a\nb"], "auth.bearer", "This is empty, or has characters that a header cannot have."),
            (
                [
                    "oauth": [
                        "grant": "client_credentials", "client_id": "a", "client_secret": "b",
                        "token_url": "http://idp.example.com/t",
                    ]
                ],
                "auth.oauth.token_url",
                "Plain http:// to idp.example.com:80 could be read by others: use https://, or set plain_http: true."
            ),
        ] as [(JSON.Object, String, String)])
    func `combinations of logins that do not work are refused`(_ auth: JSON.Object, _ setting: String, _ message: String) {
        let error = #expect(throws: ConnectorError.self) { try connection("https://acme.example.com", auth) }
        #expect(error == ConnectorError(connection: "snow", setting: setting, message))
    }

    @Test func `a token endpoint on another host receives nothing meant for the instance`() async throws {
        let elsewhere = Practice()
        let settings = elsewhere.oauth("client_credentials")
        let tokens = try await elsewhere.simulation.serve()
        let address = try await practice.simulation.serve()
        var oauth = settings
        oauth["token_url"] = .string(tokens + "/oauth_token.do")
        let connection = try ServiceNowConnection(
            name: "snow",
            settings: Settings([
                "instance": .string(address), "auth": ["oauth": .object(oauth)], "headers": ["X-Gate": "canary-gate"],
            ]), in: practice.environment()
        ).untilTestEnds()
        let user = await failure { _ = try await connection.verifyUser() }
        #expect(user?.reason == .unauthenticated)
        #expect(elsewhere.simulation.requests.total > 0)
        #expect(elsewhere.simulation.requests.all.allSatisfy { $0.header("X-Gate") == nil })
        #expect(practice.simulation.requests.all.allSatisfy { $0.header("X-Gate") == "canary-gate" })
    }
}
