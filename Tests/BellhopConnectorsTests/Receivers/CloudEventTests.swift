import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct CloudEventTests {
    private static let secrets = [
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32)),
    ]

    private func send(_ settings: JSON.Object) async throws -> (ReceivedRequest, Delivery) {
        let practice = ServicePractice(kind: "webhook", path: "/webhook/ops", settings: settings)
        _ = try await practice.send(SampleMessage.full)
        let request = try #require(practice.simulation.receivers.received(by: "ops").first).request
        return (request, SampleDelivery.notify(SampleMessage.full))
    }

    @Test func `a structured event has everything in its body`() async throws {
        let (request, delivery) = try await send(["format": "cloudevents"])
        #expect(request.header("Content-Type") == "application/cloudevents+json; charset=UTF-8")
        var event = try #require(try JSON.parse(request.body).asObject)
        #expect(event["data"] == WebhookReceiver.render(SampleMessage.full, from: .init(delivery)))
        event["data"] = nil
        #expect(
            JSON.object(event) == [
                "specversion": "1.0", "id": .string(delivery.id.text), "source": "/bellhop/rules/tell-ops",
                "type": "io.bellhop.message.v1", "time": "2026-01-05T09:00:00.000000Z", "subject": "INC0010021",
                "datacontenttype": "application/json",
            ])
    }

    @Test func `a binary event has its attributes in header fields`() async throws {
        let (request, delivery) = try await send(["format": "cloudevents_binary"])
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.header("ce-specversion") == "1.0")
        #expect(request.header("ce-id") == delivery.id.text)
        #expect(request.header("ce-type") == "io.bellhop.message.v1")
        #expect(request.header("ce-source") == "/bellhop/rules/tell-ops")
        #expect(request.header("ce-subject") == "INC0010021")
        #expect(request.header("ce-datacontenttype") == nil)
        #expect(try JSON.parse(request.body) == WebhookReceiver.render(SampleMessage.full, from: .init(delivery)))
    }

    @Test(arguments: [
        ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"), ("a\"b%c", "a%22b%25c"), ("plain-~!x", "plain-~!x"),
        ("a\r\nX-Injected: 1", "a%0D%0AX-Injected:%201"), ("\u{7F}", "%7F"), ("", ""),
    ])
    func `an attribute in a header field is percent-encoded`(_ value: String, _ encoded: String) {
        #expect(ASCII.lowercased(CloudEvent.encoded(value)) == ASCII.lowercased(encoded))
    }

    @Test(arguments: ["bellhop", "cloudevents", "cloudevents_binary"])
    func `with several secrets, a request has a signature of each`(_ format: String) async throws {
        let (request, delivery) = try await send(["format": .string(format), "secret": .array(Self.secrets.map(JSON.string))])
        let signatures = (request.header("webhook-signature") ?? "").split(separator: " ").map(String.init)
        let each = try Self.secrets.map { secret in
            try WebhookSigner(secret: secret).headers(id: delivery.id.text, body: request.body, at: SampleDelivery.now)[
                "webhook-signature"]
        }
        #expect(signatures == each)
        #expect(Set(signatures).count == 2)
    }

    @Test func `one bad secret among several is refused`() {
        #expect(throws: InvalidValue.self) { try WebhookSigner(secrets: [Self.secrets[0], "whsec_"]) }
        let error = #expect(throws: ConnectorErrors.self) {
            try WebhookReceiver(Settings(["secret": [.string(Self.secrets[0]), "hunter2hunter2"]]), connection: "ops")
        }
        #expect(error?.all.map(\.setting) == ["secret"])
        #expect(error?.message.contains("hunter2") == false)
    }
}
