import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct ChallengeTests {
    let practice = MobileFoundationPractice()
    private let orders: JSON.Object = ["adapter": "orders", "path": "list", "method": "GET"]

    private var requestCount: Int { practice.simulation.requests.count(path: "/mfp/api/adapters") }

    @Test func `a resource that requires a token receives one, and the next request sends it at once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        for _ in 1...3 { _ = try await practice.call(connection, orders) }
        #expect(requestCount == 4)
        #expect(practice.runtime.counts.tokens == 1)
        #expect(practice.events.summary == ["login_event ok"])
        let token = try #require(practice.simulation.requests.matching("POST", path: "/mfp/api/az/v1/token").first)
        #expect(token.text == "grant_type=client_credentials&scope=RegisteredClient")
    }

    @Test func `missing scopes are read from the challenge and requested`() async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders", "write"]) { _ in .init(body: "[]") })
        practice.runtime.addAdapter("other", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        for _ in 1...2 { _ = try await practice.call(connection, orders) }
        _ = try await practice.call(connection, ["adapter": "other", "method": "GET"])
        #expect(
            practice.simulation.requests.matching(path: "/mfp/api/az").map(\.text) == [
                "grant_type=client_credentials&scope=RegisteredClient",
                "grant_type=client_credentials&scope=RegisteredClient%20orders%20write",
            ])
        #expect(practice.runtime.counts.calls == 3)
    }

    @Test func `scopes in the settings are requested from the start`() async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
        var arguments = orders
        arguments["scope"] = "orders"
        _ = try await practice.call(practice.open(), arguments)
        #expect(requestCount == 1)
    }

    @Test func `a token that is no longer valid is replaced, and the request replayed once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        _ = try await practice.call(connection, orders)
        practice.runtime.revokeTokens()
        _ = try await practice.call(connection, orders)
        #expect(requestCount == 4)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test func `tokens that are never valid cause no endless loop`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        practice.runtime.setLifetime(0)
        let failure = await failure { _ = try await practice.call(practice.open(), orders) }
        #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
        #expect(requestCount == 3)
    }

    @Test func `a token is replaced before it expires`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        _ = try await practice.call(connection, orders)
        await practice.clock.advance(by: .seconds(3539))
        _ = try await practice.call(connection, orders)
        #expect(practice.runtime.counts.tokens == 1)
        await practice.clock.advance(by: .seconds(1))
        _ = try await practice.call(connection, orders)
        #expect(practice.runtime.counts.tokens == 2)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `a refusal without a challenge is final, and so is a scope that the client may not have`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(403, body: "{}") })
        practice.runtime.addAdapter("secret", .init(scopes: ["admin"]) { _ in .init(body: "[]") })
        let connection = try await practice.open()
        let refusal = await failure { _ = try await practice.call(connection, orders) }
        #expect(refusal?.reason == .forbidden)
        #expect(refusal?.remedy == .giveUp)
        let scope = await failure { _ = try await practice.call(connection, ["adapter": "secret", "method": "GET"]) }
        #expect(scope?.reason == .forbidden)
        #expect(scope?.message.contains("RegisteredClient admin") == true)
    }

    @Test func `a secret revoked before its token expires is reported as refused, and tried once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        _ = try await practice.call(connection, orders)
        practice.runtime.addClient("bellhop", secret: "another")
        practice.runtime.revokeTokens()
        await practice.clock.advance(by: .days(1))
        for _ in 1...3 {
            let found = await failure { _ = try await practice.call(connection, orders) }
            #expect(found?.reason == .unauthenticated && found?.remedy == .pauseConnection)
        }
        #expect(practice.runtime.counts.refusedClients == 1)
        #expect(practice.events.summary.last == "login_event failed")
    }

    @Test func `a wrong secret is tried once, across a restart too`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let address = try await practice.simulation.serve()
        for _ in 1...2 {
            let connection = try await practice.open(at: address, secret: "wrong")
            for _ in 1...2 {
                let found = await failure { _ = try await practice.call(connection, orders) }
                #expect(found?.reason == .unauthenticated)
                #expect(found?.remedy == .pauseConnection)
            }
        }
        #expect(practice.runtime.counts.refusedClients == 1)
        #expect(practice.events.summary == ["login_event failed"])
        let name = try await practice.open(at: address).verifyLogin(ConnectionNeeds()).user
        #expect(name == "bellhop")
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a wrong secret is tried once, also for requests that need different scopes at the same time`() async throws {
        let scopes = ["orders", "write"]
        for scope in scopes { practice.runtime.addAdapter(scope, .init(scopes: [scope]) { _ in .init(body: "[]") }) }
        let connection = try await practice.open(secret: "wrong")
        await withTaskGroup(of: Failure?.self) { group in
            for scope in scopes {
                let call: JSON.Object = ["adapter": .string(scope), "method": "GET", "scope": .string(scope)]
                group.addTask { await failure { _ = try await practice.call(connection, call) } }
            }
            for await found in group { #expect(found?.reason == .unauthenticated) }
        }
        #expect(practice.runtime.counts.refusedClients == 1)
    }

    @Test(arguments: [
        (400, #"{"errorCode": "invalid_client"}"#, Failure.Reason.unauthenticated), (401, "", .unauthenticated),
        (400, #"{"error": "invalid_scope"}"#, .forbidden), (403, "{}", .forbidden), (500, "{}", .serverError),
        (502, "<html>bad gateway</html>", .gateway), (200, "<html>login</html>", .unexpectedPage), (200, "{}", .badAnswer),
    ])
    func `errors of the token endpoint are reported, and only a refused client is remembered`(
        _ status: Int, _ body: String, _ reason: Failure.Reason
    ) async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
        practice.simulation.faults.add(.status(status, body: body), path: "/mfp/api/az/v1/token", times: nil)
        let connection = try await practice.open()
        for _ in 1...2 { #expect(await failure { _ = try await practice.call(connection, orders) }?.reason == reason) }
        #expect(practice.simulation.requests.count(path: "/mfp/api/az") == (reason == .unauthenticated ? 1 : 2))
        #expect(practice.notebook.all.isEmpty == (reason != .unauthenticated))
    }

    @Test func `each simulated fault is handled by the server's answer`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        func call() async -> Failure? { await failure { _ = try await practice.call(connection, orders) } }
        practice.simulation.faults.add(.otherSystem(.mfpNoToken), path: "/mfp/api/adapters")
        #expect(await call() == nil)
        practice.simulation.faults.add(.otherSystem(.mfpInvalidToken), path: "/mfp/api/adapters")
        #expect(await call() == nil)
        practice.simulation.faults.add(.otherSystem(.mfpInsufficientScope), path: "/mfp/api/adapters")
        let scopes = await call()
        #expect(scopes?.reason == .forbidden)
        #expect(scopes?.message.contains("RegisteredClient scopeA scopeB") == true)
        practice.simulation.faults.add(.otherSystem(.mfpUnsuccessful), path: "/mfp/api/adapters")
        #expect(await call()?.message.contains("Runtime: HTTP request failed") == true)
    }

    @Test func `concurrent requests for the same token ask for it once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        let connection = try await practice.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...8 { group.addTask { _ = try await practice.call(connection, orders) } }
            try await group.waitForAll()
        }
        #expect(practice.runtime.counts.tokens == 1)
    }

    @Test(arguments: [true, false])
    func `an external resource receives a token only if it asks for one`(_ challenges: Bool) async throws {
        practice.runtime.setExternal("[]", challenges: challenges)
        let address = try await practice.simulation.serve()
        let connection = try await practice.open(at: address)
        _ = try await practice.call(
            connection, ["address": .string(address + "/external/x?y=1"), "method": "GET", "query": ["z": 2]])
        let requests = practice.simulation.requests.matching(path: "/external")
        #expect(requests.map { $0.header("Authorization") != nil } == (challenges ? [false, true] : [false]))
        #expect(requests.first?.query == "y=1&z=2")
    }

    @Test func `what an external server answers says nothing about the runtime, also if it fails`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        practice.runtime.setExternal("{}", challenges: false)
        let address = try await practice.simulation.serve()
        let other = "http://localhost:\(address.split(separator: ":").last ?? "")"
        let connection = try await practice.open(at: address, ["external": [.string(other)]])
        var step: JSON.Object = ["address": .string(other + "/external/x"), "method": "GET"]
        let (own, external) = (try await practice.call(connection, orders), try await practice.call(connection, step))
        #expect(own.concernsReceiver && !external.concernsReceiver)
        func failed(_ arguments: JSON.Object) async -> Failure? {
            await failure { _ = try await practice.call(connection, arguments) }
        }
        for status in [429, 500] {
            practice.simulation.faults.add(.status(status, body: "{}"), path: "/external")
            let outside = await failed(step)
            #expect(outside?.concernsReceiver == false && outside?.requestedRest == nil)
            practice.simulation.faults.add(.status(status, body: "{}"), path: "/mfp/api/adapters")
            #expect(await failed(orders)?.concernsReceiver == true)
        }
        step["check"] = ["ok": true]
        let refused = await failed(step)
        #expect(refused?.reason == .refused && refused?.concernsReceiver == false)
    }

    @Test func `an external server that the connection does not list gets no request`() async throws {
        let connection = try await practice.open()
        let failure = await failure {
            _ = try await practice.call(connection, ["address": "https://elsewhere.example.com/x", "method": "GET"])
        }
        #expect(failure?.reason == .badArguments)
        #expect(practice.simulation.requests.count() == 0)
    }

    @Test(
        arguments: [
            (401, "Bearer", BearerChallenge.token), (401, "bearer realm=\"x\"", .token),
            (401, "Bearer error=\"invalid_token\"", .invalidToken),
            (401, "Basic realm=\"a, Bearer b\", Bearer error=invalid_token", .invalidToken),
            (
                403, "Bearer error=\"insufficient_scope\", scope=\"RegisteredClient scopeA\"",
                .scopes(["RegisteredClient", "scopeA"])
            ),
            (403, "Bearer scope=\"a\\\"b\" , error=\"insufficient_scope\"", .scopes(["a\"b"])),
            (403, "Bearer error=\"insufficient_scope\"", nil),
            (403, "Bearer", nil), (401, "Basic realm=\"x\"", nil), (401, "Bearerish", nil), (200, "Bearer", nil),
        ] as [(Int, String, BearerChallenge?)])
    func `a challenge is parsed from its header field`(_ status: Int, _ field: String, _ expected: BearerChallenge?) {
        #expect(BearerChallenge(HTTPResponse(status: status, headers: ["WWW-Authenticate": field])) == expected)
    }

    @Test func `no failure, event or note contains a secret, whatever the server answers`() async throws {
        let paths = ["/mfp/api/az", "/mfp/api/adapters"]
        for path in paths {
            for status in [200, 400, 401, 403, 500] {
                let practice = MobileFoundationPractice()
                practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
                let connection = try await practice.open()
                _ = try await practice.call(connection, orders)
                let basic = String(Base64.basic(username: "bellhop", password: MobileFoundationPractice.secret).dropFirst(6))
                let secrets = practice.runtime.tokens + [MobileFoundationPractice.secret, basic]
                let body = #"{"isSuccessful": false, "errors": ["\#(secrets.joined(separator: "\", \""))"]}"#
                practice.simulation.faults.add(.status(status, body: body), path: path, times: nil)
                if path == paths[0] { await practice.clock.advance(by: .seconds(4000)) }
                let failure = await failure { _ = try await practice.call(connection, orders) }
                #expect(failure != nil)
                let source = try AdapterSource(
                    name: "s", settings: Settings(["adapter": "orders", "path": "list", "id": "id"]), connection: connection)
                let items = secrets.map { #"{"id": "\#($0)"}, {"id": "\#($0)"}"# }.joined(separator: ", ")
                practice.simulation.faults.removeAll()
                practice.simulation.faults.add(.status(200, body: "[\(items)]"), path: paths[1], times: nil)
                let listed = await BellhopConnectorsTests.failure { _ = try await source.list(from: LastPoll()) }
                // A refused secret is not shown either.
                #expect(listed?.reason == (path == paths[0] && status == 401 ? .unauthenticated : .badAnswer))
                for text in [
                    "\(listed, default: "")", "\(failure, default: "")", "\(practice.events.events)",
                    "\(practice.notebook.all)", "\(connection)",
                ] {
                    for secret in practice.runtime.tokens + secrets { #expect(!text.contains(secret), "\(path) \(status)") }
                }
            }
        }
    }
}
