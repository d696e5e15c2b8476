import BellhopConnectors
import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopAgent
@testable import BellhopConsole

/// Logging in with an account at an OpenID provider, over HTTP.
@Suite(.timeLimit(.minutes(2)), .closing) struct OpenIDTests {
    private static let own = "https://bellhop.example"

    /// A console whose people have accounts at the simulation's provider.
    private func open(
        roles: [ConsoleRole: Set<String>] = [.viewer: ["*"], .operator: ["oncall"], .admin: ["chiefs"]], claim: String = "groups"
    ) async throws -> (ConsoleFixture, Simulation) {
        let clock = TestClock()
        let simulation = Simulation { clock.now.microseconds }
        let address = try await untilTestEnds { try await SimulatorServer(simulation).serve($0) }
        let settings = OpenIDProvider.Settings(
            issuer: address + "/openid", clientID: SimulatedOpenID.client.id, clientSecret: SimulatedOpenID.client.secret,
            scope: "openid email", nameClaim: "email")
        let http = try HTTPConnection(.init(name: "openid"), clock: clock)
        whenTestEnds { try await http.shutdown() }
        let provider = OpenIDProvider(settings, over: http, clock: clock)
        let fixture = try await ConsoleFixture(
            publicURL: Self.own, provider: provider, openID: .init(settings: settings, ca: nil, claim: claim, roles: roles))
        return (fixture, simulation)
    }

    /// A browser that keeps cookies and follows the provider's redirect.
    private struct Browser {
        let fixture: ConsoleFixture
        var cookies: [String: String] = [:]

        mutating func get(_ target: String) async -> ConsoleAnswer {
            let cookie = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            let answer = await fixture.desk.answer(ConsoleRequest("GET", target, headers: [("Cookie", cookie)]))
            for field in answer.fields where field.name == "Set-Cookie" {
                let pair = field.value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                cookies[pair[0]] = pair.count == 2 ? pair[1] : nil
            }
            return answer
        }

        /// Goes to the provider and agrees; the address to which the provider sends it back.
        mutating func agree(next: String = "/deliveries") async throws -> String {
            let begun = await get("/login/openid?next=" + PercentEncoding.encode(next))
            #expect(begun.status == 303)
            let page = try HTTPAddress(try #require(begun.field("Location")))
            let http = try HTTPConnection(.init(name: "browser"), clock: fixture.clock)
            let agreed = try await http.send(HTTPRequest(page))
            try await http.shutdown()
            let back = try #require(agreed.headers["Location"])
            #expect(back.hasPrefix(OpenIDTests.own + "/login/openid?"))
            return String(back.dropFirst(OpenIDTests.own.count))
        }
    }

    @Test func `an account is logged in with the role of its groups, and acts under its name`() async throws {
        let (fixture, simulation) = try await open()
        for (groups, role) in [(["staff"], "viewer"), (["staff", "oncall"], "operator"), (["oncall", "chiefs"], "admin")] {
            simulation.openID.setClaims(["email": "ada@example.com", "groups": .array(groups.map(JSON.string))])
            var browser = Browser(fixture: fixture)
            let back = try await browser.agree()
            let landed = await browser.get(back)
            #expect(landed.status == 303 && landed.field("Location") == "/deliveries", "\(landed.text)")
            #expect(landed.fields.filter { $0.name == "Set-Cookie" }.allSatisfy { $0.value.contains("Secure") })
            let page = await browser.get("/")
            #expect(page.status == 200 && page.text.contains("ada@example.com"))
            let act = await browser.get("/deliveries/x/edit")
            #expect((act.status == 403) == (role == "viewer"), "\(role): \(act.status)")
        }
    }

    @Test func `the login page offers the provider, and the session ends after half a day`() async throws {
        let (fixture, _) = try await open()
        var browser = Browser(fixture: fixture)
        #expect(await browser.get("/login?next=/rules").text.contains("/login/openid?next=%2Frules"))
        _ = await browser.get(try await browser.agree())
        for _ in 0..<11 {
            await fixture.clock.advance(by: .seconds(3600))
            #expect(await browser.get("/").status == 200)
        }
        await fixture.clock.advance(by: .seconds(3600))
        #expect(await browser.get("/").status == 303)
    }

    @Test func `cookies are named after the console's port, so that consoles of one host do not overwrite those of others`()
        async throws
    {
        let (fixture, _) = try await open()
        var browser = Browser(fixture: fixture)
        let back = try await browser.agree()
        #expect(Array(browser.cookies.keys) == ["bellhop_login_443"])
        #expect(await browser.get(back).status == 303)
        #expect(Array(browser.cookies.keys) == ["bellhop_session_443"])
    }

    @Test func `strangers who begin any number of logins push out no other login`() async throws {
        let (fixture, _) = try await open()
        var browser = Browser(fixture: fixture)
        let back = try await browser.agree()
        for _ in 0...1000 {
            var stranger = Browser(fixture: fixture)
            _ = await stranger.get("/login/openid")
        }
        #expect(await browser.get(back).status == 303)
    }

    @Test func `a login whose cookie was changed begins no session, and one with a long address ends at the first page`()
        async throws
    {
        let (fixture, _) = try await open()
        var browser = Browser(fixture: fixture)
        let back = try await browser.agree()
        let cookie = try #require(browser.cookies["bellhop_login_443"])
        browser.cookies["bellhop_login_443"] = cookie + "x"
        #expect(await browser.get(back).status == 403)
        browser.cookies["bellhop_login_443"] = cookie
        #expect(await browser.get(back).field("Location") == "/deliveries")
        let long = try await browser.agree(next: "/events?where=" + String(repeating: "x", count: 5000))
        #expect(browser.cookies["bellhop_login_443"].map { $0.utf8.count < 4000 } == true)
        #expect(await browser.get(long).field("Location") == "/")
    }

    @Test func `a provider's answer for another browser or login, or a repeated answer, begins no session`() async throws {
        let (fixture, _) = try await open()
        var browser = Browser(fixture: fixture)
        let back = try await browser.agree()
        var other = Browser(fixture: fixture)
        #expect(await other.get(back).status == 403)
        _ = try await other.agree()
        #expect(await other.get(back).status == 403)
        #expect(await browser.get(back + "x").status == 403)
        let again = try await browser.agree()
        #expect(await browser.get(back).status == 403)
        await fixture.clock.advance(by: OpenIDLogin.span)
        #expect(await browser.get(again).status == 403)
        #expect(await browser.get("/").status == 303)
        #expect(await browser.get("/login/openid?error=invalid_scope").status == 403)
        let last = try await browser.agree()
        var copy = browser
        #expect(await browser.get(last).status == 303)
        #expect(await browser.get(last).status == 403)
        // The provider takes a code only once.
        #expect(await copy.get(last).status == 502)
    }

    @Test(arguments: SimulatedOpenID.Quirk.allCases) func `a wrong answer of the provider begins no session, and is explained`(
        quirk: SimulatedOpenID.Quirk
    ) async throws {
        let (fixture, simulation) = try await open()
        simulation.openID.setQuirk(quirk)
        var browser = Browser(fixture: fixture)
        if quirk == .wrongDiscovery {
            let answer = await browser.get("/login/openid")
            #expect(answer.status == 502 && answer.text.contains("names another issuer"))
            return
        }
        let answer = await browser.get(try await browser.agree())
        #expect(answer.status == 502 && answer.text.contains("/openid"))
        #expect(!answer.text.contains(SimulatedOpenID.client.secret))
        #expect(await browser.get("/").status == 303)
    }

    @Test func `an account without a role is refused, and so is an account with an invalid name`() async throws {
        let (fixture, simulation) = try await open(roles: [.operator: ["ops"]], claim: "realm_access.roles")
        simulation.openID.setClaims(["email": "eve@example.com", "realm_access": ["roles": ["staff"]]])
        var browser = Browser(fixture: fixture)
        let refused = await browser.get(try await browser.agree())
        #expect(refused.status == 403 && refused.text.contains("eve@example.com"))
        simulation.openID.setClaims(["email": "eve@example.com", "realm_access": ["roles": ["ops"]]])
        #expect(try await browser.get(await browser.agree()).status == 303)
        for name in ["", "a\u{202e}b", "a\nb", "a\u{9b}b", String(repeating: "x", count: 300)] {
            simulation.openID.setClaims(["email": .string(name), "realm_access": ["roles": ["ops"]]])
            #expect(try await browser.get(await browser.agree()).status == 502, "\(name)")
        }
    }

    /// Auth0 adds only claims to an ID token whose names are addresses.
    @Test func `a claim whose name has dots gives roles`() async throws {
        let claim = "https://example.com/roles"
        let (fixture, simulation) = try await open(roles: [.operator: ["ops"]], claim: claim)
        simulation.openID.setClaims(["email": "ada@example.com", claim: ["ops"]])
        var browser = Browser(fixture: fixture)
        let answer = await browser.get(try await browser.agree())
        #expect(answer.status == 303)
    }

    @Test func `a login never leads to another site`() async throws {
        let (fixture, _) = try await open()
        for next in ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)"] {
            var browser = Browser(fixture: fixture)
            let back = try await browser.agree(next: next)
            #expect(await browser.get(back).field("Location") == "/", "\(next)")
        }
    }

    @Test func `a provider that does not answer is reported, and tokens still work`() async throws {
        let (fixture, simulation) = try await open()
        simulation.faults.add(.status(503, body: ""), path: "/openid/.well-known/openid-configuration")
        var browser = Browser(fixture: fixture)
        #expect(await browser.get("/login/openid").status == 502)
        #expect(await fixture.api("GET", "/status").status == 200)
        // The next attempt works.
        let back = try await browser.agree()
        #expect(await browser.get(back).status == 303)
    }
}
