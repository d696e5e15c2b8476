import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Requests: their content and their credentials.
extension RESTSourceTests {
    @Test func `query, form, header fields and data are sent as configured`() async throws {
        _ = add(1)
        api.quirks = [.sloppyQueries]
        _ = try await practice.titles([
            "path": "/list?state=open", "query": ["a b": "c&d", "l": ["x", 1], "none": .null], "headers": ["X-One": "1"],
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
    func `each way to log in is a header field of every request`(_ auth: JSON, _ name: String, _ value: String) async throws {
        let titles = add(7)
        api.requiredCredentials = .field(name, value)
        let settings: JSON.Object = ["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]]
        #expect(try await practice.titles(settings, connection: ["auth": auth]) == titles)
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
    }

    @Test func `cookies are kept, and redirects are followed on the same host only`() async throws {
        let titles = add(1)
        practice.simulation.faults.add(.redirect(to: "/rest/v1/list"))
        let source = try await practice.source(["path": "link"])
        #expect(try await source.list(from: LastPoll()).listing.entries.count == titles.count)
        _ = try await source.list(from: LastPoll())
        #expect(practice.simulation.requests.all.last?.header("Cookie")?.hasPrefix("visit=") == true)
        #expect(practice.simulation.requests.all.map(\.path) == ["/rest/v1/link", "/rest/v1/list", "/rest/v1/link"])
    }

    @Test func `all sources of a host respect a wait that it asks for, even after a restart`() async throws {
        let titles = add(1)
        practice.simulation.faults.add(.tooManyRequests(.seconds(120)))
        #expect(await practice.failure(["path": "list"])?.remedy == .rest(.seconds(120)))
        let connection = try await practice.open()
        // The server has another port here, which counts as another host: the pause belongs to host and port.
        let source = try RESTSource(name: "issues", settings: Settings(["path": "list", "id": "id"]), connection: connection)
        practice.simulation.faults.add(.tooManyRequests(.seconds(60)))
        #expect(await BellhopConnectorsTests.failure { _ = try await source.list(from: LastPoll()) }?.reason == .throttled)
        let asked = practice.simulation.requests.total
        await practice.clock.advance(by: .seconds(20))
        let failure = await BellhopConnectorsTests.failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.remedy == .rest(.seconds(40)))
        let again = try WebConnection(
            name: "api", settings: Settings(["url": .string(connection.base.text)]), in: practice.environment)
        let other = try RESTSource(name: "other", settings: Settings(["path": "list", "id": "id"]), connection: again)
        #expect(await BellhopConnectorsTests.failure { _ = try await other.list(from: LastPoll()) }?.reason == .throttled)
        #expect(practice.simulation.requests.total == asked)
        await practice.clock.advance(by: .seconds(41))
        #expect(try await other.list(from: LastPoll()).listing.entries.count == titles.count)
        try await again.shutdown()
    }

    // MARK: Looking at a source

    @Test func `the shown request is the one sent, without secrets`() async throws {
        _ = add(3)
        api.quirks = [.sloppyQueries]
        let settings: JSON.Object = [
            "path": "list?a=1", "id": "id", "query": ["state": "open", "api_key": "hunter2", "note": "canary"], "title": "title",
            "fields": ["state": "state"], "since": ["parameter": "updated_since", "field": "updated_at"],
        ]
        let connection = try await practice.open()
        let source = try RESTSource(name: "issues", settings: Settings(settings, secrets: ["canary"]), connection: connection)
        let sample = try await source.sample(2, fields: [])
        let request = connection.base.text + "/list?a=1&state=open&api_key=•••&note=•••"
        #expect(sample.question.map(\.name) == ["request", "since"])
        #expect(sample.question[0].text == "GET " + request)
        #expect(sample.question[1].text.contains("`updated_since`: the latest `updated_at` less"))
        #expect(sample.count == 3 && sample.rows.count == 2 && sample.isDeclared)
        #expect(sample.columns == ["id", "number", "title", "type", "class", "url", "state"])
        let search: JSON.Object = [
            "path": "search", "method": "POST", "json": ["query": "hunter2", "filter": ["states": ["x"]]], "items": "issues",
            "id": "id", "paging": ["by": "offset", "parameter": "startAt", "size": 2, "in": "body"],
        ]
        let question = try await RESTSource(name: "found", settings: Settings(search), connection: practice.open()).question
        #expect(question.map(\.name) == ["request", "body", "paging"])
        #expect(question[1].text == "JSON {query: text, filter: {states: [text]}, startAt: number}")
        #expect(question[2].text == "by offset: `startAt` in the body")
    }

    @Test func `JSON that is declared as HTML is read`() async throws {
        let body = #"[{"id": 1, "title": "a"}]"#
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let address = try await FaultyServer.serve(.given, bytes: Array((head + body).utf8))
        let connection = try practice.connection(address).untilTestEnds()
        let source = try RESTSource(name: "s", settings: Settings(["path": "list", "id": "id"]), connection: connection)
        #expect(try await source.list(from: LastPoll()).listing.entries.map(\.key.text) == ["1"])
    }

    @Test func `a token is requested, sent, and renewed once if it is refused`() async throws {
        let practice = Practice()
        practice.simulation.api.add("Fan broken")
        let address = try await practice.simulation.serve()
        var oauth = practice.oauth("client_credentials")
        oauth["token_url"] = .string(address + "/oauth_token.do")
        let settings: JSON.Object = ["url": .string(address + "/rest/v1"), "auth": ["oauth": .object(oauth)]]
        let connection = try WebConnection(name: "api", settings: Settings(settings), in: practice.environment())
        let source = try RESTSource(name: "s", settings: Settings(["path": "list", "id": "id"]), connection: connection)
        #expect(try await source.list(from: LastPoll()).listing.entries.count == 1)
        practice.simulation.faults.add(.status(401, body: ""), path: "/rest")
        #expect(try await source.list(from: LastPoll()).listing.entries.count == 1)
        let delivery = SampleDelivery.make("rest", .values(["path": "issues", "json": ["title": "x"]]), to: "api")
        practice.simulation.faults.add(.status(401, body: ""), path: "/rest")
        _ = try await RESTAction(connection: connection).perform(delivery, attempt: SampleDelivery.first)
        try await connection.shutdown()
        #expect(practice.simulation.api.writes == 1)
        let shown = practice.simulation.requests.matching(path: "/rest").map { $0.header("Authorization")?.hasPrefix("Bearer ") }
        #expect(shown == [true, true, true, true, true])
    }

    @Test func `a token repeated in an answer is removed from failures`() async throws {
        let practice = Practice()
        practice.simulation.api.add("Fan broken")
        practice.simulation.api.quirks = [.echoes]
        let address = try await practice.simulation.serve()
        var oauth = practice.oauth("client_credentials")
        oauth["token_url"] = .string(address + "/oauth_token.do")
        let settings: JSON.Object = ["url": .string(address + "/rest/v1"), "auth": ["oauth": .object(oauth)]]
        let connection = try WebConnection(
            name: "api", settings: Settings(settings, secrets: ["s3cret/9"]), in: practice.environment())
        let source = try RESTSource(
            name: "s", settings: Settings(["path": "list", "id": "id", "query": ["k": "s3cret/9"]], secrets: ["s3cret/9"]),
            connection: connection)
        let echoed = await failure { _ = try await source.list(from: LastPoll()) }
        let delivery = SampleDelivery.make(
            "rest", .values(["path": "issues", "json": [:], "check": ["error": .null]]), to: "api")
        let checked = await failure {
            _ = try await RESTAction(connection: connection).perform(delivery, attempt: SampleDelivery.first)
        }
        let token = try #require(practice.simulation.requests.matching(path: "/rest").first?.header("Authorization"))
        var failures = [echoed, checked]
        for status in [200, 403] {
            let key = "\(token.dropFirst(7)) s3cret%2F9"
            practice.simulation.api.quirks = []
            practice.simulation.faults.add(
                .status(status, body: #"[{"id": "\#(key)"}, {"id": "\#(key)"}]"#), path: "/rest/v1/list")
            failures.append(await failure { _ = try await source.list(from: LastPoll()) })
        }
        for found in failures {
            #expect(found?.message.contains(Redaction.mark) == true, "\(found?.message ?? "none")")
            #expect(found?.message.contains(token.dropFirst(7)) == false)
            #expect(found?.message.contains("s3cret") == false)
        }
        try await connection.shutdown()
    }

    @Test func `an answer that reports a failure is an error`() async throws {
        let settings: JSON.Object = ["path": "page", "items": "items", "check": ["success": true]]
        for body in [#"{"success": false, "items": []}"#, #"{"items": []}"#] {
            practice.simulation.faults.add(.status(200, body: body))
            let failure = await practice.failure(settings)
            #expect(failure?.reason == .badAnswer && failure?.remedy == .retry(after: nil))
            #expect(failure?.message.contains("`success` is") == true, "\(failure?.message ?? "none")")
        }
        practice.simulation.faults.add(.status(200, body: #"{"success": true, "items": [{"id": 1, "title": "a"}]}"#))
        #expect(try await practice.titles(settings) == ["a"])
    }

    @Test func `a link to the next page is sent with each character encoded once`() async throws {
        practice.simulation.faults.add(
            .status(200, body: #"{"items": [{"id": 1}], "next": "?page[after]=eyJ%2Bx%3D%3D&a b=100%&c={d}|^é"}"#))
        let failure = await practice.failure(["path": "list", "items": "items", "paging": ["by": "link", "next": "next"]])
        #expect(failure?.reason == .refused)
        let query = practice.simulation.requests.all.last?.query
        #expect(query == "page%5Bafter%5D=eyJ%2Bx%3D%3D&a%20b=100%25&c=%7Bd%7D%7C%5E%C3%A9")
    }
}
