import BellhopCore
import BellhopTesting
import Crypto
import Synchronization
import Testing

@testable import BellhopInbound

@Suite struct `Inbound requests` {
    let recorder = DeskRecorder()

    func answer(
        _ handler: InboundHandler, _ body: String, to path: String = "/in/deploys", token: String = "token",
        headers: [(String, String)] = []
    ) async -> InboundAnswer {
        let all = [("Authorization", "Bearer " + token)] + headers
        let request = InboundRequest(headers: all.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8))
        do throws(InboundAnswer) {
            let admission = try handler.admit(method: "POST", path: path, head: request, announced: nil)
            return await handler.answer(request, admission)
        } catch { return error }
    }

    private var events: [Event] { recorder.events }

    @Test func `a body becomes an event of the declared type`() async throws {
        let handler = recorder.handler(.events(fields: ["service": "app.name", "count": "n"], id: "app.id"))
        let body = #"{"app": {"name": "mail", "id": 7}, "n": "12", "ok": true, "more": [1], "other": 1}"#
        #expect(await answer(handler, body).status == 202)
        let event = try #require(events.first)
        #expect(event.type == EventType("deploy_finished"))
        #expect(event.source == "deploys")
        #expect(event.subject == "deploys/7")
        #expect(event.data == ["service": "mail", "count": 12, "ok": true, "more": [1]])
    }

    @Test func `a member of an event can be a header field, which is given once`() async {
        let handler = recorder.handler(
            .events(fields: ["more": "zen"], headers: ["service": "X-GitHub-Event", "count": "X-Count"]))
        let ping = await answer(
            handler, #"{"service": "other", "zen": "Keep it simple."}"#, headers: [("x-github-event", "ping"), ("X-Count", "3")])
        #expect(ping.status == 202)
        #expect(events.map(\.data) == [["service": "ping", "count": 3, "more": "Keep it simple."]])
        let twice = await answer(
            handler, #"{"zen": ""}"#, headers: [("X-GitHub-Event", "ping"), ("X-GitHub-Event", "push")])
        #expect(twice.status == 400 && twice.text == "The header field `X-GitHub-Event` is given more than once.")
    }

    @Test func `a header field of an event is refused if it is given twice, or if nothing else is given`() async {
        let definition = EventDefinition(
            EventType("deploy_finished"), "", from: .outside, [Setting("kind", .text, ""), Setting("ok", .boolean, "")])
        let both = recorder.handler(.events(definition: definition, headers: ["kind": "X-Kind"]))
        let twice = await answer(both, #"{"ok": true}"#, headers: [("X-Kind", "a"), ("x-kind", "b")])
        #expect(twice.status == 400 && twice.text == "The header field `X-Kind` is given more than once.")
        #expect(
            await answer(both, "{}").text
                == "The body has no value at `ok`, where the members of `deploy_finished` are expected. The header field `X-Kind` is missing."
        )
        let headers = ["kind": "X-Kind", "ok": "X-OK"]
        #expect(
            await answer(recorder.handler(.events(definition: definition, headers: headers)), "{}").text
                == "The header field `X-Kind` is missing. The header field `X-OK` is missing.")
        #expect(await answer(both, #"{"ok": true}"#).status == 202)
    }

    @Test func `without an id the source is the subject of an event`() async {
        let handler = recorder.handler(.events(id: "app.id"))
        for id in ["", #","app": {}"#, #","app": {"id": null}"#, #","app": {"id": ""}"#] {
            #expect(await answer(handler, #"{"service": "mail"\#(id)}"#).status == 202)
        }
        #expect(events.map(\.subject) == Array(repeating: "deploys", count: 4))
    }

    @Test func `each item of a list is an event`() async {
        let handler = recorder.handler(.events(items: "alerts"))
        #expect(await answer(handler, #"{"alerts": [{"service": "a"}, {"service": "b"}]}"#).status == 202)
        #expect(events.map { $0.data["service"] } == ["a", "b"])
        #expect(Set(events.map(\.id)).count == 2)
        #expect(await answer(handler, #"{"alerts": []}"#).status == 202)
        #expect(await answer(handler, #"{"alerts": {}}"#).status == 400)
    }

    @Test func `with an empty path the body itself is the list`() async {
        let handler = recorder.handler(.events(items: ""))
        #expect(await answer(handler, #"[{"service": "a"}, {"service": "b"}]"#).status == 202)
        #expect(events.map { $0.data["service"] } == ["a", "b"])
        let refused = await answer(handler, #"{"service": "a"}"#)
        #expect(refused.status == 400 && refused.text == "The body is not a list.")
    }

    @Test func `a whole number may be written as a decimal number`() async {
        let handler = recorder.handler(.events())
        #expect(await answer(handler, #"{"service": "a", "count": 5.0}"#).status == 202)
        #expect(events.map { $0.data["count"] } == [5])
    }

    @Test func `the challenge of Slack is sent back as it is to a known sender, and is not an event`() async {
        let handler = recorder.handler(.events(dedupKey: .path(JSON.Path(keys: ["event_id"]))))
        let body =
            #"{"token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", "type": "url_verification"}"#
        let verified = await answer(handler, body)
        #expect(verified.status == 200 && verified.body == "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P")
        let stranger = await answer(handler, body, token: "other")
        #expect(stranger.status == 401 && !stranger.body.contains("3eZ"))
        let push = recorder.handler(.push)
        #expect(await answer(push, body, to: "/in/snow").body == verified.body)
        #expect(recorder.polled.isEmpty)
        for other in ["", "{}"] { #expect(await answer(push, other, to: "/in/snow").status == 202) }
        #expect(await answer(handler, #"{"service": "a", "event_id": "1", "challenge": "x"}"#).status == 202)
        #expect(events.count == 1)
    }

    @Test func `a body can be a form, or a form with JSON in its only field payload`() async {
        let handler = recorder.handler(.events())
        let form = [("Content-Type", "application/x-www-form-urlencoded")]
        #expect(await answer(handler, "service=mail+server%21&ok=true", headers: form).status == 202)
        #expect(await answer(handler, "payload=%7B%22service%22%3A%22x%22%7D", headers: form).status == 202)
        #expect(events.map(\.data) == [["service": "mail server!", "ok": true], ["service": "x"]])
    }

    @Test func `a form that is not UTF-8 is refused`() async {
        let handler = recorder.handler(.events())
        let form = [("Content-Type", "application/x-www-form-urlencoded")]
        for body in ["service=%ff", "service=a&%C0%A0=b", "service=%ED%A0%80"] {
            let refused = await answer(handler, body, headers: form)
            #expect(refused.status == 400 && refused.text == "The form is not UTF-8.", "\(body): \(refused)")
        }
        #expect(await answer(handler, "service=%C3%A9%zz", headers: form).status == 202)
        func send(_ encoding: String, token: String = "token") async -> InboundAnswer {
            await answer(handler, #"{"service": "a"}"#, token: token, headers: [("Content-Encoding", encoding)])
        }
        let refused = await send("gzip")
        #expect(refused.status == 415 && refused.text.contains("send it uncompressed"))
        #expect(await send("gzip", token: "other").status == 401)
        #expect(await send("identity").status == 202)
    }

    @Test func `the mistakes of a known sender do not use up the budget of strangers`() async {
        let check = SignatureCheck(keys: [[1, 2, 3]], header: "X-Signature")
        let signed = InboundEndpoint(
            path: "/in/snow", key: .signature(check), purpose: .push(source: "my-work"), largestBody: 10,
            rate: Rate(count: 1000, per: .seconds(60)))
        let handler = recorder.handler(signed, .events(), unknownSenders: Rate(count: 2, per: .seconds(60)))
        let code = Hexadecimal.text(
            Array(HMAC<SHA256>.authenticationCode(for: Array("x".utf8), using: SymmetricKey(data: [1, 2, 3] as [UInt8]))))
        for _ in 0..<20 {
            // A compressed body is signed as it is sent.
            let headers = [("X-Signature", code), ("Content-Encoding", "gzip")]
            #expect(refusal(handler, headers: headers)?.status == nil)
            let compressed = await answer(handler, "x", to: "/in/snow", headers: headers)
            #expect(compressed.status == 415 && compressed.isToKnownSender)
            let other = await answer(handler, "x", headers: [("Content-Encoding", "gzip")])
            #expect(other.status == 415 && other.isToKnownSender)
            #expect(refusal(handler, "POST", "/in/deploys", announced: 1001)?.status == 413)
        }
        let wrong = [("X-Signature", String(code.reversed())), ("Content-Encoding", "gzip")]
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(await answer(handler, "x", to: "/in/snow", headers: wrong).status) }
        #expect(statuses == [401, 401, 429])
        // Only its body would show who sends this.
        #expect(refusal(handler, headers: wrong, announced: 11)?.status == 429)
    }

    @Test func `large bodies of unknown senders share a limited amount of memory, which is free again afterwards`() {
        let room = BodyRoom(largestBody: 20_000_000)
        func take(_ sizes: Int...) -> [Bool] {
            var one = room.share()
            var two = room.share()
            var three = room.share()
            // Bytes that are free of charge for each.
            let free = BodyRoom.free
            let (first, second) = (one.grow(to: sizes[0] + free), two.grow(to: sizes[1] + free))
            return [first, second, three.grow(to: sizes[2] + free), three.grow(to: free)]
        }
        for _ in 0..<2 {
            #expect(take(20_000_000, 20_000_000, 1) == [true, true, false, true])
            #expect(take(20_000_000, 20_000_001, 20_000_000) == [true, false, true, true])
        }
        var grows = room.share()
        #expect(grows.grow(to: 30_000_000) && grows.grow(to: 40_000_000) && !grows.grow(to: 41_000_000))
        var small = BodyRoom(largestBody: 1000).share()
        #expect(small.grow(to: 32_000_000) && !small.grow(to: 33_000_000))
    }

    @Test func `an unreadable request is refused with 400`() async {
        let handler = recorder.handler(.events())
        for body in [
            "", "{", "[]", #"{"ok": true}"#, #"{"service": {}}"#, #"{"service": "a", "count": 1.5}"#,
            #"{"service": "a", "ok": 1}"#,
        ] { #expect(await answer(handler, body).status == 400, "\(body)") }
        #expect(events.isEmpty)
    }

    @Test func `a body without any member of its event is refused, and the answer names the members`() async {
        let definition = EventDefinition(
            EventType("deploy_finished"), "", from: .outside, [Setting("service", .text, ""), Setting("ok", .boolean, "")])
        let fields = ["service": "app.name"]
        let handler = recorder.handler(.events(definition: definition, fields: fields))
        for body in ["{}", "[]", "7", #"{"service": "a", "other": 1}"#] {
            let refused = await answer(handler, body)
            #expect(refused.status == 400)
            #expect(
                refused.text == "The body has no value at `app.name`, `ok`, where the members of `deploy_finished` are expected.")
        }
        // One wrong item refuses the whole body, because the sender could not know which items were accepted.
        let list = recorder.handler(.events(definition: definition, items: "all", fields: fields))
        #expect(await answer(list, #"{"all": [{"ok": true}, {}]}"#).status == 400)
        #expect(events.isEmpty)
        #expect(await answer(handler, #"{"ok": null}"#).status == 202)
        let empty = EventDefinition(EventType("deploy_finished"), "", from: .outside, [])
        #expect(await answer(recorder.handler(.events(definition: empty, fields: fields)), "{}").status == 202)
    }

    @Test func `a repeated delivery id is the same event, and a missing id is refused`() async {
        for (dedupKey, headers, body) in [
            (EventReading.DedupKey.path(JSON.Path(keys: ["id"])), [], #"{"service": "a", "id": "x"}"#),
            (.header("X-GitHub-Delivery"), [("X-GitHub-Delivery", "x")], #"{"service": "a"}"#),
        ] {
            let recorder = DeskRecorder()
            let handler = recorder.handler(.events(dedupKey: dedupKey))
            for _ in 0..<2 { #expect(await answer(handler, body, headers: headers).status == 202) }
            let ids = recorder.events.map(\.id)
            #expect(ids.count == 2 && ids[0] == ids[1])
            #expect(await answer(handler, #"{"service": "a"}"#).status == 400)
        }
        let handler = recorder.handler(.events())
        for _ in 0..<2 { _ = await answer(handler, #"{"service": "a"}"#) }
        #expect(Set(events.map(\.id)).count == 2)
    }

    /// The number of different events of requests, each with its time, delivery id and body, signed with a secret.
    private func events(
        _ dedupKey: EventReading.DedupKey?, isTimed: Bool, _ requests: (time: Int64, id: String, body: String)...
    ) async -> Int {
        let secret = Array("secret".utf8)
        let rule = SignatureCheck.TimestampRule(.header("X-Time"), signed: "{timestamp}.{body}")
        var endpoint = InboundEndpoint.events(dedupKey: dedupKey)
        endpoint.key = .signature(SignatureCheck(keys: [secret], header: "X-Signature", timestamp: isTimed ? rule : nil))
        let recorder = DeskRecorder()
        let handler = recorder.handler(endpoint)
        let now = TestClock().now.microseconds / 1_000_000
        for request in requests {
            let signed = (isTimed ? "\(now + request.time)." : "") + request.body
            let code = Array(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: SymmetricKey(data: secret)))
            let hex = Hexadecimal.text(code)
            let headers = [("X-Signature", hex), ("X-Time", "\(now + request.time)"), ("X-Delivery", request.id)]
            #expect(await answer(handler, request.body, headers: headers).status == 202)
        }
        #expect(recorder.events.count == requests.count)
        return Set(recorder.events.map(\.id)).count
    }

    @Test func `a signed request that is sent again with another delivery id is the same event`() async {
        let (one, two) = (#"{"service": "a", "id": 1}"#, #"{"service": "a", "id": 2}"#)
        for isTimed in [false, true] {
            #expect(await events(.header("X-Delivery"), isTimed: isTimed, (0, "x", one), (0, "y", one)) == 1)
            #expect(await events(.header("X-Delivery"), isTimed: isTimed, (0, "x", one), (0, "y", two)) == 2)
            #expect(await events(.path(JSON.Path(keys: ["id"])), isTimed: isTimed, (0, "x", one), (0, "y", one)) == 1)
        }
        // The sender's own retry has a new time.
        #expect(await events(.header("X-Delivery"), isTimed: true, (0, "x", one), (1, "x", one)) == 1)
    }

    @Test(arguments: [("webhook-id", 2), ("X-Delivery", 1)])
    func `with Standard Webhooks the signed webhook-id can be the delivery id, and another field only repeats the event`(
        _ field: String, _ count: Int
    ) async {
        let secret = [UInt8](repeating: 7, count: 24)
        var endpoint = InboundEndpoint.events(dedupKey: .header(field))
        endpoint.key = .standardWebhooks([secret])
        let handler = recorder.handler(endpoint)
        let (body, time) = (#"{"service": "a"}"#, "\(TestClock().now.microseconds / 1_000_000)")
        for id in ["x", "y", "x"] {
            let signed = Array("\(id).\(time).\(body)".utf8)
            let code = Array(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret)))
            let headers = [
                ("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", "v1," + Base64.encode(code)),
                ("X-Delivery", id),
            ]
            #expect(await answer(handler, body, headers: headers).status == 202)
        }
        #expect(events.count == 3 && Set(events.map(\.id)).count == count)
    }

    @Test func `without dedup only the same signed time and body are the same event`() async {
        let body = #"{"service": "a"}"#
        #expect(await events(nil, isTimed: true, (0, "x", body), (0, "y", body)) == 1)
        #expect(await events(nil, isTimed: true, (0, "x", body), (1, "x", body)) == 2)
        #expect(await events(nil, isTimed: false, (0, "x", body), (0, "x", body)) == 2)
    }

    @Test func `while events cannot be stored, the sender is asked to retry`() async {
        let handler = recorder.handler(.events())
        recorder.fail(with: StoreError(.full, "The disk is full: /var/lib/secret."))
        let refused = await answer(handler, #"{"service": "a"}"#)
        #expect(refused.status == 503)
        #expect(refused.retryAfter != nil)
        #expect(!refused.text.contains("/var"))
        recorder.fail(with: nil)
        #expect(await answer(handler, #"{"service": "a"}"#).status == 202)
        #expect(events.count == 1)
    }

    @Test func `an unknown sender is refused before its body is parsed`() async {
        let handler = recorder.handler(.events(), .push)
        #expect(await answer(handler, "{", token: "tokem").status == 401)
        #expect(await answer(handler, "", to: "/in/snow", token: "").status == 401)
        #expect(recorder.polled.isEmpty)
    }

    @Test func `a body is one task, or each item of its list is a task`() async throws {
        func endpoint(_ items: String?) -> InboundEndpoint {
            InboundEndpoint(
                path: "/in/deploys", key: .bearer(["token"]),
                purpose: .tasks(TaskReading(source: "tickets", items: items.flatMap { JSON.Path(text: $0) })),
                rate: Rate(count: 100, per: .seconds(1)))
        }
        #expect(await answer(recorder.handler(endpoint(nil)), #"{"id": 1}"#).status == 202)
        let handler = recorder.handler(endpoint("data"))
        #expect(await answer(handler, #"{"data": [{"id": 1}, {"id": 2}]}"#).status == 202)
        #expect(await answer(handler, #"{"id": 1}"#).status == 400)
        #expect(recorder.state.withLock { $0.tasks } == [[["id": 1]], [["id": 1], ["id": 2]]])
        recorder.state.withLock { $0.failure = Failure(.badAnswer, .giveUp, "There is no id.") }
        #expect(await answer(handler, #"{"data": [{}]}"#).status == 400)
        recorder.state.withLock { $0.failure = Failure(.unreachable, .retry(after: nil), "The disk is full.") }
        #expect(await answer(handler, #"{"data": [{}]}"#).status == 503)
    }

    @Test func `a push starts a poll of its source, whatever its body`() async {
        let handler = recorder.handler(.push)
        #expect(await answer(handler, "anything", to: "/in/snow").status == 202)
        #expect(recorder.polled == ["my-work"])
    }
}
