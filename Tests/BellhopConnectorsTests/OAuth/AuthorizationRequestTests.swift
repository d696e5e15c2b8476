import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct AuthorizationRequestTests {
    let practice = Practice()
    let storage = MemoryTokenStorage()

    /// A browser whose user is logged in. Returns the address to which the page redirects.
    private func agree(_ page: String) async throws -> String {
        let http = try HTTPConnection(.init(name: "browser"), clock: practice.clock)
        let login = Base64.basic(username: "john.doe", password: "correct horse")
        let answer = try await http.send(HTTPRequest(HTTPAddress(page), headers: ["Authorization": login]))
        try await http.shutdown()
        return answer.headers["Location"] ?? ""
    }

    @Test(arguments: [Practice.clientSecret, nil])
    func `an authorization returns tokens for the client that requested it`(_ secret: String?) async throws {
        var settings = practice.oauth("authorization_code") { $0.secret = secret }
        settings["client_secret"] = secret.map(JSON.string)
        let address = try await practice.simulation.serve()
        let client = try practice.client(address, settings, storage: storage)
        let before = await failure { _ = try await client.authorization() }
        #expect(before?.message == "No tokens are stored for connection snow: run `bellhop login snow`.")
        let request = try #require(await client.authorizationRequest())
        #expect(request.page.contains("code_challenge_method=S256"))
        let back = try await agree(request.page)
        #expect(back.hasPrefix(OAuthSettings.defaultRedirect + "?code="))
        try await client.redeem(try request.code(in: back), of: request)
        let token = try await client.authorization()
        // After a restart the stored token is used, and renewed in time.
        let later = try practice.client(address, settings, storage: storage)
        #expect(try await later.authorization().text == token.text)
        await practice.clock.advance(by: .seconds(1750))
        #expect(try await later.authorization().text != token.text)
        #expect(practice.instance.counts.tokenRequests == 2)
        #expect(practice.instance.counts.tokensRefused == 0)
    }

    /// Servers compare it with the registered one as text.
    @Test func `the redirect address is sent as it is written, without a slash that it lacks`() async throws {
        let registered = "http://localhost:8912"
        let settings = practice.oauth("authorization_code", ["redirect_url": .string(registered)]) { $0.redirects = [registered] }
        let address = try await practice.simulation.serve()
        let client = try practice.client(address, settings, storage: storage)
        let request = try #require(await client.authorizationRequest())
        let back = try await agree(request.page)
        #expect(back.hasPrefix(registered + "?code="))
        try await client.redeem(try request.code(in: back), of: request)
        #expect(storage.all["snow"]?.refresh != nil)
    }

    @Test func `tokens without a refresh token pass the trial of a login, and when they end a person must log in again`()
        async throws
    {
        let body = #"{"access_token": "only", "expires_in": 3600}"#
        practice.simulation.faults.add(.status(200, body: body), path: "/oauth_token.do")
        let address = try await practice.simulation.serve()
        let client = try practice.client(address, practice.oauth("authorization_code"), storage: storage)
        let request = try #require(await client.authorizationRequest())
        try await client.redeem("code", of: request)
        #expect(try await client.authorization(force: true).text == "only")
        #expect(storage.all["snow"]?.access == "only")
        await practice.clock.advance(by: .seconds(3599))
        #expect(try await client.authorization().text == "only")
        await practice.clock.advance(by: .seconds(1))
        let failure = await failure { _ = try await client.authorization() }
        #expect(failure?.reason == .unauthenticated)
        #expect(
            failure?.message
                == "The token of connection snow is no longer valid, and the server gave no refresh token for it: "
                + "run `bellhop login snow`.")
        #expect(practice.simulation.requests.count("POST", path: "/oauth_token.do") == 1)
    }

    @Test func `a code requested by another client is refused`() async throws {
        let settings = practice.oauth("authorization_code")
        let address = try await practice.simulation.serve()
        let client = try practice.client(address, settings, storage: storage)
        let mine = try #require(await client.authorizationRequest())
        let theirs = try #require(await client.authorizationRequest())
        let back = try await agree(theirs.page)
        #expect(throws: AuthorizationRequest.Problem.self) { try mine.code(in: back) }
        // A page that sends the browser without a query does not end the wait.
        let stray = #expect(throws: AuthorizationRequest.Problem.self) { try mine.code(at: "/callback") }
        #expect(stray?.isForeign == true)
        let code = try theirs.code(in: back)
        let failure = await failure { try await client.redeem(try mine.code(in: code), of: mine) }
        #expect(failure?.reason == .unauthenticated)
        #expect(failure?.message.contains(code) == false)
        #expect(storage.all.isEmpty)
    }

    @Test func `the reply may be an address, a query or a bare code, and must have our state`() async throws {
        let settings = practice.oauth("authorization_code")
        let request = try #require(await practice.client("http://127.0.0.1:1", settings).authorizationRequest())
        let good = "code=a%2Fb%3D&state=\(request.state)"
        for text in [good, "?\(good)", "http://127.0.0.1:8912/callback?\(good)", "  http://127.0.0.1:8912/callback?\(good)#x "] {
            #expect(try request.code(in: text) == "a/b=")
        }
        #expect(try request.code(in: "a/b==") == "a/b==")
        let bad: [(String, String)] = [
            ("", "The response is empty."),
            ("http://127.0.0.1:8912/callback?code=x", "its state does not match"),
            ("code=x&state=other", "its state does not match"),
            ("state=\(request.state)", "has no code"),
            ("code=x&code=y&state=\(request.state)", "twice"),
            ("error=access_denied&error_description=No+thanks&state=\(request.state)", "access_denied: No thanks"),
        ]
        for (text, message) in bad {
            #expect { try request.code(in: text) } throws: {
                ($0 as? AuthorizationRequest.Problem)?.message.contains(message) == true
            }
        }
    }
}
