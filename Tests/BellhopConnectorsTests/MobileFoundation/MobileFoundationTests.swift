import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// A Mobile Foundation runtime with a confidential client, on the network; time stands still.
struct MobileFoundationPractice {
    static let secret = "s3cret & more"
    let clock = TestClock()
    let simulation: Simulation
    let notebook = MemoryNotebook()
    let events = EventLog()

    var runtime: SimulatedMobileFoundation { simulation.mobileFoundation }

    init() {
        let clock = clock
        simulation = Simulation { clock.now.microseconds }
        runtime.addClient("bellhop", secret: Self.secret, scopes: ["orders", "write"])
    }

    func open<Value: Sendable>(
        secret: String = MobileFoundationPractice.secret, _ more: JSON.Object = [:],
        _ body: (MobileFoundationConnection, String) async throws -> Value
    ) async throws -> Value {
        try await simulation.serve { address in
            var values: JSON.Object = [
                "address": .string(address), "client_id": "bellhop", "client_secret": .string(secret),
                "external": .array([.string(address)]),
            ]
            for (name, value) in more { values[name] = value }
            let environment = ConnectorEnvironment(
                clock: clock, events: events, notebook: notebook, login: { _ in nil }, baseFolder: "", output: { _ in },
                random: { 42 })
            let connection = try MobileFoundationConnection(name: "mfp", settings: Settings(values), environment: environment)
            do {
                let value = try await body(connection, address)
                try await connection.shutdown()
                return value
            } catch {
                try await connection.shutdown()
                throw error
            }
        }
    }

    func call(
        _ connection: MobileFoundationConnection, _ arguments: JSON.Object, attempt: Attempt? = nil
    ) async throws -> Receipt {
        let delivery = Delivery(
            id: .init(occasion: Occasion.ID("event/1"), rule: "call", step: StepPath(index: 0), receiver: "mfp"), revision: "1",
            action: "adapter", arguments: .values(arguments), task: nil, lane: "call", createdAt: clock.now)
        return try await AdapterAction(connection: connection).perform(
            delivery, attempt: attempt ?? Attempt(number: 1, now: clock.now))
    }
}

@Suite struct ChallengeTests {
    let practice = MobileFoundationPractice()
    private let orders: JSON.Object = ["adapter": "orders", "path": "list", "method": "GET"]

    private func statuses() -> Int { practice.simulation.requests.count(path: "/mfp/api/adapters") }

