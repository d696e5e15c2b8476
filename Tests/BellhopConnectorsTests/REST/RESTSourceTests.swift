import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct RESTSourceTests {
    let practice = WebPractice()
    var api: SimulatedAPI { practice.api }

    func add(_ count: Int) -> [String] {
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
        let source = try await practice.source(settings)
        let listing = try await source.list(from: LastPoll()).listing
        let details = try await source.details(of: [TaskKey("1"), TaskKey("9")], in: listing)
        #expect(details.departures == [TaskKey("9"): .unknown])
        #expect(source.scope.instance.hasSuffix("/rest/v1/list"))
        let snapshot = try #require(details.snapshots[TaskKey("1")])
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

    /// Every way of paging, with the settings of a source of the simulated API.
    static let ways: [JSON.Object] = [
        ["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]],
        ["path": "page", "items": "items", "paging": ["by": "page", "size": 3, "size_parameter": "per_page"]],
        ["path": "page", "items": "items", "paging": ["by": "page", "total": "total", "size": 4, "size_parameter": "per_page"]],
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
                "by": "offset", "parameter": "startAt", "size": 3, "size_parameter": "maxResults", "in": "body", "total": "total",
            ],
        ],
    ]

    @Test(arguments: ways) func `all pages are read as one list`(_ settings: JSON.Object) async throws {
        for count in [1, 2, 3, 4, 6, 7, 10] {
            let practice = WebPractice()
            for number in 1...count { practice.api.add("issue \(number)") }
            #expect(try await practice.titles(settings) == (1...count).map { "issue \($0)" })
        }
        #expect(try await WebPractice().titles(settings) == [])
    }

    @Test(arguments: ways)
    func `a server that sends shorter pages than requested is read completely`(_ settings: JSON.Object) async throws {
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
    func `pages that end before the announced number of items fail the poll`(_ settings: JSON.Object, _ count: Int) async throws {
        _ = add(count)
        api.quirks = [.losesPages]
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .badAnswer)
        #expect(
            failure?.message.contains("end after 3 of \(count)") == true || failure?.message.contains("moved") == true,
            "\(failure?.message ?? "none")")
    }

    @Test(arguments: [
        (#"{"items": [{"id": 1}, {"id": 2}], "total": 1}"#, "more than the 1"),
        (#"{"items": [{"id": 1}], "total": 1, "more": true}"#, "there is more, but not where"),
        (#"{"items": [{"id": 1}], "total": "3", "more": false}"#, "end after 1 of 3"),
    ])
    func `an answer that contradicts its own count or paging is an error`(_ body: String, _ words: String) async {
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
    func `links to other hosts or in a circle fail the poll`(_ quirk: SimulatedAPI.Quirk, _ words: String) async {
        _ = add(9)
        api.quirks = [quirk]
        let failure = await practice.failure(["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]])
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
    func `pages that contradict each other fail the poll`(
        _ quirk: SimulatedAPI.Quirk, _ words: String, _ settings: JSON.Object
    ) async {
        _ = add(9)
        api.quirks = [quirk]
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .badAnswer && failure?.remedy == .retry(after: nil))
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
    }

    /// Sources of an API that answers 404 after its last page.
    static let numbered: [JSON.Object] = [
        [
            "path": "page", "items": "items",
            "paging": ["by": "page", "size": 3, "size_parameter": "per_page", "end": "not_found"],
        ],
        [
            "path": "offset", "items": "issues",
            "paging": ["by": "offset", "size": 3, "size_parameter": "limit", "end": "not_found"],
        ],
    ]

    @Test(arguments: numbered)
    func `if the page after the last is 404, the list ends once the last page was read twice unchanged`(
        _ settings: JSON.Object
    ) async throws {
        let titles = add(6)
        api.quirks = [.missesPages]
        #expect(try await practice.titles(settings) == titles)
        // A list whose first page is 404 is missing, not empty.
        practice.simulation.faults.add(.status(404, body: "{}"))
        #expect(await practice.failure(settings)?.reason == .goneOrHidden)
        var plain = settings
        var paging = plain["paging"]?.asObject ?? [:]
        paging["end"] = nil
        plain["paging"] = .object(paging)
        #expect(await practice.failure(plain)?.reason == .goneOrHidden)
    }

    @Test func `a 404 is not the end if the page before announces more`() async throws {
        practice.simulation.faults.add(.status(200, body: #"{"items": [{"id": 1, "title": "a"}], "more": true}"#))
        practice.simulation.faults.add(.status(404, body: "{}"))
        practice.simulation.faults.add(.status(200, body: #"{"items": [{"id": 1, "title": "a"}], "more": true}"#))
        let failure = await practice.failure([
            "path": "page", "items": "items", "paging": ["by": "page", "more": "more", "end": "not_found"],
        ])
        #expect(failure?.reason == .goneOrHidden)
    }

    @Test func `a list that is emptied between two pages does not end at the first`() async throws {
        _ = add(4)
        // The second page is gone, and at the second reading the first is gone too.
        api.quirks = [.missesPages, .shrinking]
        let settings: JSON.Object = [
            "path": "page", "items": "items",
            "paging": ["by": "page", "size": 3, "size_parameter": "per_page", "end": "not_found"],
        ]
        let failure = await practice.failure(settings)
        #expect(failure?.reason == .badAnswer && failure?.message.contains("has changed meanwhile") == true)
        api.quirks = [.missesPages]
        let source = try await practice.source(settings)
        practice.simulation.faults.add(.status(404, body: "{}"), skip: 1, times: 2)
        #expect(await BellhopConnectorsTests.failure { _ = try await source.list(from: LastPoll()) }?.reason == .goneOrHidden)
    }

    @Test func `a number too large for a double and a byte order mark are accepted`() async throws {
        let body =
            "\u{FEFF}" + #"[{"id": 1, "n": 1e999, "title": "a"}, {"id": 12345678901234567890123456789, "n": 2, "title": "b"}]"#
        practice.simulation.faults.add(.status(200, body: body), times: nil)
        let source = try await practice.source(["path": "list", "fields": ["n": "n", "m": ["path": "n", "type": "double"]]])
        let listing = try await source.list(from: LastPoll()).listing
        let keys = listing.entries.map(\.key)
        #expect(keys.map(\.text) == ["1", "12345678901234567890123456789"])
        let snapshots = try await source.details(of: keys, in: listing).snapshots
        #expect(snapshots[keys[0]]?.fields == ["n": "1e999", "m": .null])
        #expect(snapshots[keys[1]]?.fields == ["n": "2", "m": 2.0])
    }

    @Test func `more pages than allowed fail the poll`() async {
        _ = add(9)
        let failure = await practice.failure([
            "path": "page", "items": "items", "paging": ["by": "page", "size": 2, "size_parameter": "per_page", "max_pages": 3],
        ])
        #expect(failure?.message.contains("more than 3 pages") == true)
    }

    // MARK: Invalid answers

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
            (.redirect(to: "http://127.0.0.1:1/x"), .refused, "to other hosts"),
            (.status(200, body: "{}"), .badAnswer, "an array"), (.status(200, body: #"{"a": []}"#), .badAnswer, "an array"),
            (.status(200, body: "null"), .badAnswer, "cannot be"),
            (.status(202, body: "[]"), .badAnswer, "202"), (.status(206, body: "[]"), .badAnswer, "206"),
            (.status(204, body: ""), .badAnswer, "204"), (.status(304, body: ""), .badAnswer, "unexpected 304"),
            (.status(404, body: "gone"), .goneOrHidden, "404"), (.status(401, body: ""), .unauthenticated, "401"),
        ] as [(Fault, Failure.Reason, String)])
    func `an invalid answer fails the poll with its reason`(_ fault: Fault, _ reason: Failure.Reason, _ words: String) async {
        _ = add(4)
        practice.simulation.faults.add(fault)
        let failure = await practice.failure(["path": "list"], connection: ["auth": ["bearer": "s3cret-token"]])
        #expect(failure?.reason == reason, "\(failure?.message ?? "none")")
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "none")")
        #expect(failure?.message.contains("s3cret") == false)
        #expect(practice.simulation.requests.total == 1)
    }

    @Test func `an empty error beside the items is ignored`() async throws {
        practice.simulation.faults.add(.status(200, body: #"{"error": null, "errors": [], "items": [{"id": 1, "title": "a"}]}"#))
        #expect(try await practice.titles(["path": "page", "items": "items"]) == ["a"])
    }

    @Test func `an answer over max_body is refused`() async {
        _ = add(50)
        let failure = await practice.failure(["path": "list"], connection: ["max_body": 1000])
        #expect(failure?.reason == .tooLarge)
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
            (["path": "a", "paging": ["by": "link", "end": "not_found"]], "paging.end"),
            (["path": "a", "paging": ["by": "page", "size_parameter": "x"]], "paging.size"),
        ] as [(JSON.Object, String)])
    func `invalid settings of a source are refused by name`(_ settings: JSON.Object, _ setting: String) throws {
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
    func `invalid settings of a connection are refused`(_ settings: JSON.Object) {
        #expect(throws: ConnectorError.self) {
            try WebConnection(name: "api", settings: Settings(settings), in: practice.environment)
        }
    }

    @Test func `a source's memory depends on its request, without the secrets`() throws {
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
