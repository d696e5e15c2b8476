import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct OAuthClientTests {
    let practice = Practice()
    let storage = MemoryTokenStorage()

    private func tokenRequests(_ grant: String? = nil) -> Int {
        practice.simulation.requests.matching("POST", path: "/oauth_token.do").count { request in
            grant == nil || request.form.contains { $0.name == "grant_type" && $0.value == grant }
        }
    }

    /// Settings with a first refresh token, which each use replaces.
    private func rotating() throws -> JSON.Object {
        _ = practice.oauth("refresh_token") { $0.next = .other }
        let first = try #require(practice.instance.refreshToken(of: "john.doe", client: "bellhop"))
        return practice.oauth("refresh_token", ["refresh_token": .string(first)]) { $0.next = .other }
    }

    private func client(_ settings: JSON.Object, storage: any TokenStorage = NoTokenStorage()) async throws -> OAuthClient {
        try practice.client(await practice.simulation.serve(), settings, storage: storage)
    }

    @Test func `concurrent requests fetch one token, with all credentials in the body`() async throws {
        let client = try await client(practice.oauth("password"))
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...20 { group.addTask { try await client.authorization().text } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(tokenRequests() == 1)
        let request = try #require(practice.simulation.requests.all.first)
        #expect(request.query.isEmpty)
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(Set(request.form.map(\.name)) == ["grant_type", "client_id", "client_secret", "username", "password"])
    }

    @Test func `a wait that a token endpoint asks for is respected, even across a restart, unless a person asks`() async throws {
        let settings = practice.oauth("client_credentials")
        let address = try await practice.simulation.serve()
        practice.simulation.faults.add(.tooManyRequests(.seconds(120)))
        let first = try practice.client(address, settings)
        #expect(await failure { _ = try await first.authorization() }?.remedy == .retry(after: .seconds(120)))
        await practice.clock.advance(by: .seconds(20))
        let second = try practice.client(address, settings)
        for client in [first, second] {
            let failure = await failure { _ = try await client.authorization() }
            #expect(failure?.reason == .throttled && failure?.remedy == .rest(.seconds(100)))
        }
        #expect(tokenRequests() == 1)
        _ = try await second.authorization(force: true)
        #expect(tokenRequests() == 2)
        await practice.clock.advance(by: .seconds(101))
        _ = try await first.authorization()
    }

    @Test func `a token is renewed a margin before it expires, with the refresh token`() async throws {
        let client = try await client(practice.oauth("password"))
        let first = try await client.authorization()
        await practice.clock.advance(by: .seconds(1738))
        #expect(try await client.authorization() == first)
        await practice.clock.advance(by: .seconds(2))
        #expect(try await client.authorization().text != first.text)
        #expect(tokenRequests("password") == 1)
        #expect(tokenRequests("refresh_token") == 1)
    }

    @Test func `a token that the endpoint returns again is used until it expires, without a request each time`() async throws {
        let settings = practice.oauth("client_credentials")
        let address = try await practice.simulation.serve()
        // Another user of this client requested it long ago: three seconds are left.
        let old = try #require(practice.instance.accessToken(of: "john.doe", client: "bellhop"))
        await practice.clock.advance(by: .milliseconds(1_796_500))
        let client = try practice.client(address, settings)
        for _ in 1...10 { #expect(try await client.authorization().text == old) }
        #expect(tokenRequests() == 1)
        await practice.clock.advance(by: .seconds(2))
        for _ in 1...10 { #expect(try await client.authorization().text == old) }
        #expect(tokenRequests() == 2)
        await practice.clock.advance(by: .seconds(2))
        #expect(try await client.authorization().text != old)
        #expect(tokenRequests() == 3)
    }

    @Test func `a refused token is renewed once for all requests that were refused`() async throws {
        let client = try await client(practice.oauth("password"))
        let old = try await client.authorization()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...20 { group.addTask { try await client.authorization(renewing: old).text } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1 && !tokens.contains(old.text))
        #expect(try await client.authorization(renewing: old).text == tokens.first)
        #expect(tokenRequests() == 2)
    }

    @Test func `an answer without a refresh token leaves the old one valid`() async throws {
        let settings = practice.oauth("password") { $0.next = .none }
        practice.instance.changeClient("bellhop") { $0.next = .same }
        let client = try await client(settings)
        _ = try await client.authorization()
        practice.instance.changeClient("bellhop") { $0.next = .none }
        for _ in 1...3 {
            await practice.clock.advance(by: .seconds(1750))
            _ = try await client.authorization()
        }
        #expect(tokenRequests("password") == 1)
        #expect(tokenRequests("refresh_token") == 3)
    }

    @Test func `an expired refresh token is replaced by repeating the grant`() async throws {
        let settings = practice.oauth("password") { $0.refreshSeconds = 3600 }
        let client = try await client(settings)
        _ = try await client.authorization()
        await practice.clock.advance(by: .seconds(7200))
        _ = try await client.authorization()
        #expect(tokenRequests("password") == 2)
        #expect(tokenRequests("refresh_token") == 1)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `an expired refresh token is no refused login while the grant can be repeated`() async throws {
        let settings = practice.oauth("password") { $0.refreshSeconds = 1000 }
        let client = try await client(settings)
        let first = try await client.authorization()
        practice.simulation.faults.add(.badGateway, path: "/oauth_token.do", skip: 1)
        await practice.clock.advance(by: .seconds(1750))
        #expect(try await client.authorization().text == first.text)
        #expect(await client.takeRefusal() == nil)
        #expect(tokenRequests("refresh_token") == 1)
        #expect(tokenRequests("password") == 2)
    }

    @Test func `a token is used until it expires if this machine has no room for the connection that renews it`() async throws {
        let (sent, base) = (Recording<HTTPRequest>(), InProcessExchange(practice.simulation))
        let exchange = GivenExchange { request async throws(TransportError) in
            guard sent.add(request) == 1 else { throw TransportError(.exhausted, mayHaveArrived: false, "too many open files") }
            return try await base.send(request)
        }
        let client = try practice.client("http://127.0.0.1:9", practice.oauth("password"), over: exchange)
        let first = try await client.authorization()
        await practice.clock.advance(by: .seconds(1750))
        #expect(try await client.authorization().text == first.text)
        await practice.clock.advance(by: .seconds(60))
        #expect(await failure { _ = try await client.authorization() }?.reason == .fileSystem)
    }

    @Test func `a new refresh token is stored before the new access token is used, also after a restart`() async throws {
        let settings = try rotating()
        let address = try await practice.simulation.serve()
        for restart in 1...3 {
            let client = try practice.client(address, settings, storage: storage)
            let before = storage.all["snow"]?.refresh
            let token = try await client.authorization()
            #expect(storage.all["snow"]?.refresh != before)
            #expect(storage.all["snow"]?.access == token.text)
            await practice.clock.advance(by: .seconds(3600 * restart))
        }
        #expect(practice.instance.counts.tokensRefused == 0)
        #expect(tokenRequests() == 3)
    }

    @Test func `a refresh token that cannot be stored is reported, kept, and stored later`() async throws {
        let client = try await client(rotating(), storage: storage)
        storage.refuseWriting()
        for _ in 1...2 {
            let failure = await failure { _ = try await client.authorization() }
            #expect(failure?.reason == .fileSystem)
            #expect(failure?.remedy == .retry(after: nil))
        }
        storage.refuseWriting(false)
        _ = try await client.authorization()
        #expect(tokenRequests() == 1)
        #expect(storage.all["snow"]?.refresh != nil)
    }

    @Test func `a token that another program has renewed is taken from the keychain`() async throws {
        let settings = try rotating()
        let address = try await practice.simulation.serve()
        let (one, other) = (
            try practice.client(address, settings, storage: storage), try practice.client(address, settings, storage: storage)
        )
        _ = try await one.authorization()
        await practice.clock.advance(by: .seconds(1750))
        _ = try await other.authorization()
        _ = try await one.authorization()
        #expect(tokenRequests() == 2)
        #expect(practice.instance.counts.tokensRefused == 0)
    }

    /// Without `expires_in`, only a refusal shows that a token has ended.
    @Test(arguments: [nil, Duration.seconds(86_400)])
    func `a token in the keychain is not taken again after others have replaced it`(_ left: Duration?) async throws {
        for text in ["second", "third"] {
            practice.simulation.faults.add(.status(200, body: #"{"access_token": "\#(text)"}"#), path: "/oauth_token.do")
        }
        let client = try await client(practice.oauth("authorization_code"), storage: storage)
        let stored = StoredTokens(
            access: "first", expires: left.map { practice.clock.now + $0 }, refresh: "canary", origin: client.settings.origin)
        try await storage.keep(stored, of: "snow")
        var token = try await client.authorization()
        #expect(token.text == "first")
        for text in ["second", "third"] {
            token = try await client.authorization(renewing: token)
            #expect(token.text == text)
        }
        #expect(storage.all["snow"]?.access == "first")
    }

    @Test func `tokens of another client or of another first refresh token are not used`() async throws {
        _ = practice.oauth("refresh_token")
        let first = try #require(practice.instance.refreshToken(of: "john.doe", client: "bellhop"))
        try await storage.keep(StoredTokens(refresh: "of-another", origin: "another"), of: "snow")
        let settings = practice.oauth("refresh_token", ["refresh_token": .string(first)])
        let address = try await practice.simulation.serve()
        _ = try await practice.client(address, settings, storage: storage).authorization()
        #expect(practice.instance.counts.tokensRefused == 0)
    }

    @Test func `tokens renewed after a logout or the login of another client have the mark of their own login`() async throws {
        let settings = try rotating()
        let address = try await practice.simulation.serve()
        let client = try practice.client(address, settings, storage: storage)
        _ = try await client.authorization()
        var kept = try #require(storage.all["snow"])
        kept.mark = "7f"
        try await storage.keep(kept, of: "snow")
        await practice.clock.advance(by: .seconds(1750))
        _ = try await client.authorization()
        try await storage.keep(StoredTokens(refresh: "of-another", origin: "another", mark: "80"), of: "snow")
        await practice.clock.advance(by: .seconds(1750))
        _ = try await client.authorization()
        // The keychain does not store them in place of those with the mark 80.
        #expect(storage.all["snow"]?.mark == "7f")
        #expect(tokenRequests() == 3)
    }

    @Test func `a refusal is final for all waiting requests and across a restart, until the credentials change`() async throws {
        let wrong = practice.oauth("client_credentials", ["client_secret": "canary-wrong-secret"])
        let address = try await practice.simulation.serve()
        for _ in 1...2 {
            let client = try practice.client(address, wrong)
            await withTaskGroup(of: Failure?.self) { group in
                for _ in 1...5 { group.addTask { await failure { _ = try await client.authorization() } } }
                for await failure in group {
                    #expect(failure?.reason == .unauthenticated)
                    #expect(failure?.remedy == .pauseConnection)
                    #expect(failure?.message.contains("401, server_error: access_denied") == true)
                    #expect(failure?.message.contains("canary") == false)
                }
            }
        }
        #expect(practice.instance.counts.tokensRefused == 1)
        #expect(!practice.notebook.all.values.contains { $0.text.contains("canary") })
        let right = practice.oauth("client_credentials")
        _ = try await practice.client(address, right).authorization()
        #expect(practice.instance.counts.tokensRefused == 1)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `a person's request tries again in spite of a refusal`() async throws {
        let settings = practice.oauth("client_credentials") { $0.grants = [] }
        let client = try await client(settings)
        #expect(await failure { _ = try await client.authorization() }?.reason == .unauthenticated)
        _ = practice.oauth("client_credentials")
        #expect(await failure { _ = try await client.authorization() }?.reason == .unauthenticated)
        _ = try await client.authorization(force: true)
        #expect(practice.notebook.all.isEmpty)
    }

    @Test(arguments: [
        Fault.badGateway, .internalError, .hibernating, .loginPage, .resetBefore, .tooManyRequests(.seconds(7)), .redirectToLogin,
        .status(400, body: #"{"error": "temporarily_unavailable"}"#),
        .status(200, body: #"{"ok": false, "error": "internal_error"}"#),
        .status(403, body: #"{"error": "access_denied", "error_description": "Rate limit exceeded"}"#),
    ])
    func `an outage of the token endpoint is not a refusal, and a valid token stays in use`(_ fault: Fault) async throws {
        let client = try await client(practice.oauth("password"))
        let first = try await client.authorization()
        practice.simulation.faults.add(fault, path: "/oauth_token.do", times: 2)
        await practice.clock.advance(by: .seconds(1750))
        for _ in 1...5 { #expect(try await client.authorization().text == first.text) }
        #expect(practice.simulation.faults.struck == 1)
        await practice.clock.advance(by: .seconds(60))
        let failure = await failure { _ = try await client.authorization() }
        #expect(failure?.reason != .unauthenticated)
        if case .tooManyRequests = fault {
            #expect(failure?.remedy == .retry(after: .seconds(7)))
            await practice.clock.advance(by: .seconds(8))
        }
        _ = try await client.authorization()
        #expect(practice.notebook.all.keys.allSatisfy { $0.hasSuffix("/pause") })
    }

    @Test func `an error with status 200 is a refusal, which is not retried`() async throws {
        let client = try await client(practice.oauth("client_credentials"))
        let body = #"{"error": "incorrect_client_credentials", "error_description": "Wrong id or secret"}"#
        practice.simulation.faults.add(.status(200, body: body), path: "/oauth_token.do")
        for _ in 1...2 {
            let failure = await failure { _ = try await client.authorization() }
            #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
            #expect(failure?.message.contains("(200, incorrect_client_credentials: Wrong id or secret)") == true)
        }
        #expect(practice.simulation.requests.count("POST", path: "/oauth_token.do") == 1)
    }

    @Test func `a request cancelled while its token is fetched does not lose the token`() async throws {
        let settings = try rotating()
        practice.simulation.faults.add(.slow(milliseconds: 200), path: "/oauth_token.do")
        let client = try await client(settings, storage: storage)
        let task = Task { try? await client.authorization() }
        while practice.simulation.requests.total == 0 { await Task.yield() }
        task.cancel()
        _ = await task.value
        #expect(storage.all["snow"]?.refresh != nil)
    }

    @Test func `a client can send its secret in the header`() async throws {
        _ = try await client(practice.oauth("client_credentials", ["client_auth": "header"])).authorization()
        let request = try #require(practice.simulation.requests.all.first)
        #expect(request.form.map(\.name) == ["grant_type"])
        #expect(request.header("Authorization")?.hasPrefix("Basic ") == true)
    }

    @Test func `neither a token nor its settings print their secrets`() async throws {
        let client = try await client(practice.oauth("password"))
        let token = try await client.authorization()
        var text = "\(token) \(client.settings) \(String(reflecting: client.settings)) \(String(reflecting: token))"
        dump(token, to: &text)
        dump(client.settings, to: &text)
        for secret in [token.text, "correct horse", Practice.clientSecret] { #expect(!text.contains(secret)) }
    }
}
