import BellhopCore
import BellhopTesting
import Synchronization
import Testing

@testable import BellhopInbound

/// What a desk did: a class with a mutex, because its closures share it.
final class Kept: Sendable {
    struct State {
        var events: [Event] = []
        var polled: [String] = []
        var error: StoreError?
        var count = 0
    }

    let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }
    var polled: [String] { state.withLock { $0.polled } }

    func fail(with error: StoreError?) { state.withLock { $0.error = error } }

    func desk(_ endpoints: InboundEndpoint..., clock: TestClock = TestClock()) -> InboundDesk {
        InboundDesk(
            endpoints, clock: clock,
            keep: { events throws(StoreError) in
                let error = self.state.withLock { state in
                    if state.error == nil { state.events += events }
                    return state.error
                }
                if let error { throw error }
            }, poll: { source in self.state.withLock { $0.polled.append(source) } },
            unique: {
                self.state.withLock { state in
                    state.count += 1
                    return "\(state.count)"
                }
            })
    }
}

extension InboundEndpoint {
    static let definition = EventDefinition(
        EventType("deploy_finished"), "", from: .outside,
        [
            Setting("service", .text, required: true, ""), Setting("count", .integer(Int.min...Int.max), ""),
            Setting("ok", .boolean, ""), Setting("more", .json, ""),
        ])

    static func events(
        items: String? = nil, fields: [String: String] = [:], id: String? = nil, sameness: EventReading.Sameness? = nil,
        largestBody: Int = 1000, rate: Int = 1000
    ) -> InboundEndpoint {
        InboundEndpoint(
            path: "/in/deploys", key: .bearer(["token"]),
            purpose: .events(
                EventReading(
                    source: "deploys", definition: definition, items: items.flatMap { JSON.Path(text: $0) },
                    fields: fields.compactMapValues { JSON.Path(text: $0) }, id: id.flatMap { JSON.Path(text: $0) },
                    sameness: sameness)),
            largestBody: largestBody, rate: (rate, .seconds(60)))
    }

    static let push = InboundEndpoint(
        path: "/in/snow", key: .bearer(["token"]), purpose: .push(source: "my-work"), largestBody: 100, rate: (5, .seconds(5)))
}

@Suite struct `Requests from outside` {
    private let kept = Kept()

    private func answer(
        _ desk: InboundDesk, _ body: String, to path: String = "/in/deploys", token: String = "token",
        headers: [(String, String)] = []
    ) async -> InboundAnswer {
        let all = [("Authorization", "Bearer " + token)] + headers
        return await desk.answer(
            InboundRequest(headers: all.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8)), to: path)
    }

    private var events: [Event] { kept.events }

    @Test func `a body becomes an event of the declared type`() async throws {
        let desk = kept.desk(.events(fields: ["service": "app.name", "count": "n"], id: "app.id"))
        let body = #"{"app": {"name": "mail", "id": 7}, "n": "12", "ok": true, "more": [1], "other": 1}"#
        #expect(await answer(desk, body).status == 202)
        let event = try #require(events.first)
        #expect(event.type == EventType("deploy_finished"))
        #expect(event.source == "deploys")
        #expect(event.subject == "deploys/7")
        #expect(event.data == ["service": "mail", "count": 12, "ok": true, "more": [1]])
    }

    @Test func `each item of a list is an event`() async {
        let desk = kept.desk(.events(items: "alerts"))
        #expect(await answer(desk, #"{"alerts": [{"service": "a"}, {"service": "b"}]}"#).status == 202)
        #expect(events.map { $0.data["service"] } == ["a", "b"])
        #expect(Set(events.map(\.id)).count == 2)
        #expect(await answer(desk, #"{"alerts": []}"#).status == 202)
        #expect(await answer(desk, #"{"alerts": {}}"#).status == 400)
    }

    @Test func `a form is read too, and the JSON in its only field payload`() async {
        let desk = kept.desk(.events())
        let form = [("Content-Type", "application/x-www-form-urlencoded")]
        #expect(await answer(desk, "service=mail+server%21&ok=true", headers: form).status == 202)
        #expect(await answer(desk, "payload=%7B%22service%22%3A%22x%22%7D", headers: form).status == 202)
        #expect(events.map(\.data) == [["service": "mail server!", "ok": true], ["service": "x"]])
    }

    @Test func `what can never be read is refused for good`() async {
        let desk = kept.desk(.events())
        for body in [
            "", "{", "[]", #"{"ok": true}"#, #"{"service": {}}"#, #"{"service": "a", "count": 1.5}"#,
            #"{"service": "a", "ok": 1}"#,
        ] {
            #expect(await answer(desk, body).status == 400, "\(body)")
        }
        #expect(events.isEmpty)
    }

    @Test func `the same delivery is the same event, whatever else it says`() async {
        for (sameness, headers, body) in [
            (EventReading.Sameness.path(JSON.Path(keys: ["id"])), [], #"{"service": "a", "id": "x"}"#),
            (.header("X-GitHub-Delivery"), [("X-GitHub-Delivery", "x")], #"{"service": "a"}"#),
        ] {
            let kept = Kept()
            let desk = kept.desk(.events(sameness: sameness))
            for _ in 0..<2 { #expect(await answer(desk, body, headers: headers).status == 202) }
            let ids = kept.events.map(\.id)
            #expect(ids.count == 2 && ids[0] == ids[1])
            #expect(await answer(desk, #"{"service": "a"}"#).status == 400)
        }
        let desk = kept.desk(.events())
        for _ in 0..<2 { _ = await answer(desk, #"{"service": "a"}"#) }
        #expect(Set(events.map(\.id)).count == 2)
    }

    @Test func `while events cannot be stored the sender is asked to come again`() async {
        let desk = kept.desk(.events())
        kept.fail(with: StoreError(.full, "The disk is full: /var/lib/secret."))
        let refused = await answer(desk, #"{"service": "a"}"#)
        #expect(refused.status == 503)
        #expect(refused.retryAfter != nil)
        #expect(!refused.text.contains("/var"))
        kept.fail(with: nil)
        #expect(await answer(desk, #"{"service": "a"}"#).status == 202)
        #expect(events.count == 1)
    }

    @Test func `an unknown sender is refused before its body is read as anything`() async {
        let desk = kept.desk(.events(), .push)
        #expect(await answer(desk, "{", token: "tokem").status == 401)
        #expect(await answer(desk, "", to: "/in/snow", token: "").status == 401)
        #expect(kept.polled.isEmpty)
    }

    @Test func `a push lets its source be polled, whatever its body`() async {
        let desk = kept.desk(.push)
        #expect(await answer(desk, "anything", to: "/in/snow").status == 202)
        #expect(kept.polled == ["my-work"])
    }

    @Test func `paths, methods, sizes and rates are bounded before a body is read`() async {
        let clock = TestClock()
        let desk = kept.desk(.push, clock: clock)
        func status(_ method: String = "POST", _ path: String = "/in/snow", announced: Int? = nil) -> Int {
            do throws(InboundAnswer) {
                _ = try desk.admit(method: method, path: path, announced: announced)
                return 0
            } catch {
                if error.status == 429 { #expect(error.retryAfter == 1) }
                return error.status
            }
        }
        #expect(status("POST", "/in") == 404)
        #expect(status("GET") == 405)
        #expect(status(announced: 101) == 413)
        #expect((0..<5).map { _ in status(announced: 100) } == [0, 0, 0, 0, 429])
        await clock.advance(by: .seconds(1))
        #expect([status(), status()] == [0, 429])
    }
}
