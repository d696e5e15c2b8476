import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite struct RESTSourceTests {
    let practice = WebPractice()
    var api: SimulatedAPI { practice.api }

    private func add(_ count: Int) -> [String] {
        for number in 1...count { api.add("issue \(number)") }
        return (1...count).map { "issue \($0)" }
    }

    @Test func `an item is a task with number, title, address and typed fields`() async throws {
        let id = api.add("Fan broken", priority: 1)
        let settings: JSON.Object = [
            "path": "list", "title": "title", "url": "https://issues.example.com/{id}", "class": "issue", "id": "id",
            "fields": [
                "state": "state", "priority": ["path": "priority", "type": "int"],
                "updated": ["path": "updated_at", "type": "timestamp"], "label": "labels[0].name", "labels": "labels",
                "nothing": "a.b",
            ],
        ]
        let snapshot = try await practice.source(settings) { source in
            let listing = try await source.list(from: Standing()).listing
            let details = try await source.details(of: [TaskKey("1"), TaskKey("9")], in: listing)
            #expect(details.departures == [TaskKey("9"): .unknown])
            #expect(source.scope.instance.hasSuffix("/rest/v1/list"))
            return try #require(details.snapshots[TaskKey("1")])
        }
        #expect(id == 1)
        #expect(snapshot.number == "1" && snapshot.title == "Fan broken")
        #expect(snapshot.className == "issue" && snapshot.type == "")
        #expect(snapshot.url == "https://issues.example.com/1")
        #expect(
            snapshot.fields == [
                "state": "open", "priority": 1, "updated": .string(practice.clock.now.rfc3339), "label": "urgent",
                "labels": #"[{"name":"urgent"}]"#, "nothing": "",
            ])
    }

    // MARK: Pages

    /// Each way of paging, as a source of the simulated API says it.
    static let ways: [JSON.Object] = [
        ["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]],
        ["path": "page", "items": "items", "paging": ["by": "page", "size": 3, "size_parameter": "per_page"]],
        [
            "path": "page", "items": "items",
            "paging": ["by": "page", "total": "total", "size": 4, "size_parameter": "per_page"],
        ],
        [
            "path": "offset", "items": "issues",
            "paging": ["by": "offset", "size": 3, "size_parameter": "limit", "total": "total_count"],
        ],
        ["path": "offset", "items": "issues", "paging": ["by": "offset", "size": 2, "size_parameter": "limit"]],
        [
            "path": "cursor", "items": "data.items",
            "paging": ["by": "cursor", "next": "next", "size": 3, "size_parameter": "limit"],
        ],
        [
            "path": "search", "method": "POST", "json": ["query": "open"], "items": "issues", "title": "fields.summary",
            "paging": [
                "by": "offset", "parameter": "startAt", "size": 3, "size_parameter": "maxResults", "in": "body",
                "total": "total",
            ],
        ],
    ]

    @Test(arguments: ways)
    func `all pages are one list`(_ settings: JSON.Object) async throws {
        for count in [1, 2, 3, 4, 6, 7, 10] {
            let practice = WebPractice()
            for number in 1...count { practice.api.add("issue \(number)") }
            #expect(try await practice.titles(settings) == (1...count).map { "issue \($0)" })
        }
        #expect(try await WebPractice().titles(settings) == [])
    }

    @Test(arguments: ways)
    func `a server that sends shorter pages than it was asked for is read whole`(_ settings: JSON.Object) async throws {
        var settings = settings
        var paging = try #require(settings["paging"]?.asObject)
        paging["size"] = 500
        settings["paging"] = .object(paging)
        for count in [1, 2, 3, 4, 7, 9] {
            let practice = WebPractice()
            practice.api.quirks = [.capsPages]
            for number in 1...count { practice.api.add("issue \(number)") }
            #expect(try await practice.titles(settings) == (1...count).map { "issue \($0)" }, "\(count)")
        }
    }

    @Test(
        arguments: [
            (
                [
                    "path": "page", "items": "items",
                    "paging": ["by": "page", "total": "total", "size": 3, "size_parameter": "per_page"],
                ], 4
            ),
            (
                [
                    "path": "offset", "items": "issues",
                    "paging": ["by": "offset", "size": 3, "size_parameter": "limit", "total": "total_count"],
                ], 5
            ),
        ] as [(JSON.Object, Int)])
    func `pages that end before all items were there make no list`(_ settings: JSON.Object, _ count: Int) async throws {
        _ = add(count)
        api.quirks = [.losesPages]
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .badAnswer)
        #expect(
            failure?.message.contains("end after 3 of \(count)") == true || failure?.message.contains("moved") == true,
            "\(failure?.message ?? "none")")
    }

    @Test(
        arguments: [
            (#"{"items": [{"id": 1}, {"id": 2}], "total": 1}"#, "more than the 1"),
            (#"{"items": [{"id": 1}], "total": 1, "more": true}"#, "there is more, but not where"),
            (#"{"items": [{"id": 1}], "total": "3", "more": false}"#, "end after 1 of 3"),
        ])
    func `what an answer says of itself must be so`(_ body: String, _ words: String) async {
        practice.simulation.faults.add(.status(200, body: body))
        let failure = await practice.failure([
            "path": "cursor", "items": "items", "paging": ["by": "cursor", "next": "next", "total": "total", "more": "more"],
        ])
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
    }

    @Test(
        arguments: [
            (.poisonedLink, "another host"), (.circularLink, "the same"), (.ignoresPaging, "the same"),
        ] as [(SimulatedAPI.Quirk, String)])
    func `links that lead elsewhere or in a circle make no list`(_ quirk: SimulatedAPI.Quirk, _ words: String) async {
        _ = add(9)
        api.quirks = [quirk]
        let failure = await practice.failure([
            "path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"],
        ])
        #expect(failure?.reason == .badAnswer)
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
        #expect(practice.simulation.requests.total <= 3)
    }

    @Test(
        arguments: [
            (
                .sameCursor, "the same cursor",
                [
                    "path": "cursor", "items": "data.items",
                    "paging": ["by": "cursor", "next": "next", "size": 3, "size_parameter": "limit"],
                ]
            ),
            (
                .ignoresPaging, "the same",
                ["path": "page", "items": "items", "paging": ["by": "page", "size": 3, "size_parameter": "per_page"]]
            ),
            (
                .shrinking, "moved",
                ["path": "offset", "items": "issues", "paging": ["by": "offset", "size": 3, "size_parameter": "limit"]]
            ),
            (
                .shrinking, "changed from 9 to 8",
                [
                    "path": "page", "items": "items",
                    "paging": ["by": "page", "size": 3, "size_parameter": "per_page", "total": "total"],
                ]
            ),
            (
                .missingID, "has no 'id'",
                ["path": "list"]
            ),
        ] as [(SimulatedAPI.Quirk, String, JSON.Object)])
    func `pages that do not fit together make no list`(
        _ quirk: SimulatedAPI.Quirk, _ words: String, _ settings: JSON.Object
    ) async {
        _ = add(9)
        api.quirks = [quirk]
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .badAnswer && failure?.remedy == .retry(after: nil))
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
    }

    @Test func `more pages than are allowed make no list`() async {
        _ = add(9)
        let failure = await practice.failure([
            "path": "page", "items": "items",
            "paging": ["by": "page", "size": 2, "size_parameter": "per_page", "max_pages": 3],
        ])
        #expect(failure?.message.contains("more than 3 pages") == true)
    }

    // MARK: Answers that are none

    @Test(
        arguments: [
            (.status(200, body: #"{"error": {"message": "quota is used up"}}"#), .serverError, "quota is used up"),
            (.status(200, body: #"{"errors": [{"message": "no such field"}], "data": null}"#), .serverError, "no such field"),
            (.status(200, body: #"{"items": 3}"#), .badAnswer, "cannot be"),
            (.status(200, body: #"[{"id": 1}, {"id": 1}]"#), .badAnswer, "two records have the key 1"),
            (.status(200, body: #"[{"id": {"a": 1}}]"#), .badAnswer, "has no 'id'"),
            (.status(200, body: #"[{"id": 1}] x"#), .badAnswer, "cannot be"),
            (.status(200, body: ""), .badAnswer, "empty"), (.truncatedJSON, .badAnswer, "cannot be"),
            (.cutBody, .cut, "api"), (.loginPage, .unexpectedPage, "page instead of JSON"),
            (.badGateway, .gateway, "502"), (.internalError, .serverError, "500"),
            (.redirect(to: "https://idp.example.com/login"), .refused, "idp.example.com"),
            (.redirect(to: "http://127.0.0.1:1/x"), .refused, "no other host"),
            (.status(200, body: "{}"), .badAnswer, "an array"), (.status(200, body: #"{"a": []}"#), .badAnswer, "an array"),
            (.status(200, body: "null"), .badAnswer, "cannot be"),
            (.status(202, body: "[]"), .badAnswer, "202"), (.status(206, body: "[]"), .badAnswer, "206"),
            (.status(204, body: ""), .badAnswer, "204"), (.status(304, body: ""), .badAnswer, "unasked"),
            (.status(404, body: "gone"), .goneOrHidden, "404"), (.status(401, body: ""), .unauthenticated, "401"),
        ] as [(Fault, Failure.Reason, String)])
    func `an answer that is none fails and says why`(_ fault: Fault, _ reason: Failure.Reason, _ words: String) async {
        _ = add(4)
        practice.simulation.faults.add(fault)
        let failure = await practice.failure(["path": "list"], connection: ["auth": ["bearer": "s3cret-token"]])
        #expect(failure?.reason == reason, "\(failure?.message ?? "none")")
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
        #expect(failure?.message.contains("s3cret") == false)
        #expect(practice.simulation.requests.total == 1)
    }

    @Test func `an empty error beside the items is none`() async throws {
        practice.simulation.faults.add(.status(200, body: #"{"error": null, "errors": [], "items": [{"id": 1, "title": "a"}]}"#))
        #expect(try await practice.titles(["path": "page", "items": "items"]) == ["a"])
    }

    @Test func `an answer over max_body is refused`() async {
        _ = add(50)
        let failure = await practice.failure(["path": "list"], connection: ["max_body": 1000])
        #expect(failure?.reason == .tooLarge)
    }

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
        let asked = practice.simulation.requests.all.map { $0.header("If-None-Match") != nil }
        #expect(asked == [false, true, true, false])
    }

    @Test(arguments: ways.filter { $0["method"] == nil })
    func `an item that begins another page is seen, although the page before it stays as it was`(
        _ settings: JSON.Object
    ) async throws {
        for count in 1...8 {
            let practice = WebPractice()
            for number in 1...count { practice.api.add("issue \(number)") }
            try await practice.source(settings) { source in
                let first = try await source.list(from: Standing())
                let same = try await source.list(from: Standing(first))
                #expect(same.fingerprint == first.fingerprint)
                practice.api.add("news")
                let second = try await source.list(from: Standing(same))
                #expect(second.coverage == .whole && second.listing.entries.count == count + 1, "\(count)")
            }
        }
    }

    @Test func `a date alone tells answers apart only when it is some seconds old`() {
        let now = SampleDelivery.now
        func validators(_ age: Int, _ more: HeaderFields = [:]) -> Validators {
            let headers: HeaderFields = ["Last-Modified": (now - .seconds(age)).httpDate, "Date": now.httpDate]
            return Validators(headers.with(more))
        }
        #expect(validators(0) == Validators() && validators(4) == Validators())
        #expect(validators(5).modified != nil)
        #expect(validators(0, ["ETag": "x"]).modified != nil)
        #expect(Validators(["Last-Modified": "soon"]) == Validators())
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

    @Test func `an item of the far future hides no change of the others`() async throws {
        _ = add(3)
        api.quirks = [.farFuture]
        let settings: JSON.Object = ["path": "list", "since": ["parameter": "updated_since", "field": "updated_at"]]
        try await practice.source(settings) { source in
            var answer = try await source.list(from: Standing())
            for round in 1...3 {
                await practice.clock.advance(by: .seconds(600))
                api.change(2) { $0.state = "round \(round)" }
                answer = try await source.list(from: Standing(answer))
                #expect(answer.coverage == .part)
                #expect(answer.listing.entries.contains { $0.key.text == "2" }, "round \(round)")
            }
        }
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

    @Test func `no token that an answer repeats is in a failure`() async throws {
        let practice = Practice()
        practice.simulation.api.add("Fan broken")
        practice.simulation.api.quirks = [.echoes]
        try await practice.simulation.serve { address in
            var oauth = practice.oauth("client_credentials")
            oauth["token_url"] = .string(address + "/oauth_token.do")
            let settings: JSON.Object = ["url": .string(address + "/rest/v1"), "auth": ["oauth": .object(oauth)]]
            let connection = try WebConnection(
                name: "api", settings: Settings(settings, secrets: ["s3cret/9"]), in: practice.environment())
            let source = try RESTSource(
                name: "s", settings: Settings(["path": "list", "id": "id", "query": ["k": "s3cret/9"]], secrets: ["s3cret/9"]),
                connection: connection)
            let echoed = await failure { _ = try await source.list(from: Standing()) }
            let delivery = SampleDelivery.make(
                "rest", .values(["path": "issues", "json": [:], "check": ["error": nil]]), to: "api")
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
                failures.append(await failure { _ = try await source.list(from: Standing()) })
            }
            for found in failures {
                #expect(found?.message.contains(Redaction.mark) == true, "\(found?.message ?? "none")")
                #expect(found?.message.contains(token.dropFirst(7)) == false)
                #expect(found?.message.contains("s3cret") == false)
            }
            try await connection.shutdown()
        }
    }

    @Test func `an answer that says of itself that it failed is none`() async throws {
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

    @Test func `what is encoded once arrives encoded once`() async throws {
        practice.simulation.faults.add(
            .status(200, body: #"{"items": [{"id": 1}], "next": "?page[after]=eyJ%2Bx%3D%3D&a b=100%&c={d}|^é"}"#))
        let failure = await practice.failure(["path": "list", "items": "items", "paging": ["by": "link", "next": "next"]])
        #expect(failure?.reason == .refused)
        let query = practice.simulation.requests.all.last?.query
        #expect(query == "page%5Bafter%5D=eyJ%2Bx%3D%3D&a%20b=100%25&c=%7Bd%7D%7C%5E%C3%A9")
    }

    // MARK: Settings

    @Test(
        arguments: [
            (["path": "https://other.example/x"], "path"), (["path": "//other.example/x"], "path"),
            (["path": "a/../b"], "path"), (["path": "a/%2e%2e/b"], "path"), (["path": "javascript:x"], "path"),
            (["path": "a", "items": "a..b"], "items"), (["path": "a", "id": "x[0]"], "id"),
            (["path": "a", "id": ""], "id"), (["path": "a", "fields": ["a-b": "x"]], "fields"),
            (["path": "a", "fields": ["a", "a"]], "fields"), (["path": "a", "fields": ["a": "x..y"]], "fields"),
            (["path": "a", "json": [:], "text": "x", "method": "POST"], "text"), (["path": "a", "json": [:]], "json"),
            (["path": "a%2F..%2F..%2Fb"], "path"), (["path": "a/..;/b"], "path"),
            (["path": "a", "method": "POST", "data": "?"], "data"), (["path": "a", "headers": ["Host": "x"]], "headers"),
            (["path": "a", "paging": ["by": "cursor"]], "paging.next"),
            (["path": "a", "paging": ["by": "offset"]], "paging.size"),
            (["path": "a", "paging": ["by": "page", "in": "body"]], "paging.in"),
            (["path": "a", "paging": ["by": "page", "size_parameter": "x"]], "paging.size"),
        ] as [(JSON.Object, String)])
    func `settings that cannot work are refused by name`(_ settings: JSON.Object, _ setting: String) throws {
        let connection = try practice.connection("http://127.0.0.1:1")
        let error = #expect(throws: ConnectorError.self) {
            var settings = settings
            settings["id"] = settings["id"] ?? "id"
            return try RESTSource(name: "issues", settings: Settings(settings), connection: connection)
        }
        #expect(error?.setting == setting, "\(error?.message ?? "")")
    }

    @Test(
        arguments: [
            ["url": "ftp://x"], ["url": "https://a:b@x.example"], ["url": "https://x.example/?a=1"], ["url": "http://x.example"],
            ["url": "https://x.example", "auth": [:]],
            ["url": "https://x.example", "auth": ["bearer": "a", "api_key": ["key": "b"]]],
            ["url": "https://x.example", "auth": ["bearer": "a\nb"]],
            ["url": "https://x.example", "auth": ["api_key": ["header": "a b", "key": "x"]]],
        ] as [JSON.Object])
    func `connections that cannot work are refused`(_ settings: JSON.Object) {
        #expect(throws: ConnectorError.self) {
            try WebConnection(name: "api", settings: Settings(settings), in: practice.environment)
        }
    }

    @Test func `what is asked for is part of what is remembered, its secrets are not`() throws {
        let connection = try practice.connection("http://127.0.0.1:1")
        func scope(_ settings: JSON.Object) throws -> Scope {
            var settings = settings
            settings["id"] = "id"
            return try RESTSource(name: "issues", settings: Settings(settings), connection: connection).scope
        }
        let one = try scope(["path": "list", "query": ["key": "s3cret"], "headers": ["X": "s3cret"]])
        #expect(try scope(["path": "list", "query": ["key": "other"]]) != one)
        #expect(try scope(["path": "list", "query": ["key": "s3cret"], "fields": ["a": "b"]]) == one)
        #expect(!"\(one)".contains("s3cret"))
        let secret = Settings(["path": "s3cret/list", "id": "id"], secrets: ["s3cret"])
        let hidden = try RESTSource(name: "issues", settings: secret, connection: connection).scope
        #expect(hidden.instance.hasSuffix("/rest/v1/-/list"))
    }
}