    @Test func `a resource that wants a token gets one, and the next request has it at once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            for _ in 1...3 { _ = try await practice.call(connection, orders) }
        }
        #expect(statuses() == 4)
        #expect(practice.runtime.counts.tokens == 1)
        #expect(practice.events.summary == ["login_event ok"])
        let token = try #require(practice.simulation.requests.matching("POST", path: "/mfp/api/az/v1/token").first)
        #expect(token.text == "grant_type=client_credentials&scope=RegisteredClient")
    }

    @Test func `scopes that are not enough are learnt from the challenge and asked for`() async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders", "write"]) { _ in .init(body: "[]") })
        practice.runtime.addAdapter("other", .init { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            for _ in 1...2 { _ = try await practice.call(connection, orders) }
            _ = try await practice.call(connection, ["adapter": "other", "method": "GET"])
        }
        #expect(
            practice.simulation.requests.matching(path: "/mfp/api/az").map(\.text) == [
                "grant_type=client_credentials&scope=RegisteredClient",
                "grant_type=client_credentials&scope=RegisteredClient%20orders%20write",
            ])
        #expect(practice.runtime.counts.calls == 3)
    }

    @Test func `scopes that the settings name are asked for from the start`() async throws {
        practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
        var arguments = orders
        arguments["scope"] = "orders"
        try await practice.open { connection, _ in _ = try await practice.call(connection, arguments) }
        #expect(statuses() == 1)
    }

    @Test func `a token that is not valid any more is replaced, and the request replayed once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            _ = try await practice.call(connection, orders)
            practice.runtime.revokeTokens()
            _ = try await practice.call(connection, orders)
        }
        #expect(statuses() == 4)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test func `tokens that are never valid are no loop`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        practice.runtime.setLifetime(0)
        let failure = await failure {
            try await practice.open { connection, _ in _ = try await practice.call(connection, orders) }
        }
        #expect(failure?.reason == .unauthenticated)
        #expect(statuses() == 3)
    }

    @Test func `a token is replaced before it ends`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            _ = try await practice.call(connection, orders)
            await practice.clock.advance(by: .seconds(3539))
            _ = try await practice.call(connection, orders)
            #expect(practice.runtime.counts.tokens == 1)
            await practice.clock.advance(by: .seconds(1))
            _ = try await practice.call(connection, orders)
        }
        #expect(practice.runtime.counts.tokens == 2)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `a refusal without a challenge is one, and so is a scope that the client may not have`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(403, body: "{}") })
        practice.runtime.addAdapter("secret", .init(scopes: ["admin"]) { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            let refusal = await failure { _ = try await practice.call(connection, orders) }
            #expect(refusal?.reason == .forbidden)
            #expect(refusal?.remedy == .giveUp)
            let scope = await failure { _ = try await practice.call(connection, ["adapter": "secret", "method": "GET"]) }
            #expect(scope?.reason == .forbidden)
            #expect(scope?.message.contains("RegisteredClient admin") == true)
        }
    }

    @Test func `a wrong secret is tried once, also after a restart`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        for _ in 1...2 {
            try await practice.open(secret: "wrong") { connection, _ in
                for _ in 1...2 {
                    let failure = await failure { _ = try await practice.call(connection, orders) }
                    #expect(failure?.reason == .unauthenticated)
                    #expect(failure?.remedy == .pauseConnection)
                }
            }
        }
        #expect(practice.runtime.counts.refusedClients == 1)
        #expect(practice.events.summary == ["login_event failed"])
        let name = try await practice.open { connection, _ in try await connection.verifyLogin() }
        #expect(name == "bellhop")
        #expect(practice.notebook.all.isEmpty)
    }

    @Test func `many who want the same token ask for it once`() async throws {
        practice.runtime.addAdapter("orders", .init { _ in .init(body: "[]") })
        try await practice.open { connection, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...8 { group.addTask { _ = try await practice.call(connection, orders) } }
                try await group.waitForAll()
            }
        }
        #expect(practice.runtime.counts.tokens == 1)
    }

    @Test(arguments: [true, false])
    func `a resource outside gets a token only when it asks for one`(_ challenges: Bool) async throws {
        practice.runtime.setExternal("[]", challenges: challenges)
        try await practice.open { connection, address in
            _ = try await practice.call(
                connection, ["address": .string(address + "/external/x?y=1"), "method": "GET", "query": ["z": 2]])
        }
        let requests = practice.simulation.requests.matching(path: "/external")
        #expect(requests.map { $0.header("Authorization") != nil } == (challenges ? [false, true] : [false]))
        #expect(requests.first?.query == "y=1&z=2")
    }

    @Test func `a server outside that the connection does not list is sent nothing`() async throws {
        try await practice.open { connection, _ in
            let failure = await failure {
                _ = try await practice.call(connection, ["address": "https://elsewhere.example.com/x", "method": "GET"])
            }
            #expect(failure?.reason == .badArguments)
        }
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
    func `challenges are read as they are written`(_ status: Int, _ field: String, _ expected: BearerChallenge?) {
        #expect(BearerChallenge(HTTPResponse(status: status, headers: ["WWW-Authenticate": field])) == expected)
    }

    @Test func `no secret is in any failure, event or note, whatever the server says`() async throws {
        let paths = ["/mfp/api/az", "/mfp/api/adapters"]
        for path in paths {
            for status in [200, 400, 401, 403, 500] {
                let practice = MobileFoundationPractice()
                practice.runtime.addAdapter("orders", .init(scopes: ["orders"]) { _ in .init(body: "[]") })
                try await practice.open { connection, _ in
                    _ = try await practice.call(connection, orders)
                    let basic = String(Base64.basic(username: "bellhop", password: MobileFoundationPractice.secret).dropFirst(6))
                    let secrets = practice.runtime.tokens + [MobileFoundationPractice.secret, basic]
                    let body = #"{"isSuccessful": false, "errors": ["\#(secrets.joined(separator: "\", \""))"]}"#
                    practice.simulation.faults.add(.status(status, body: body), path: path, times: nil)
                    if path == paths[0] { await practice.clock.advance(by: .seconds(4000)) }
                    let failure = await failure { _ = try await practice.call(connection, orders) }
                    #expect(failure != nil)
                    for text in [
                        "\(failure, default: "")", "\(practice.events.events)", "\(practice.notebook.all)", "\(connection)",
                    ] {
                        for secret in practice.runtime.tokens + secrets { #expect(!text.contains(secret), "\(path) \(status)") }
                    }
                }
            }
        }
    }
}

@Suite struct AdapterTests {
    let practice = MobileFoundationPractice()

    @Test func `a Java adapter gets path, query, form, headers and bodies as they are declared`() async throws {
        practice.runtime.addAdapter("java", .init { _ in .init(body: "{}") })
        let calls: [JSON.Object] = [
            [
                "adapter": "java", "method": "GET", "path": ["users", "a/b c"],
                "query": ["q": "x&y", "n": [1, 2], "none": .null],
            ],
            ["adapter": "java", "path": "/users/1", "form": ["height": 175], "headers": ["birthdate": "2015-06-06\r\nX: y"]],
            ["adapter": "java", "method": "PUT", "json": ["a": [1]]], ["adapter": "java", "text": "hé"],
            ["adapter": "java", "method": "DELETE", "path": "users/1"], ["adapter": "java", "data": "AP8="],
        ]
        try await practice.open { connection, _ in
            for arguments in calls { _ = try await practice.call(connection, arguments) }
        }
        let taken = practice.simulation.requests.matching(path: "/mfp/api/adapters").filter { $0.header("Authorization") != nil }
        #expect(
            taken.map { "\($0.method) \($0.path)" } == [
                "GET /mfp/api/adapters/java/users/a/b c", "POST /mfp/api/adapters/java/users/1", "PUT /mfp/api/adapters/java",
                "POST /mfp/api/adapters/java", "DELETE /mfp/api/adapters/java/users/1", "POST /mfp/api/adapters/java",
            ])
        #expect(taken[0].query == "q=x%26y&n=1&n=2")
        #expect(taken[1].text == "height=175")
        #expect(taken[1].header("birthdate") == "2015-06-06  X: y")
        #expect(taken[2].text == #"{"a":[1]}"#)
        #expect(taken[2].header("Content-Type") == "application/json")
        #expect(taken[3].text == "hé")
        #expect(taken[5].body == [0, 255])
    }

    @Test(arguments: ["GET", "POST"])
    func `a JavaScript adapter gets its arguments in order as strict JSON`(_ method: String) async throws {
        practice.runtime.addAdapter(
            "feed",
            .init(isJavaScript: true) { call in .init(body: #"{"isSuccessful": \#(call.arguments == ["\"it's\"", "2", "null"])}"#)
            })
        try await practice.open { connection, _ in
            _ = try await practice.call(
                connection, ["adapter": "feed", "procedure": "getFeed", "params": ["it's", 2, .null], "method": .string(method)])
        }
        let request = try #require(practice.simulation.requests.matching(method, path: "/mfp/api/adapters/feed/getFeed").last)
        #expect((method == "GET" ? request.query : request.text) == "params=%5B%22it%27s%22%2C2%2Cnull%5D")
    }

    @Test(arguments: [
        (
            #"{"isSuccessful": false, "statusCode": 500, "statusReason": "down", "errors": ["SOAP fault"]}"#,
            Failure.Reason.serverError, true
        ),
        (#"{"isSuccessful": false, "statusCode": 404, "errors": ["no such thing"]}"#, .refused, false),
        (#"{ "x": 1, "isSuccessful" : false }"#, .serverError, true),
    ])
    func `200 with isSuccessful false is the back end's failure`(
        _ body: String, _ reason: Failure.Reason, _ again: Bool
    ) async throws {
        practice.runtime.addAdapter("feed", .init(isJavaScript: true) { _ in .init(body: body) })
        try await practice.open { connection, _ in
            var arguments: JSON.Object = ["adapter": "feed", "procedure": "post"]
            let write = await failure { _ = try await practice.call(connection, arguments) }
            #expect(write?.reason == reason)
            #expect(write?.remedy == (again ? .unknownOutcome : .giveUp))
            if body.contains("SOAP") { #expect(write?.message.contains("SOAP fault") == true) }
            arguments["method"] = "GET"
            let read = await failure { _ = try await practice.call(connection, arguments) }
            #expect(read?.remedy == (again ? .retry(after: nil) : .giveUp))
        }
    }

    @Test func `the word in a text is no failure`() async throws {
        practice.runtime.addAdapter(
            "feed",
            .init { _ in .init(body: #"[{"id": 1, "note": "\"isSuccessful\": false"}, {"id": 2, "isSuccessful": false}]"#) })
        let entries = try await practice.open { connection, _ in
            try await AdapterSource(name: "feed", settings: Settings(["adapter": "feed", "id": "id"]), connection: connection)
                .list(after: nil).listing.entries
        }
        #expect(entries.count == 2)
    }

    @Test func `a call whose outcome nobody knows is not repeated unless it bears repetition`() async throws {
        practice.runtime.addAdapter("java", .init { _ in .init(body: "{}") })
        try await practice.open { connection, _ in
            _ = try await practice.call(connection, ["adapter": "java"])
            let start = practice.clock.now
            let second = Attempt(number: 2, now: start, firstStarted: start, lastUncertain: start)
            for (arguments, isHeld) in [
                (["adapter": "java"], true), (["adapter": "java", "method": "PUT"], false),
                (["adapter": "java", "repeatable": true], false),
                (["adapter": "java", "method": "PUT", "repeatable": false], true),
            ] as [(JSON.Object, Bool)] {
                practice.simulation.faults.add(.resetAfter, path: "/mfp/api/adapters/java", times: nil)
                let first = await failure { _ = try await practice.call(connection, arguments) }
                #expect(first?.remedy == (isHeld ? .unknownOutcome : .retry(after: nil)))
                practice.simulation.faults.removeAll()
                let asked = practice.simulation.requests.count()
                let again = await failure { _ = try await practice.call(connection, arguments, attempt: second) }
                #expect(again?.remedy == (isHeld ? .hold : nil))
                #expect((practice.simulation.requests.count() == asked) == isHeld)
            }
            // A person's retry counts from 1 again.
            _ = try await practice.call(
                connection, ["adapter": "java"], attempt: Attempt(number: 1, now: start, lastUncertain: start))
        }
    }

    @Test func `a back-end service is below the prefix that the configuration names`() async throws {
        practice.runtime.addService("resorts", .init { call in .init(body: "[]") })
        try await practice.open(["service_prefix": "services"]) { connection, _ in
            _ = try await practice.call(connection, ["service": "resorts", "path": "cities", "method": "GET"])
        }
        #expect(practice.simulation.requests.all.last?.path == "/mfp/api/services/resorts/cities")
    }

    @Test func `a source reads items, and its memory belongs to what is asked`() async throws {
        practice.runtime.addAdapter(
            "feed",
            .init(scopes: ["orders"], isJavaScript: true) { call in
                .init(
                    body:
                        #"{"isSuccessful": true, "resultSet": [{"ID": 7, "TITLE": "\#(call.arguments?.first?.dropFirst().dropLast() ?? "")", "N": 3}]}"#
                )
            })
        try await practice.open { connection, _ in
            var settings: JSON.Object = [
                "adapter": "feed", "procedure": "getFeed", "params": ["tag"], "items": "resultSet", "id": "ID", "title": "TITLE",
                "fields": ["n": ["path": "N", "type": "int"]], "query": ["key": "canary-in-query"],
            ]
            let source = try AdapterSource(name: "feed", settings: Settings(settings), connection: connection)
            let listing = try await source.list(after: nil).listing
            let task = try #require(try await source.details(of: ["7"], in: listing).snapshots["7"])
            #expect(task.title == "tag")
            #expect(task.className == "feed")
            #expect(task.fields == ["n": 3])
            #expect(source.scope.instance == connection.instance)
            #expect(!source.scope.query.contains("canary"))
            settings["params"] = ["other"]
            #expect(try AdapterSource(name: "feed", settings: Settings(settings), connection: connection).scope != source.scope)
        }
    }

    @Test(
        arguments: [
            ([:], "adapter"), (["adapter": "a", "service": "b"], "adapter"), (["adapter": "a/b"], "adapter"),
            (["adapter": ".."], "adapter"),
            (["adapter": "a", "procedure": "p/q"], "procedure"), (["adapter": "a", "procedure": "p", "path": "q"], "path"),
            (["adapter": "a", "path": "b/../../c"], "path"), (["adapter": "a", "path": "b/%2e%2e/c"], "path"),
            (["adapter": "a", "path": "b?c"], "path"),
            (["adapter": "a", "params": [1]], "params"), (["adapter": "a", "procedure": "p", "params": "['x']"], "params"),
            (["adapter": "a", "procedure": "p", "method": "PUT"], "method"),
            (["adapter": "a", "method": "GET", "text": "x"], "text"),
            (["adapter": "a", "json": [:], "text": "x"], "text"), (["adapter": "a", "data": "!"], "data"),
            (["adapter": "a", "headers": ["Authorization": "x"]], "headers"), (["address": "ftp://x/"], "address"),
        ] as [(JSON.Object, String)])
    func `what cannot be asked is told by the name of the argument`(_ arguments: JSON.Object, _ setting: String) {
        do throws(AdapterRequest.Problem) {
            _ = try AdapterRequest(arguments, method: "POST")
            Issue.record("this can be asked")
        } catch {
            #expect(error.setting == setting)
        }
    }
}
