import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// PagerDuty and Opsgenie over HTTP.
@Suite(.timeLimit(.minutes(5)), .closing) struct PagerTests {
    private static let pagerDutyKey = "R0123456789ABCDEF0123456789ABCDE"
    private static let opsgenieKey = "eb243592-faa2-4ba2-a551-1afdf565c889"

    struct Pager: Sendable, CustomTestStringConvertible {
        var kind: String
        var settings: JSON.Object
        var credential: String
        var practice: ServicePractice { ServicePractice(kind: kind, path: "/" + kind, settings: settings) }
        var testDescription: String { kind }
    }

    private static let pagerDuty = Pager(
        kind: "pagerduty", settings: ["routing_key": .string(pagerDutyKey)], credential: pagerDutyKey)
    private static let opsgenie = Pager(kind: "opsgenie", settings: ["key": .string(opsgenieKey)], credential: opsgenieKey)
    private static let both = [pagerDuty, opsgenie]

    private func message(_ title: String, resolve: Bool = false) -> Message {
        Message(title: [.text(title)], thread: "servicenow/incident/9d38", resolve: resolve)
    }

    @Test(arguments: both)
    func `messages of one thread are one alert, which is acknowledged and closed by its key`(_ pager: Pager) async throws {
        let practice = pager.practice
        let connectors = try await practice.open()
        _ = try await practice.send(message("It burns"), over: connectors)
        _ = try await practice.send(message("It still burns"), occasion: "e2", over: connectors)
        #expect(practice.services.alerts.map(\.messages.count) == [2])
        let arguments: JSON.Object = ["thread": "servicenow/incident/9d38"]
        _ = try await practice.perform("acknowledge", .values(arguments), occasion: "e3", over: connectors)
        #expect(practice.services.alerts.map(\.condition) == [.acknowledged])
        let out = try await practice.send(message("Out", resolve: true), occasion: "e4", over: connectors)
        #expect(out.conversation == ConversationChange("servicenow/incident/9d38", firstMessage: nil))
        #expect(practice.services.alerts.map(\.condition) == [.closed])
        _ = try await practice.send(message("It burns again"), occasion: "e5", over: connectors)
        #expect(practice.services.alerts.map(\.condition) == [.closed, .open])
        #expect(Set(practice.services.alerts.map(\.key)) == ["servicenow/incident/9d38"])
    }

    @Test(arguments: both)
    func `each delivery without a thread is its own alert, and a repeated attempt adds to it`(_ pager: Pager) async throws {
        let practice = pager.practice
        let connectors = try await practice.open()
        for _ in 0..<2 { _ = try await practice.send(SampleMessage.full, over: connectors) }
        _ = try await practice.send(SampleMessage.full, occasion: "e2", over: connectors)
        #expect(practice.services.alerts.map(\.messages.count) == [2, 1])
        #expect(practice.services.alerts.first?.key == SampleDelivery.notify(SampleMessage.full).id.text)
    }

    @Test(arguments: both) func `a thread too long for a key becomes a hash`(_ pager: Pager) async throws {
        let practice = pager.practice
        var long = message("x")
        long.thread = String(repeating: "ü", count: 5000)
        let opening = long
        long.resolve = true
        let closing = long
        let connectors = try await practice.open()
        _ = try await practice.send(opening, over: connectors)
        _ = try await practice.send(closing, occasion: "e2", over: connectors)
        #expect(practice.services.alerts.map(\.condition) == [.closed])
        #expect(practice.services.alerts.allSatisfy { $0.key.count == 32 })
    }

    @Test(arguments: both) func `every pager accepts the largest and the most hostile messages`(_ pager: Pager) async throws {
        let practice = pager.practice
        let connectors = try await practice.open()
        for (place, text) in HostileTexts.selection.enumerated() {
            var message = MessageMaker.everywhere(text)
            message.fields += (0..<100).map { .init(name: [.value("\(text.prefix(300)) \($0)")], value: [.value(text)]) }
            message.thread = text.isEmpty ? nil : text
            message.link = .init(label: text, address: "https://x.example/" + text.prefix(100))
            let hostile = message
            _ = try await practice.send(hostile, occasion: "e\(place)", over: connectors)
        }
        #expect(practice.services.alerts.reduce(0) { $0 + $1.messages.count } == HostileTexts.selection.count)
    }

    @Test(arguments: both) func `a revoked key is reported without repeating it`(_ pager: Pager) async throws {
        let practice = pager.practice
        practice.services.revoke(pager.credential)
        let found = try await practice.failure()
        #expect(found.reason == .unauthenticated || found.reason == .forbidden)
        #expect(found.remedy == .pauseReceiver)
        #expect(!found.message.contains(pager.credential))
    }

    @Test(arguments: both) func `an answer of success that is not the pager's is a failure`(_ pager: Pager) async throws {
        let odd = try await pager.practice.answering(200, #"{"ok": true}"#).failure()
        #expect(odd.reason == .badAnswer)
        #expect(odd.remedy == .giveUp)
        let page = try await pager.practice.answering(200, "<html>Welcome to the hotel</html>").failure()
        #expect(page.reason == .unexpectedPage)
        #expect(page.remedy == .retry(after: nil))
    }

    @Test(arguments: both)
    func `429 and errors of the server are temporary, and a refusal is final`(_ pager: Pager) async throws {
        #expect(try await pager.practice.answering(429, "{}").failure().remedy == .rest(nil))
        #expect(try await pager.practice.answering(500, "{}").failure().remedy == .retry(after: nil))
        #expect(try await pager.practice.answering(422, "{}").failure().remedy == .giveUp)
        #expect(try await pager.practice.answering(400, #"{"status": "invalid event"}"#).failure().reason == .refused)
    }

    @Test(arguments: [
        "", "short", String(repeating: "x", count: 33), String(repeating: "é", count: 32), String(repeating: " ", count: 32),
    ])
    func `a routing key of the wrong form is refused`(_ key: String) {
        let error = #expect(throws: ConnectorErrors.self) {
            try PagerDutyReceiver(Settings(["routing_key": .string(key)]), connection: "ops")
        }
        #expect(error?.all.map(\.setting) == ["routing_key"])
    }

    @Test func `an acknowledgement without a thread is refused`() async throws {
        let practice = Self.pagerDuty.practice
        let found = await failure {
            _ = try await practice.perform("acknowledge", .values(["thread": ""]), over: practice.open())
        }
        #expect(found?.reason == .badArguments)
    }

    @Test func `a message becomes an alert for PagerDuty with all its parts`() throws {
        let rendered = PagerDutyReceiver.render(SampleMessage.full, from: SampleMessage.origin)
        let expected = try JSON.parse(
            #"""
            {"payload": {"summary": "INC0010021 needs somebody", "source": "acme.service-now.com", "severity": "critical",
              "timestamp": "2026-01-05T09:00:00.000000Z", "component": "INC0010021", "class": "incident",
              "custom_details": {"State": "In Progress", "Group": "Network",
                "text": "See now! or soon: rm -rf\nthe task (https://x.example/a%20b)\n\nSecond.\n\n1. one\n2. two\n\n- INC1 (https://x.example/1) a\n- INC2 b\nand 3 more",
                "rule": "tell-ops", "delivery": "0123456789abcdef0123456789abcdef"}},
             "client": "Bellhop", "client_url": "https://acme.service-now.com/x?y=1&z=2",
             "links": [{"href": "https://acme.service-now.com/x?y=1&z=2", "text": "Open"},
               {"href": "https://acme.service-now.com/nav_to.do?uri=task.do", "text": "INC0010021"}]}
            """#)
        #expect(rendered == expected, "\(rendered.text(.pretty))")
    }

    @Test func `fields of the same name are all shown`() {
        var message = SampleMessage.titled("t")
        message.fields = [1, 2, 3].map { .init(name: [.text("text")], value: [.text("\($0)")]) }
        message.text = [.paragraph([.text("words")])]
        let details =
            PagerDutyReceiver.render(message, from: SampleMessage.origin)["payload"]?["custom_details"]?.asObject ?? [:]
        #expect(
            details.prefix(4).map { "\($0.key)=\($0.value.asString ?? "")" } == [
                "text=1", "text 2=2", "text 3=3", "text 4=words",
            ])
    }

    @Test func `a message becomes an alert for Opsgenie with all its parts`() {
        var message = SampleMessage.full
        // With the sign before it, the last `<` is one character for Swift.
        message.title = [.value("<b>x</b> & co \u{600}<i")]
        message.mentions = [.user("a@example.com"), .group("Network")]
        let rendered = OpsgenieReceiver.render(message, from: SampleMessage.origin)
        #expect(rendered["message"] == "‹b›x‹/b› & co \u{600}‹i")
        #expect(rendered["priority"] == "P1")
        #expect(rendered["entity"] == "INC0010021")
        #expect(rendered["details"]?["State"] == "In Progress")
        #expect(rendered["responders"] == [["type": "user", "username": "a@example.com"], ["type": "team", "name": "Network"]])
        #expect(rendered["description"]?.asString?.contains(#"<a href="https://x.example/1">INC1</a>"#) == true)
    }
}
