import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// What is asked: requests, who asks, and asking for less.
extension RESTSourceTests {
    // MARK: Requests

    @Test func `query, form, header fields and data go as they are said`() async throws {
        _ = add(1)
        api.quirks = [.sloppyQueries]
        _ = try await practice.titles([
            "path": "/list?state=open", "query": ["a b": "c&d", "l": ["x", 1], "none": nil], "headers": ["X-One": "1"],
        ])
        let request = try #require(practice.simulation.requests.all.last)
        #expect(request.query == "state=open&a%20b=c%26d&l=x&l=1")
        #expect(request.header("X-One") == "1" && request.header("Accept") == "application/json")
        for (name, value, type, body) in [
            ("form", ["a": "1 2"], "application/x-www-form-urlencoded", "a=1%202"),
            ("text", "x", "text/plain; charset=utf-8", "x"), ("data", "aGk=", "application/octet-stream", "hi"),
        ] as [(String, JSON, String, String)] {
            _ = await practice.failure(["path": "search", "method": "POST", name: value])
            let request = try #require(practice.simulation.requests.all.last)
            #expect(request.header("Content-Type") == type && request.text == body)
        }
    }

    @Test(
        arguments: [
            (["bearer": "t0ken"], "Authorization", "Bearer t0ken"),
            (["basic": ["username": "ada", "password": "pw:1"]], "Authorization", "Basic YWRhOnB3OjE="),
            (["api_key": ["key": "k1"]], "X-API-Key", "k1"),
            (["api_key": ["header": "Private-Token", "key": "k2"]], "Private-Token", "k2"),
        ] as [(JSON, String, String)])
    func `each way to be known is a field of every request`(_ auth: JSON, _ name: String, _ value: String) async throws {
        let titles = add(7)
        api.door = .field(name, value)
        let settings: JSON.Object = ["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]]
        #expect(try await practice.titles(settings, connection: ["auth": auth]) == titles)
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
    }

    @Test func `cookies are kept, and redirects are followed to the same host only`() async throws {
        let titles = add(1)
        practice.simulation.faults.add(.redirect(to: "/rest/v1/list"))
        try await practice.source(["path": "link"]) { source in
            #expect(try await source.list(from: Standing()).listing.entries.count == titles.count)
            _ = try await source.list(from: Standing())
        }
        #expect(practice.simulation.requests.all.last?.header("Cookie")?.hasPrefix("visit=") == true)
        #expect(practice.simulation.requests.all.map(\.path) == ["/rest/v1/link", "/rest/v1/list", "/rest/v1/link"])
    }

    @Test func `a host that asks for time gets it, from all who ask it and after a restart`() async throws {
        let titles = add(1)
        practice.simulation.faults.add(.tooManyRequests(.seconds(120)))
        #expect(await practice.failure(["path": "list"])?.remedy == .retry(after: .seconds(120)))
        try await practice.open { connection in
            // The port is another, as another host would be: the pause belongs to the place.
            let source = try RESTSource(name: "issues", settings: Settings(["path": "list", "id": "id"]), connection: connection)
            practice.simulation.faults.add(.tooManyRequests(.seconds(60)))
            #expect(await BellhopConnectorsTests.failure { _ = try await source.list(from: Standing()) }?.reason == .throttled)
            let asked = practice.simulation.requests.total
            await practice.clock.advance(by: .seconds(20))
            let failure = await BellhopConnectorsTests.failure { _ = try await source.list(from: Standing()) }
            #expect(failure?.remedy == .retry(after: .seconds(40)))
            let again = try WebConnection(
                name: "api", settings: Settings(["url": .string(connection.base.text)]), in: practice.environment)
            let other = try RESTSource(name: "other", settings: Settings(["path": "list", "id": "id"]), connection: again)
            #expect(await BellhopConnectorsTests.failure { _ = try await other.list(from: Standing()) }?.reason == .throttled)
            #expect(practice.simulation.requests.total == asked)
            await practice.clock.advance(by: .seconds(41))
            #expect(try await other.list(from: Standing()).listing.entries.count == titles.count)
            try await again.shutdown()
        }
    }

    // MARK: Asking for less

    @Test func `an unchanged list costs an answer without a body, in one page only`() async throws {
        _ = add(4)
        try await practice.source(["path": "list"]) { source in
            let first = try await source.list(from: Standing())
            let again = try await source.list(from: Standing(first))
            #expect(again.coverage == .same && again.cursor == first.cursor && again.fingerprint == first.fingerprint)
            api.add("news")
            #expect(try await source.list(from: Standing(again)).listing.entries.count == 5)
            // Where the answer must be scanned whatever it says, it is asked for whole.
            #expect(try await source.list(from: Standing(cursor: first.cursor)).coverage == .whole)
        }
        try await practice.source(["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]]) { source in
            let first = try await source.list(from: Standing())
            #expect(try await source.list(from: Standing(first)).coverage == .whole)
        }
        let asked = practice.simulation.requests.all.map { $0.header("If-None-Match") != nil }
        #expect(asked == [false, true, true, false, false, false, false, false])
    }

    @Test func `with since only what changed is asked for, and everything now and then`() async throws {
        _ = add(3)
        let settings: JSON.Object = [
            "path": "list", "since": ["parameter": "updated_since", "field": "updated_at"], "reconcile": 3_600_000_000,
        ]
        try await practice.source(settings) { source in
            let first = try await source.list(from: Standing())
            #expect(first.coverage == .whole && first.listing.entries.count == 3)
            await practice.clock.advance(by: .seconds(600))
            api.change(2) { $0.state = "closed" }
            let part = try await source.list(from: Standing(first))
            // The overlap of two minutes reaches back from the latest change that was seen.
            #expect(part.coverage == .part && part.listing.entries.count == 3)
            await practice.clock.advance(by: .seconds(600))
            api.remove(1)
            let less = try await source.list(from: Standing(part))
            #expect(less.coverage == .part && less.listing.entries.map(\.key.text) == ["2"])
            await practice.clock.advance(by: .seconds(3000))
            #expect(try await source.list(from: Standing(less)).coverage == .whole)
        }
        let queries = practice.simulation.requests.all.map { $0.parameter("updated_since") }
        #expect(queries.map { $0 == nil } == [true, false, false, true])
        #expect(queries[2]?.hasSuffix("Z") == true && queries[2]?.utf8.count == 20)
    }

    @Test(arguments: [
        ("rfc3339", "2026-01-05T08:58:00Z"), ("date", "2026-01-05"), ("seconds", "1767603480"), ("milliseconds", "1767603480000"),
    ])
    func `a moment is written as the API wants it`(_ format: String, _ written: String) throws {
        let settings = Settings(["since": ["parameter": "p", "field": "f", "format": .string(format)]])
        let since = try #require(try Since(settings, source: "s"))
        #expect(since.pair(SampleDelivery.now) == ("p", written))
    }

    @Test func `a token is asked for, shown, and renewed once when it is refused`() async throws {
        let practice = Practice()
        practice.simulation.api.add("Fan broken")
        try await practice.simulation.serve { address in
            var oauth = practice.oauth("client_credentials")
            oauth["token_url"] = .string(address + "/oauth_token.do")
            let settings: JSON.Object = ["url": .string(address + "/rest/v1"), "auth": ["oauth": .object(oauth)]]
            let connection = try WebConnection(name: "api", settings: Settings(settings), in: practice.environment())
            let source = try RESTSource(name: "s", settings: Settings(["path": "list", "id": "id"]), connection: connection)
            #expect(try await source.list(from: Standing()).listing.entries.count == 1)
            practice.simulation.faults.add(.status(401, body: ""), path: "/rest")
            #expect(try await source.list(from: Standing()).listing.entries.count == 1)
            let delivery = SampleDelivery.make("rest", .values(["path": "issues", "json": ["title": "x"]]), to: "api")
            practice.simulation.faults.add(.status(401, body: ""), path: "/rest")
            _ = try await RESTAction(connection: connection).perform(delivery, attempt: SampleDelivery.first)
            try await connection.shutdown()
        }
        #expect(practice.simulation.api.writes == 1)
        let shown = practice.simulation.requests.matching(path: "/rest").map { $0.header("Authorization")?.hasPrefix("Bearer ") }
        #expect(shown == [true, true, true, true, true])
    }
}
