import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct SessionTests {
    let office = Office()

    @Test func `a wrong password is answered 401 with a challenge`() async throws {
        var client = try await office.open()
        client = Client(client.base, password: "wrong")
        let answer = try await client.list()
        #expect(answer.status == 401)
        #expect(
            answer.text
                == #"{"error":{"message":"User Not Authenticated","detail":"Required to provide Auth information"},"status":"failure"}"#
        )
        #expect(answer.header("WWW-Authenticate") == #"BASIC realm="Service-now""#)
        #expect(office.instance.counts.failedLogins == 1)
    }

    @Test(arguments: ["Basic", "Basic am9obi5kb2U", "Basic YW5uOnNlY3JldA", "am9obi5kb2U6c2VjcmV0"])
    func `a broken Basic header is answered 401, also in an open session`(_ header: String) async throws {
        office.instance.addUser("ann", password: "secret", name: "Ann")
        var client = try await office.open()
        _ = try await client.list()
        client.authorization = header
        #expect(try await client.list().status == 401)
    }

    @Test(arguments: [
        ("Basic YmVsbGhvcDpzM2NyZXQ=", "", 200), ("Basic YmVsbGhvcDpzM2NyZXQ", "", 401),
        ("Basic ?", "&client_id=bellhop&client_secret=s3cret", 401),
    ])
    func `the token endpoint answers 401 to a broken Basic header, whatever the form contains`(
        _ header: String, _ fields: String, _ status: Int
    ) async throws {
        office.instance.addClient("bellhop", secret: "s3cret")
        var client = try await office.open()
        client.authorization = header
        client.headers = ["Content-Type": "application/x-www-form-urlencoded"]
        let body = "grant_type=password&username=john.doe&password=secret" + fields
        let answer = try await client.send(.POST, "/oauth_token.do", body: body)
        #expect(answer.status == status)
    }

    @Test func `the cookies carry the session, and JSESSIONID changes on the second response`() async throws {
        var client = try await office.open()
        let first = try await client.list()
        #expect(first.header("X-Is-Logged-In") == "true")
        #expect(client.setCookies.contains { $0.hasPrefix("glide_session_store=") && $0.contains("Max-Age=1800") })
        #expect(client.setCookies.contains { $0.hasPrefix("glide_user=\"\"") && $0.contains("Thu, 01-Jan-1970 00:00:10 GMT") })
        #expect(client.cookies.keys.sorted() == ["JSESSIONID", "glide_session_store", "glide_user_route"])
        client.authorization = nil
        let old = client
        _ = try await client.list()
        #expect(client.cookies["JSESSIONID"] != old.cookies["JSESSIONID"])
        #expect(try await client.list().status == 200)
        var late = old
        let refused = try await late.list()
        #expect(refused.status == 401)
        #expect(refused.header("X-Is-Logged-In") == "false")
        #expect(office.instance.counts.logins == 1)
    }

    @Test func `requests with credentials but without cookies open a session each`() async throws {
        var client = try await office.open()
        for _ in 0..<3 {
            client.cookies = [:]
            _ = try await client.list()
        }
        #expect(office.instance.counts.logins == 3)
    }

    @Test func `an unused session ends`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        client.authorization = nil
        office.clock.advance(seconds: 1799)
        #expect(try await client.list().status == 200)
        office.clock.advance(seconds: 1800)
        #expect(try await client.list().status == 401)
        #expect(office.instance.openSessions == 0)
        #expect(office.instance.counts.loggedOut == 1)
    }

    @Test func `a session ended on demand is answered 401 until the next login`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        let authorization = client.authorization
        client.authorization = nil
        office.instance.expireSessions()
        #expect(try await client.list().status == 401)
        client.authorization = authorization
        #expect(try await client.list().status == 200)
    }

    @Test func `a changed password applies from the next login on`() async throws {
        var client = try await office.open()
        _ = try await client.list()
        office.instance.setPassword(of: "john.doe", to: "new")
        #expect(try await client.list().status == 401)
        client.authorization = nil
        #expect(try await client.list().status == 200)
    }

    @Test func `too many wrong passwords lock the user`() async throws {
        office.instance.settings.lockOutAfter = 2
        var client = try await office.open()
        var wrong = Client(client.base, password: "wrong")
        _ = try await wrong.list()
        _ = try await wrong.list()
        #expect(try await client.list().status == 401)
    }

    /// How long each of the first two requests takes: the others must arrive before one of them ends, also on a busy machine.
    private static let slowMilliseconds = 2000

    /// The statuses of five lists asked for at the same time in one session.
    private static func statuses(ofFive client: Client) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    var mine = client
                    return try await mine.list().status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `a session processes one request at a time and drops excess ones`() async throws {
        office.instance.settings.sessionQueue = 2
        var client = try await office.open()
        _ = try await client.list()
        _ = try await client.list()
        office.simulation.faults.add(.slow(milliseconds: Self.slowMilliseconds), times: 2)
        let statuses = try await Self.statuses(ofFive: client)
        #expect(statuses.sorted() == [200, 200, 200, 202, 202])
        #expect(office.instance.counts.queued == 2)
        #expect(office.instance.counts.dropped == 2)
    }

    @Test func `an instance with latency answers late, one request per session at a time, and drops the excess`() async throws {
        office.instance.settings.sessionQueue = 2
        let clock = ContinuousClock()
        let start = clock.now
        var client = try await office.open()
        _ = try await client.list()
        _ = try await client.list()
        let set = try await client.send(.PATCH, "/simulator/settings", body: #"{"latency":300}"#)
        #expect(set.status == 204)
        office.simulation.faults.add(.slow(milliseconds: Self.slowMilliseconds), times: 2)
        let statuses = try await Self.statuses(ofFive: client)
        #expect(statuses.sorted() == [200, 200, 200, 202, 202])
        #expect(clock.now - start >= .milliseconds(2 * Self.slowMilliseconds + 3 * 300))
    }

    @Test func `the Date header is the simulation's time`() async throws {
        let answer = try await office.open { try await $0.list() }
        #expect(answer.headers("Date") == ["Mon, 05 Jan 2026 09:00:00 GMT"])
    }
}
