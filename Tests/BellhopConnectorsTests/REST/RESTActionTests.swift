import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct RESTActionTests {
    let practice = WebPractice()
    var api: SimulatedAPI { practice.api }

    private func perform(
        _ arguments: JSON.Object, connection: JSON.Object = [:], times: Int = 1, attempt: Attempt = SampleDelivery.first
    ) async throws -> Receipt {
        let connection = try await practice.open(connection)
        let action = try #require(connection.action("rest"))
        let delivery = SampleDelivery.make("rest", .values(arguments), to: "api")
        for _ in 1..<times { _ = try? await action.perform(delivery, attempt: attempt) }
        return try await action.perform(delivery, attempt: attempt)
    }

    private func failure(
        _ arguments: JSON.Object, connection: JSON.Object = [:], attempt: Attempt = SampleDelivery.first
    ) async -> Failure? {
        await BellhopConnectorsTests.failure { _ = try await perform(arguments, connection: connection, attempt: attempt) }
    }

    @Test func `an issue is created, and its id is in the receipt`() async throws {
        let receipt = try await perform(
            ["path": "issues", "json": ["title": "Fan broken", "priority": 1], "check": ["state": "open"], "receipt": "id"])
        #expect(api.issues.map(\.title) == ["Fan broken"])
        #expect(receipt.summary.hasPrefix("201 from api (127.0.0.1:"))
        #expect(receipt.summary.hasSuffix("): 1"))
    }

    @Test func `after a lost answer a repeatable request is repeated with the same key, and takes effect once`() async throws {
        practice.simulation.faults.add(.resetAfter)
        _ = try await perform(["path": "issues", "json": ["title": "once"], "repeatable": true], times: 2)
        #expect(api.issues.count == 1 && api.writes == 1)
        let keys = practice.simulation.requests.all.map { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] == keys[1])
        #expect(keys[0] == SampleDelivery.make("rest", .values([:]), to: "api").id.text)
    }

    @Test func `a delivery whose answer was lost is held, unless the request is repeatable`() async {
        api.add("a")
        for (method, path, repeatable, remedy) in [
            ("POST", "issues", nil, Failure.Remedy.hold), ("PATCH", "issues/1", nil, .hold),
            ("PUT", "issues/1", nil, .retry(after: nil)),
            ("POST", "issues", true, .retry(after: nil)), ("PUT", "issues/1", false, .hold),
        ] as [(String, String, Bool?, Failure.Remedy)] {
            var arguments: JSON.Object = ["method": .string(method), "path": .string(path), "json": ["title": "b"]]
            arguments["repeatable"] = repeatable.map { .bool($0) }
            for fault in [Fault.resetAfter, .internalError, .badGateway] {
                practice.simulation.faults.add(fault)
                let failure = await failure(arguments)
                #expect(failure?.remedy == remedy, "\(method) \(fault): \(failure?.message ?? "none")")
            }
        }
        for fault in [Fault.status(501, body: ""), .status(503, body: "")] {
            practice.simulation.faults.add(fault)
            let failure = await failure(["path": "issues", "json": ["title": "b"]])
            #expect(failure?.remedy == .retry(after: nil), "\(fault)")
        }
    }

    @Test func `a request that an earlier attempt may have sent is held, unless it is repeatable`() async throws {
        let now = SampleDelivery.now
        let second = Attempt(number: 2, now: now, firstStarted: now, lastUncertain: now)
        let post: JSON.Object = ["path": "issues", "json": ["title": "once"]]
        let found = await failure(post, attempt: second)
        #expect(found?.reason == .notWritten && found?.remedy == .hold)
        #expect(found?.message.contains("repeatable: true") == true)
        #expect(practice.simulation.requests.total == 0)
        // One certainly not received, and a person's retry, which counts attempts from 1 again.
        for attempt in [
            Attempt(number: 2, now: now, firstStarted: now), Attempt(number: 1, now: now, firstStarted: now, lastUncertain: now),
        ] { _ = try await perform(post, attempt: attempt) }
        _ = try await perform(["path": "issues", "json": ["title": "again"], "repeatable": true], attempt: second)
        _ = try await perform(["method": "PUT", "path": "issues/1", "json": ["title": "c"]], attempt: second)
        #expect(practice.simulation.requests.total == 4)
    }

    @Test func `a person's retry settles all uncertain attempts before it, and no later ones`() async throws {
        let now = SampleDelivery.now
        let post: JSON.Object = ["path": "issues", "json": ["title": "once"]]
        // A person ordered a retry. The server refuses for now, which shows that the request had no effect.
        practice.simulation.faults.add(.tooManyRequests(.unspecified))
        let first = await failure(post, attempt: Attempt(number: 1, now: now, firstStarted: now, lastUncertain: now))
        #expect(first?.reason == .throttled)
        #expect(!practice.notebook.all.isEmpty)
        // The next attempt is made by another process, after no further uncertain attempt.
        let doubtful = now + .seconds(60)
        let later = await failure(post, attempt: Attempt(number: 2, now: doubtful, firstStarted: now, lastUncertain: doubtful))
        #expect(later?.remedy == .hold)
        _ = try await perform(post, attempt: Attempt(number: 2, now: doubtful, firstStarted: now, lastUncertain: now))
        #expect(api.issues.count == 1)
    }

    @Test func `a server that sets too many cookies gets back at most 16 KB of them`() async throws {
        api.quirks = [.hoardsCookies]
        api.add("a")
        let connection = try await practice.open()
        let source = try RESTSource(name: "issues", settings: Settings(["path": "list", "id": "id"]), connection: connection)
        for _ in 1...3 { _ = try await source.list(from: LastPoll()) }
        let action = try #require(connection.action("rest"))
        let delivery = SampleDelivery.make("rest", .values(["path": "issues", "json": ["title": "b"]]), to: "api")
        _ = try await action.perform(delivery, attempt: SampleDelivery.first)
        #expect(api.issues.map(\.title) == ["a", "b"])
        let request = try #require(practice.simulation.requests.matching("POST", path: "/rest/v1/issues").first)
        let cookie = try #require(request.header("Cookie"))
        #expect(cookie.utf8.count <= 16 << 10)
        // The newest cookies are kept.
        #expect(cookie.contains("c119=") && !cookie.contains("c0="))
    }

    @Test func `each method has its effect`() async throws {
        api.add("a")
        _ = try await perform(["method": "PUT", "path": ["issues", "1"], "json": ["title": "b"]])
        #expect(api.issues.first?.title == "b")
        _ = try await perform(["method": "GET", "path": "issues/1", "check": ["title": "b"]])
        _ = try await perform(["method": "DELETE", "path": "issues/1", "expect": 204, "headers": ["idempotency-key": "another"]])
        #expect(api.issues.isEmpty)
        #expect(practice.simulation.requests.all.map(\.method) == ["PUT", "GET", "DELETE"])
        #expect(practice.simulation.requests.all[1].header("Idempotency-Key") == nil)
    }

    @Test func `an answer without the required value is refused`() async {
        let failure = await failure(["path": "issues", "json": ["title": "a"], "check": ["state": "closed"]])
        #expect(failure?.reason == .refused && failure?.remedy == .giveUp)
        #expect(failure?.message.contains(#"`state` is "open", not "closed""#) == true, "\(failure?.message ?? "")")
    }

    @Test func `a value in a path cannot lead to another path`() async throws {
        api.add("a")
        #expect(await failure(["method": "DELETE", "path": ["issues", "1/2?x"]])?.reason == .goneOrHidden)
        #expect(practice.simulation.requests.all.last?.path == "/rest/v1/issues/1/2?x")
        for path in [
            "https://evil.example/x", "//evil.example", "a/../../admin", ["a", ".."], ["a", ""], ["issues", "1/../2"],
            ["a", "x/../../admin"], "a%2F..%2F..%2Fb", "a/%2e%2E/b", "a/%252e%252e/b", "a/..;x/b", "a\\..\\b", ["a", "..;/b"],
            ["a", "%2e%2e"],
        ] as [JSON] {
            let failure = await failure(["path": path])
            #expect(failure?.reason == .badArguments && failure?.remedy == .giveUp, "\(path)")
        }
        #expect(practice.simulation.requests.total == 1)
        for path in ["a...b/..c", "issues/1.", "a?b=../c", "x;y/z"] as [JSON] {
            #expect(await failure(["path": path])?.reason == .goneOrHidden, "\(path)")
        }
    }

    @Test func `a refused login pauses the connection`() async {
        api.requiredCredentials = .field("Authorization", "Bearer right")
        let failure = await failure(["path": "issues", "json": ["title": "a"]], connection: ["auth": ["bearer": "wrong"]])
        #expect(failure?.reason == .unauthenticated && failure?.remedy == .pauseConnection)
    }

    @Test func `a web page in place of an answer is not success`() async throws {
        let post: JSON.Object = ["path": "issues", "json": ["title": "a"]]
        practice.simulation.faults.add(.loginPage)
        let held = await failure(post)
        #expect(held?.reason == .unexpectedPage && held?.remedy == .hold)
        practice.simulation.faults.add(.loginPage)
        #expect(await failure(["method": "PUT", "path": "issues/1", "json": [:]])?.remedy == .retry(after: nil))
        practice.simulation.faults.add(.status(200, body: "<p>Thanks</p>"))
        _ = try await perform(["path": "issues", "json": ["title": "a"], "expect": 200])
    }

    @Test func `an answer that reports an error is not success, unless the step checks it itself`() async throws {
        let put: JSON.Object = ["method": "PUT", "path": "issues/1", "json": [:]]
        for body in [#"{"ok": 1, "errors": [{"message": "Not your issue"}]}"#, #"{"ok": 1, "error": "Not your issue"}"#] {
            practice.simulation.faults.add(.status(200, body: body))
            let held = await failure(["path": "graphql", "json": ["query": "mutation { … }"]])
            #expect(held?.reason == .serverError && held?.remedy == .hold)
            #expect(held?.message.contains("answered 200, but with an error: Not your issue.") == true)
            practice.simulation.faults.add(.status(200, body: body))
            #expect(await failure(put)?.remedy == .retry(after: nil))
            practice.simulation.faults.add(.status(200, body: body))
            _ = try await perform(JSON.Object(put, with: ["check": ["ok": 1]]))
        }
        practice.simulation.faults.add(.status(200, body: #"{"id": 1, "error": null, "errors": []}"#))
        _ = try await perform(put)
    }

    @Test func `a request with an oversized address or header is refused before it is sent`() async throws {
        let long = String(repeating: "x", count: 70_000)
        for arguments in [
            ["path": ["issues", .string(long)], "json": [:]], ["path": "issues", "query": ["q": .string(long)], "json": [:]],
            ["path": "issues", "headers": ["X-Long": .string(long)], "text": "x"],
        ] as [JSON.Object] {
            let failure = await failure(arguments)
            #expect(failure?.reason == .badArguments && failure?.remedy == .giveUp)
            #expect(failure?.message.contains("bytes") == true && failure?.message.utf8.count ?? 0 < 400)
        }
        #expect(practice.simulation.requests.total == 0)
        _ = try await perform(["path": "issues", "json": ["title": .string(String(long.prefix(30_000)))]])
        #expect(api.writes == 1)
    }

    @Test func `the text of an answer that is not JSON is in the receipt`() async throws {
        practice.simulation.faults.add(.status(200, body: "OK, made\n 17"))
        let receipt = try await perform(["path": "issues", "json": ["title": "a"], "receipt": "id"])
        #expect(receipt.summary.hasSuffix("): OK, made 17"))
    }

    @Test func `a secret repeated in an answer is removed from failures and receipts`() async throws {
        let connection: JSON.Object = [
            "auth": ["basic": ["username": "ada", "password": "pass/word \"1"]], "headers": ["X-Key": "k3y-of-mine"],
        ]
        let basic = String(Base64.basic(username: "ada", password: "pass/word \"1").dropFirst(6))
        let said = #"pass\/word \"1 k3y-of-mine pass%2Fword+%221 \#(basic)"#
        for (arguments, status) in [
            (["path": "issues", "text": "t", "receipt": "id"], 200), (["path": "issues", "text": "t", "check": ["id": 2]], 200),
            (["path": "issues", "text": "t"], 400),
        ] as [(JSON.Object, Int)] {
            practice.simulation.faults.add(.status(status, body: #"{"id": "\#(said)"}"#))
            var text = ""
            do { text = try await perform(arguments, connection: connection).summary } catch let failure as Failure {
                text = failure.message
            }
            #expect(text.contains(Redaction.mark), "\(text)")
            for word in ["word", "k3y", basic] { #expect(!text.contains(word), "\(text)") }
        }
    }

    @Test(
        arguments: [
            (.tooManyRequests(.seconds(30)), .throttled, .rest(.seconds(30))), (.internalError, .serverError, .hold),
            (.forbidden, .forbidden, .giveUp), (.redirect(to: "/rest/v1/issues"), .refused, .giveUp),
            (.status(301, body: ""), .refused, .giveUp), (.status(404, body: "{}"), .goneOrHidden, .giveUp),
        ] as [(Fault, Failure.Reason, Failure.Remedy)])
    func `a refused request fails with the reason and remedy of its status`(
        _ fault: Fault, _ reason: Failure.Reason, _ remedy: Failure.Remedy
    )
        async
    {
        practice.simulation.faults.add(fault)
        let failure = await failure(["path": "issues", "json": ["title": "a"]], connection: ["auth": ["bearer": "s3cret-token"]])
        #expect(failure?.reason == reason && failure?.remedy == remedy)
        #expect(api.writes == 0)
    }

    @Test(
        arguments: [
            ("Retry-After: 60", "{}", .seconds(60)),
            ("X-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 45", "{}", .seconds(45)),
            ("X-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 9", #"{"reason": "userRateLimitExceeded"}"#, nil),
            ("X-Other: 1", #"{"message": "You have exceeded a secondary rate limit."}"#, nil),
        ] as [(String, String, Duration?)])
    func `a 403 that reports a rate limit is a rest of the connection, not a refusal`(
        _ fields: String, _ body: String, _ wait: Duration?
    ) async throws {
        let head = "HTTP/1.1 403 Forbidden\r\n\(fields)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let address = try await FaultyServer.serve(.given, bytes: Array((head + body).utf8))
        let connection = try practice.connection(address, ["auth": ["bearer": "t0ken"]]).untilTestEnds()
        let delivery = SampleDelivery.make("rest", .values(["path": "issues", "json": [:]]), to: "api")
        let failure = await BellhopConnectorsTests.failure {
            _ = try await RESTAction(connection: connection).perform(delivery, attempt: SampleDelivery.first)
        }
        #expect(failure?.reason == .throttled && failure?.remedy == .rest(wait), "\(failure?.message ?? "none")")
        guard let wait else { return }
        let source = try RESTSource(name: "s", settings: Settings(["path": "list", "id": "id"]), connection: connection)
        let paused = await BellhopConnectorsTests.failure { _ = try await source.list(from: LastPoll()) }
        #expect(paused?.remedy == .rest(wait))
    }

    @Test func `credentials of the connection take precedence over a rule's own`() async throws {
        api.requiredCredentials = .field("Authorization", "Bearer right")
        _ = try await perform(
            ["path": "issues", "json": ["title": "a"], "headers": ["authorization": "Bearer wrong"]],
            connection: ["auth": ["bearer": "right"]])
        #expect(api.writes == 1)
    }
}
