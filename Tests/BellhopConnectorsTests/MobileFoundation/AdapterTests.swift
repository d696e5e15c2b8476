import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct AdapterTests {
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
        let connection = try await practice.open()
        for arguments in calls { _ = try await practice.call(connection, arguments) }
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
        let connection = try await practice.open()
        _ = try await practice.call(
            connection, ["adapter": "feed", "procedure": "getFeed", "params": ["it's", 2, .null], "method": .string(method)])
        let request = try #require(practice.simulation.requests.matching(method, path: "/mfp/api/adapters/feed/getFeed").last)
        #expect((method == "GET" ? request.query : request.text) == "params=%5B%22it%27s%22%2C2%2Cnull%5D")
    }

    @Test func `a person's retry of a call is not held for an earlier uncertain attempt`() async throws {
        let now = practice.clock.now
        practice.runtime.addAdapter("feed", .init(isJavaScript: true) { _ in .init(body: #"{"isSuccessful": true}"#) })
        let arguments: JSON.Object = ["adapter": "feed", "procedure": "post"]
        func doubtful(_ number: Int) -> Attempt { Attempt(number: number, now: now, firstStarted: now, lastUncertain: now) }
        let connection = try await practice.open()
        let held = await failure { _ = try await practice.call(connection, arguments, attempt: doubtful(2)) }
        #expect(held?.remedy == .hold)
        practice.simulation.faults.add(.tooManyRequests(.unspecified), path: "/mfp/api/adapters/feed/post")
        let failed = await failure { _ = try await practice.call(connection, arguments, attempt: doubtful(1)) }
        #expect(failed?.reason == .throttled)
        _ = try await practice.call(connection, arguments, attempt: doubtful(2))
    }

    @Test(arguments: [
        (
            #"{"isSuccessful": false, "statusCode": 500, "statusReason": "down", "errors": ["SOAP fault"]}"#,
            Failure.Reason.serverError, true
        ),
        (#"{"isSuccessful": false, "statusCode": 404, "errors": ["no such thing"]}"#, .refused, false),
        (#"{ "x": 1, "isSuccessful" : false }"#, .serverError, true),
        (#"{"isSuccessful": "false"}"#, .serverError, true), (#"{"isSuccessful": " False"}"#, .serverError, true),
        (#"{"isSuccessful": 0}"#, .serverError, true), (#"{"isSuccessful": "0"}"#, .serverError, true),
        (#"{"isSuccessful": "no"}"#, .serverError, true), (#"{"isSuccessful": []}"#, .serverError, true),
        ("\u{FEFF}" + #"{"isSuccessful": false}"#, .serverError, true),
    ])
    func `a 200 whose isSuccessful is not true is a failure of the back end`(
        _ body: String, _ reason: Failure.Reason, _ again: Bool
    ) async throws {
        practice.runtime.addAdapter("feed", .init(isJavaScript: true) { _ in .init(body: body) })
        let connection = try await practice.open()
        var arguments: JSON.Object = ["adapter": "feed", "procedure": "post"]
        let write = await failure { _ = try await practice.call(connection, arguments) }
        #expect(write?.reason == reason)
        #expect(write?.remedy == (again ? .hold : .giveUp))
        if body.contains("SOAP") { #expect(write?.message.contains("SOAP fault") == true) }
        arguments["method"] = "GET"
        let read = await failure { _ = try await practice.call(connection, arguments) }
        #expect(read?.remedy == (again ? .retry(after: nil) : .giveUp))
    }

    @Test func `isSuccessful counts only at the top level of an answer`() async throws {
        practice.runtime.addAdapter(
            "feed",
            .init { _ in .init(body: #"[{"id": 1, "note": "\"isSuccessful\": false"}, {"id": 2, "isSuccessful": false}]"#) })
        let entries = try await AdapterSource(
            name: "feed", settings: Settings(["adapter": "feed", "id": "id"]), connection: practice.open()
        ).list(from: LastPoll()).listing.entries
        #expect(entries.count == 2)
    }

    @Test func `a call with an unknown outcome is repeated only if it is marked as repeatable`() async throws {
        practice.runtime.addAdapter("java", .init { _ in .init(body: "{}") })
        let connection = try await practice.open()
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
            #expect(first?.remedy == (isHeld ? .hold : .retry(after: nil)))
            practice.simulation.faults.removeAll()
            let asked = practice.simulation.requests.count()
            let again = await failure { _ = try await practice.call(connection, arguments, attempt: second) }
            #expect(again?.remedy == (isHeld ? .hold : nil))
            #expect((practice.simulation.requests.count() == asked) == isHeld)
        }
        // A person's retry counts attempts from 1 again.
        _ = try await practice.call(
            connection, ["adapter": "java"], attempt: Attempt(number: 1, now: start, lastUncertain: start))
    }

    @Test func `a call is sent again over another socket only if it may be repeated`() async throws {
        practice.runtime.addAdapter("java", .init { _ in .init(body: "{}") })
        let connection = try await practice.open()
        for (arguments, times) in [
            (["adapter": "java"], 1), (["adapter": "java", "repeatable": true], 2), (["adapter": "java", "method": "GET"], 2),
            (["adapter": "java", "method": "GET", "repeatable": false], 1),
        ] as [(JSON.Object, Int)] {
            // So that the next call uses a socket that was used before.
            _ = try await practice.call(connection, ["adapter": "java"])
            let asked = practice.simulation.requests.count()
            practice.simulation.faults.add(.resetAfter, path: "/mfp/api/adapters/java", times: nil)
            _ = await failure { _ = try await practice.call(connection, arguments) }
            #expect(practice.simulation.requests.count() - asked == times)
            practice.simulation.faults.removeAll()
        }
    }

    @Test func `an adapter's answer can be checked and kept, as JSON or as text`() async throws {
        practice.runtime.addAdapter(
            "java", .init { call in .init(body: call.path == "text" ? "OK 17" : #"{"order": {"id": 5}}"#) })
        let connection = try await practice.open()
        let json = try await practice.call(connection, ["adapter": "java", "path": "json", "receipt": "order.id"])
        #expect(json.summary.hasSuffix("): 5"))
        let text = try await practice.call(connection, ["adapter": "java", "path": "text", "receipt": "order.id"])
        #expect(text.summary.hasSuffix("): OK 17"))
        let wrong = await failure {
            _ = try await practice.call(connection, ["adapter": "java", "path": "json", "check": ["order.id": 6]])
        }
        #expect(wrong?.reason == .refused && wrong?.message.contains("`order.id` is 5, not 6") == true)
        let status = await failure {
            _ = try await practice.call(connection, ["adapter": "java", "path": "json", "expect": 201])
        }
        #expect(status?.reason == .badAnswer)
    }

    @Test func `a call that exceeds its timeout is ended`() async throws {
        practice.runtime.addAdapter("java", .init { _ in .init(body: "{}") })
        let connection = try await practice.open()
        _ = try await practice.call(connection, ["adapter": "java"])
        practice.simulation.faults.add(.slow(milliseconds: 20_000), path: "/mfp/api/adapters")
        // Time to send the call, also on a busy machine.
        let late = await failure { _ = try await practice.call(connection, ["adapter": "java", "timeout": 2_000_000]) }
        #expect(late?.reason == .timeout && late?.remedy == .hold, "\(late?.message ?? "none")")
    }

    @Test func `an answer that is not the expected list fails the poll`() async throws {
        practice.runtime.addAdapter("feed", .init { _ in .init(202, body: "[]") })
        let source = try await AdapterSource(
            name: "feed", settings: Settings(["adapter": "feed", "id": "id"]), connection: practice.open())
        let found = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(found?.reason == .badAnswer)
    }

    @Test func `adapter requests read their arguments by the same rules as other requests`() throws {
        for (arguments, body) in [
            (["json": .null, "text": "x"], "x"), (["text": .null, "json": [1]], "[1]"), (["data": "aG\n k="], "hi"),
            (["form": .null], ""),
            (["json": .null], ""),
        ] as [(JSON.Object, String)] {
            var arguments = arguments
            let parts = try RequestArguments(arguments, method: "POST")
            arguments["adapter"] = "java"
            let request = try AdapterRequest(arguments, method: "POST")
            #expect(request.arguments == parts)
            #expect(String(decoding: parts.body ?? [], as: UTF8.self) == body)
        }
    }

    @Test func `the path of a back-end service begins with the configured prefix`() async throws {
        practice.runtime.addService("resorts", .init { call in .init(body: "[]") })
        let connection = try await practice.open(["service_prefix": "services"])
        _ = try await practice.call(connection, ["service": "resorts", "path": "cities", "method": "GET"])
        #expect(practice.simulation.requests.all.last?.path == "/mfp/api/services/resorts/cities")
    }

    @Test func `a source reads items, and its memory depends on the request`() async throws {
        practice.runtime.addAdapter(
            "feed",
            .init(scopes: ["orders"], isJavaScript: true) { call in
                .init(
                    body:
                        #"{"isSuccessful": true, "resultSet": [{"ID": 7, "TITLE": "\#(call.arguments?.first?.dropFirst().dropLast() ?? "")", "N": 3}]}"#
                )
            })
        let connection = try await practice.open()
        var settings: JSON.Object = [
            "adapter": "feed", "procedure": "getFeed", "params": ["tag"], "items": "resultSet", "id": "ID", "title": "TITLE",
            "fields": ["n": ["path": "N", "type": "int"]], "query": ["key": "canary-in-query"],
        ]
        let source = try AdapterSource(name: "feed", settings: Settings(settings), connection: connection)
        let answer = try await source.list(from: LastPoll())
        let listing = answer.listing
        let task = try #require(try await source.details(of: ["7"], in: listing).snapshots["7"])
        #expect(task.title == "tag")
        #expect(task.className == "feed")
        #expect(task.fields == ["n": 3])
        #expect(source.scope.instance == connection.instance)
        #expect(!source.scope.query.contains("canary"))
        settings["fields"] = ["n": "N"]
        let other = try AdapterSource(name: "feed", settings: Settings(settings), connection: connection)
        #expect(other.redefined(since: source) == ["n"])
        settings["params"] = ["other"]
        #expect(try AdapterSource(name: "feed", settings: Settings(settings), connection: connection).scope != source.scope)
    }

    @Test(
        arguments: [
            ([:], "adapter"), (["adapter": "a", "service": "b"], "adapter"), (["adapter": "a/b"], "adapter"),
            (["adapter": ".."], "adapter"),
            (["adapter": "a", "procedure": "p/q"], "procedure"), (["adapter": "a", "procedure": "p", "path": "q"], "path"),
            (["adapter": "a", "path": "b/../../c"], "path"), (["adapter": "a", "path": "b/%2e%2e/c"], "path"),
            (["adapter": "a", "path": ["b", "x/../../admin"]], "path"), (["adapter": "a", "path": "b%2F..%2F..%2Fc"], "path"),
            (["adapter": "a", "path": ["b", ""]], "path"),
            (["adapter": "a", "path": "b?c"], "path"),
            (["adapter": "a", "params": [1]], "params"), (["adapter": "a", "procedure": "p", "params": "['x']"], "params"),
            (["adapter": "a", "procedure": "p", "method": "PUT"], "method"),
            (["adapter": "a", "method": "GET", "text": "x"], "text"),
            (["adapter": "a", "json": [:], "text": "x"], "text"), (["adapter": "a", "data": "!"], "data"),
            (["adapter": "a", "headers": ["Authorization": "x"]], "headers"), (["address": "ftp://x/"], "address"),
        ] as [(JSON.Object, String)])
    func `an argument that cannot be sent is reported by name`(_ arguments: JSON.Object, _ setting: String) {
        do throws(AdapterRequest.Problem) {
            _ = try AdapterRequest(arguments, method: "POST")
            Issue.record("the request was accepted")
        } catch { #expect(error.setting == setting) }
    }
}
