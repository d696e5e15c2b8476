import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// ntfy and Matrix over HTTP.
@Suite(.timeLimit(.minutes(5)), .closing) struct PushTests {
    private static let token = "tk_SECRETSECRETSECRET"
    private static let room = "!AbCdEf:example.org"

    private var ntfy: ServicePractice {
        ServicePractice(kind: "ntfy", path: "/ntfy", settings: ["topic": "ops-alerts", "token": .string(Self.token)])
    }
    private var matrix: ServicePractice {
        ServicePractice(kind: "matrix", path: "/matrix", settings: ["token": .string(Self.token), "room": .string(Self.room)])
    }

    // MARK: ntfy

    @Test func `a notification of ntfy has a priority and opens the link`() async throws {
        let practice = ntfy
        _ = try await practice.send(SampleMessage.full)
        let shown = try #require(practice.services.notifications.first).message
        #expect(shown["topic"] == "ops-alerts")
        #expect(shown["title"] == "🚨 INC0010021 needs somebody")
        #expect(shown["priority"] == 5)
        #expect(shown["click"] == "https://acme.service-now.com/x?y=1&z=2")
        #expect(shown["actions"] == [["action": "view", "label": "Open", "url": "https://acme.service-now.com/x?y=1&z=2"]])
        #expect(
            shown["message"]
                == """
                See now! or soon: rm -rf
                the task (https://x.example/a%20b)

                Second.

                1. one
                2. two

                State: In Progress
                Group: Network

                - INC1 (https://x.example/1) a
                - INC2 b
                and 3 more

                critical · rule tell-ops · delivery \(SampleDelivery.notify(SampleMessage.full).id.text)
                """, "\(shown["message"]?.asString ?? "")")
    }

    @Test func `no message is too long for a notification, whatever its text`() async throws {
        let practice = ntfy
        let connectors = try await practice.open()
        for (place, text) in HostileTexts.selection.enumerated() {
            let message = MessageMaker.everywhere(text)
            _ = try await practice.send(message, occasion: "e\(place)", over: connectors)
        }
        #expect(practice.services.notifications.count == HostileTexts.selection.count)
        #expect(practice.services.notifications.allSatisfy { !$0.isAttachment })
        #expect(practice.services.notifications.allSatisfy { $0.message["markdown"] == nil })
    }

    @Test func `a long message with a long link is not too large for ntfy`() async throws {
        let practice = ntfy
        var message = SampleMessage.saying(String(repeating: "語", count: 5000))
        let address = "https://x.example/" + String(repeating: "a", count: 1900)
        message.link = .init(label: String(repeating: "語", count: 100), address: address)
        _ = try await practice.send(message)
        let shown = try #require(practice.services.notifications.first).message
        #expect(shown["click"]?.asString == address)
        #expect((shown["message"]?.asString?.utf8.count ?? 0) > 2000)
    }

    @Test func `a protected topic needs a token that is accepted`() async throws {
        var practice = ntfy
        practice.services.protectTopic("ops-alerts")
        _ = try await practice.send(SampleMessage.full)
        practice.services.revoke(Self.token)
        let revoked = try await practice.failure()
        #expect(revoked.reason == .unauthenticated)
        #expect(revoked.remedy == .pauseReceiver)
        #expect(!revoked.message.contains(Self.token))
        practice.settings["token"] = nil
        #expect(try await practice.failure().reason == .forbidden)
    }

    @Test func `each error of ntfy has its remedy`() async throws {
        let requests = #"{"code":42901,"http":429,"error":"limit reached: too many requests"}"#
        #expect(try await ntfy.answering(429, requests).failure().remedy == .rest(nil))
        let quota = #"{"code":42908,"http":429,"error":"limit reached: daily message quota reached"}"#
        #expect(try await ntfy.answering(429, quota).failure().remedy == .rest(.seconds(3600)))
        #expect(try await ntfy.answering(507, #"{"code":50701,"http":507}"#).failure().remedy == .retry(after: nil))
        #expect(try await ntfy.answering(200, "{}").failure().reason == .badAnswer)
        #expect(try await ntfy.answering(200, "<html>").failure().reason == .unexpectedPage)
    }

    @Test(arguments: ["", "a b", "topic/x", "über", String(repeating: "x", count: 65)])
    func `a topic of the wrong form is refused`(_ topic: String) {
        let error = #expect(throws: ConnectorErrors.self) {
            try NtfyReceiver(Settings(["topic": .string(topic)]), connection: "ops")
        }
        #expect(error?.all.map(\.setting) == ["topic"])
    }

    // MARK: Matrix

    @Test func `a message in Matrix is HTML beside its text, and mentions only those it names`() async throws {
        let practice = matrix
        var message = SampleMessage.saying("@room <b>@ada:example.org</b>")
        message.mentions = [.user("@ada:example.org"), .user("nonsense"), .group("network")]
        _ = try await practice.send(message)
        let event = try #require(practice.services.events.first)
        #expect(event.room == Self.room)
        #expect(event.transaction == SampleDelivery.notify(message).id.text)
        #expect(event.content["msgtype"] == "m.text")
        #expect(event.content["format"] == "org.matrix.custom.html")
        #expect(event.content["m.mentions"] == ["user_ids": ["@ada:example.org"]])
        let html = event.content["formatted_body"]?.asString ?? ""
        #expect(html.hasPrefix(#"<p><a href="https://matrix.to/#/@ada:example.org">@ada:example.org</a></p>"#), "\(html)")
        #expect(html.contains("@room &lt;b&gt;@ada:example.org&lt;/b&gt;"))
        #expect(event.content["body"]?.asString?.hasPrefix("@ada:example.org\n\n@room <b>") == true)
    }

    @Test func `only a mention of the room notifies everyone`() {
        var message = SampleMessage.saying("@room")
        #expect(MatrixReceiver.render(message, from: SampleMessage.origin)["m.mentions"] == .object([:]))
        message.mentions = [.group("room")]
        #expect(MatrixReceiver.render(message, from: SampleMessage.origin)["m.mentions"] == ["room": true])
    }

    @Test func `a repeated attempt sends no second message`() async throws {
        let practice = matrix
        let connectors = try await practice.open()
        for _ in 0..<3 { _ = try await practice.send(SampleMessage.full, over: connectors) }
        #expect(practice.services.events.count == 1)
    }

    @Test func `messages of a thread answer the first one or replace it`() async throws {
        let practice = matrix
        var message = SampleMessage.full
        message.thread = "INC1"
        message.mentions = [.user("@ada:example.org")]
        let first = message
        message.update = true
        let update = message
        let connectors = try await practice.open()
        let began = try await practice.send(first, over: connectors)
        let reference = try #require(began.conversation?.firstMessage)
        let root = JSON.string(practice.services.events[0].id)
        #expect(reference == ["event": root, "chat": .string(Self.room)])
        _ = try await practice.send(first, occasion: "e2", after: reference, over: connectors)
        _ = try await practice.send(update, occasion: "e3", after: reference, over: connectors)
        let relations = practice.services.events.map { $0.content["m.relates_to"] }
        #expect(
            relations == [
                nil,
                ["rel_type": "m.thread", "event_id": root, "is_falling_back": true, "m.in_reply_to": ["event_id": root]],
                ["rel_type": "m.replace", "event_id": root],
            ])
        let edited = practice.services.events[2].content
        #expect(
            edited["m.new_content"]?["body"]
                == practice.services.events[0].content["body"].map { body in
                    .string(
                        (body.asString ?? "").replacing(
                            SampleDelivery.notify(first).id.text,
                            with: edited["m.new_content"]?["body"]?.asString?.suffix(32) ?? ""))
                })
        #expect(edited["body"]?.asString?.hasPrefix("* ") == true)
        // Only the new content has the mentions, so that an edit notifies nobody again.
        #expect(edited["m.mentions"] == .object([:]))
        #expect(edited["m.new_content"]?["m.mentions"] == ["user_ids": ["@ada:example.org"]])
    }

    @Test(arguments: [true, false])
    func `a conversation of another room begins anew in the room that the settings name now`(_ update: Bool) async throws {
        let practice = matrix
        var before = practice
        before.settings["room"] = "!Before:example.org"
        let message = Message(title: [.text("A")], thread: "INC1", update: update)
        let first = try await before.send(message).conversation?.firstMessage
        let moved = try await practice.send(message, occasion: "e2", after: first, over: practice.open())
        #expect(practice.services.events.map(\.room) == ["!Before:example.org", Self.room])
        #expect(moved.conversation?.firstMessage?["chat"] == .string(Self.room))
        #expect(practice.services.events.last?.content["m.relates_to"] == nil)
    }

    @Test func `an update of a message that was deleted begins a new conversation, and a reply stays in its thread`() async throws
    {
        let practice = matrix
        var message = SampleMessage.full
        message.thread = "INC1"
        let threaded = message
        message.update = true
        let update = message
        let connectors = try await practice.open()
        let root = try await practice.send(threaded, over: connectors).conversation?.firstMessage
        practice.services.redact(practice.services.events[0].id)
        let reply = try await practice.send(threaded, occasion: "e2", after: root, over: connectors)
        #expect(reply.conversation == nil)
        #expect(practice.services.events.last?.content["m.relates_to"]?["rel_type"] == "m.thread")
        let again = try await practice.send(update, occasion: "e3", after: root, over: connectors)
        let shown = try #require(practice.services.events.last)
        #expect(practice.services.events.count == 2 && shown.content["m.relates_to"] == nil)
        #expect(again.conversation?.firstMessage?["event"] == .string(shown.id))
    }

    @Test func `an update waits until the server says whether the first message still exists`() async throws {
        let practice = matrix
        let message = Message(title: [.text("A")], thread: "INC1")
        let update = Message(title: [.text("B")], thread: "INC1", update: true)
        let connectors = try await practice.open()
        let first = try await practice.send(message, over: connectors).conversation?.firstMessage
        _ = practice.answering(429, #"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many","retry_after_ms":2500}"#)
        let failure = await BellhopConnectorsTests.failure {
            _ = try await practice.send(update, occasion: "e2", after: first, over: connectors)
        }
        #expect(failure?.remedy == .rest(.milliseconds(2500)))
        #expect(practice.services.events.count == 1)
        _ = try await practice.send(update, occasion: "e2", after: first, over: connectors)
        #expect(practice.services.events.last?.content["m.relates_to"]?["rel_type"] == "m.replace")
    }

    @Test(arguments: [true, false])
    func `a first message that the server does not know begins a new conversation`(_ update: Bool) async throws {
        let practice = matrix
        let message = Message(title: [.text("A")], thread: "INC1", update: update)
        let unknown: JSON = ["event": "$unknown", "chat": .string(Self.room)]
        let again = try await practice.send(message, after: unknown, over: practice.open())
        let shown = try #require(practice.services.events.first)
        #expect(again.conversation?.firstMessage?["event"] == .string(shown.id) && shown.content["m.relates_to"] == nil)
    }

    @Test func `no message or edit is too large for an event, whatever its text`() async throws {
        let practice = matrix
        let connectors = try await practice.open()
        _ = try await practice.send(SampleMessage.full, occasion: "root", over: connectors)
        let first: JSON = ["event": .string(practice.services.events[0].id), "chat": .string(Self.room)]
        for (place, text) in HostileTexts.selection.enumerated() {
            var message = MessageMaker.everywhere(text)
            message.thread = "INC1"
            message.mentions = (0..<100).map { .user("@" + String(repeating: "x", count: 200) + "\($0):example.org") }
            let threaded = message
            message.update = true
            let update = message
            _ = try await practice.send(threaded, occasion: "a\(place)", over: connectors)
            _ = try await practice.send(update, occasion: "b\(place)", after: first, over: connectors)
        }
        #expect(practice.services.events.count == 1 + 2 * HostileTexts.selection.count)
    }

    @Test func `each error of Matrix has its remedy`() async throws {
        let limited = try await matrix.answering(429, #"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many","retry_after_ms":2500}"#)
            .failure()
        #expect(limited.remedy == .rest(.milliseconds(2500)))
        let practice = matrix
        practice.services.closeRoom(Self.room)
        let closed = try await practice.failure()
        #expect(closed.reason == .forbidden)
        #expect(closed.remedy == .pauseReceiver)
        practice.services.revoke(Self.token)
        let revoked = try await practice.failure()
        #expect(revoked.reason == .unauthenticated)
        #expect(revoked.remedy == .pauseReceiver)
        #expect(!revoked.message.contains(Self.token))
        #expect(try await matrix.answering(413, #"{"errcode":"M_TOO_LARGE"}"#).failure().reason == .tooLarge)
        #expect(try await matrix.answering(200, "{}").failure().reason == .badAnswer)
    }

    @Test func `the doctor tests the token without sending a message`() async throws {
        let practice = matrix
        func token() async throws -> Finding? {
            try await practice.open().examine(connection: "ops", ConnectionNeeds()).first { $0.subject == "token" }
        }
        #expect(try await token()?.text == "user @bellhop:simulator")
        practice.services.revoke(Self.token)
        #expect(try await token()?.state == .missing)
        #expect(practice.services.events.isEmpty)
    }

    @Test(arguments: ["", "#ops:example.org", "ops", "!"])
    func `a room that is not an id is refused with where to find it`(_ room: String) {
        let error = #expect(throws: ConnectorErrors.self) {
            try MatrixReceiver(Settings(["token": "t", "room": .string(room)]), connection: "ops")
        }
        #expect(error?.all.map(\.setting) == ["room"])
        #expect(error?.message.contains("Advanced") == true)
    }
}
