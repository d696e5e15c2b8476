import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Deliveries over HTTP to receivers with prepared answers.
@Suite(.timeLimit(.minutes(5)), .closing) struct ReceiverTests {
    /// A server and connections of a configuration to it.
    private func connectors(settings: JSON.Object = [:]) async throws -> (Simulation, Connectors, String) {
        let simulation = Simulation(now: { SampleDelivery.now.microseconds })
        let base = try await simulation.serve()
        func hook(_ path: String) -> Settings { Settings(JSON.Object(["url": .string(base + path)], with: settings)) }
        let connectors = try await Connectors(
            connections: [
                ("ops", "slack", hook("/hooks/ops/T0SECRETSECRET")),
                ("mine", "webhook", hook("/webhook/mine/S0SECRETSECRET?key=K0SECRETSECRET")),
            ], sources: [], environment: .sample())
        return (simulation, connectors.untilTestEnds(), base)
    }

    private func perform(_ delivery: Delivery, _ connectors: Connectors) async throws -> Receipt {
        let action = try #require(connectors.action(for: delivery))
        return try await action.perform(delivery, attempt: SampleDelivery.first)
    }

    private func failure(of delivery: Delivery, _ connectors: Connectors) async throws -> Failure {
        let action = try #require(connectors.action(for: delivery))
        do throws(Failure) {
            let receipt = try await action.perform(delivery, attempt: SampleDelivery.first)
            Issue.record("the delivery succeeded: \(receipt.summary)")
            return Failure(.refused, .hold, "")
        } catch {
            #expect(!error.message.contains("SECRETSECRET"), "\(error.message)")
            return error
        }
    }

    @Test func `a message arrives at Slack, whatever its title`() async throws {
        let title = #"<!channel> ${{ secret.x }} "; DROP TABLE"#
        let (simulation, connectors, _) = try await connectors()
        let receipt = try await perform(SampleDelivery.notify(SampleMessage.saying(title)), connectors)
        #expect(receipt.summary.hasPrefix("200 from ops (127.0.0.1:"))
        let message = try #require(simulation.receivers.received(by: "ops").first)
        #expect(message.isAccepted)
        #expect(message.request.header("User-Agent") == "Bellhop")
        let body = try JSON.parse(message.request.body)
        #expect(body["blocks"]?[0]?["text"]?["text"] == .string(title))
        #expect(body["text"]?.asString?.hasPrefix(#"&lt;!channel&gt; ${{ secret.x }} "; DROP TABLE"#) == true)
    }

    @Test func `the largest answer that is read is the default of max_body, and a webhook takes no larger one`() throws {
        for (kind, text) in [("slack", "1MB"), ("matrix", "1MB"), ("webhook", "64KiB")] {
            let manifest = try #require(Catalogue.connections.first { $0.kind == kind })
            #expect(manifest.settings.first { $0.name == "max_body" }?.fallback == text)
        }
        let receiver = { (most: JSON) throws(ConnectorErrors) in
            _ = try WebhookReceiver(Settings(["url": "https://x.example/", "max_body": most, "secret": "x"]), connection: "hook")
        }
        #expect(WebhookReceiver.largestAnswer == 64 << 10)
        for (most, wrong) in [(65_536, ["secret"]), (65_537, ["max_body", "secret"]), (1_000_000, ["max_body", "secret"])] {
            let errors = #expect(throws: ConnectorErrors.self) { try receiver(.int(Int64(most))) }
            #expect(errors?.all.map(\.setting) == wrong, "\(most)")
        }
    }

    @Test func `a message arrives at a webhook as the expected document`() async throws {
        let (simulation, connectors, _) = try await connectors()
        let delivery = SampleDelivery.notify(SampleMessage.full, to: "mine")
        _ = try await perform(delivery, connectors)
        let request = try #require(simulation.receivers.received(by: "mine").first).request
        #expect(request.header("webhook-id") == delivery.id.text)
        #expect(request.header("webhook-signature") == nil)
        #expect(try JSON.parse(request.body) == WebhookReceiver.render(SampleMessage.full, from: .init(delivery)))
    }

    @Test func `a connection with a secret signs requests, and a step can turn that off`() async throws {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let (simulation, connectors, _) = try await connectors(settings: ["secret": .string(secret)])
        _ = try await perform(SampleDelivery.notify(SampleMessage.full, to: "mine"), connectors)
        _ = try await perform(SampleDelivery.webhook(["json": ["a": 1]], to: "mine"), connectors)
        _ = try await perform(SampleDelivery.webhook(["text": "x", "sign": false], to: "mine"), connectors)
        let requests = simulation.receivers.received(by: "mine").map(\.request)
        for request in requests.prefix(2) {
            let expected = try WebhookSigner(secret: secret).headers(
                id: request.header("webhook-id") ?? "", body: request.body, at: SampleDelivery.now)
            #expect(request.header("webhook-signature") == expected["webhook-signature"])
            #expect(request.header("webhook-timestamp") == "1767603600")
        }
        #expect(requests[2].header("webhook-signature") == nil)
    }

    @Test func `a webhook can be sent to an address in the rule`() async throws {
        let (simulation, connectors, base) = try await connectors()
        let arguments: JSON.Object = [
            "url": .string(base + "/webhook/direct"), "method": "PUT", "query": ["a": "b c"], "headers": ["X-A": "1"],
            "form": ["text": "é"],
        ]
        let delivery = SampleDelivery.webhook(arguments, to: base + "/webhook/direct")
        let receipt = try await perform(delivery, connectors)
        #expect(receipt.summary.hasPrefix("200 from 127.0.0.1:"))
        let request = try #require(simulation.receivers.received(by: "direct").first).request
        #expect(request.method == "PUT")
        #expect(request.parameter("a") == "b c")
        #expect(request.header("X-A") == "1")
        #expect(request.header("webhook-id") == delivery.id.text)
        #expect(request.text == "text=%C3%A9")
    }

    @Test func `signing for an address in the rule is refused`() async throws {
        let (simulation, connectors, base) = try await connectors()
        let delivery = SampleDelivery.webhook(["url": .string(base + "/webhook/x"), "sign": true], to: base)
        let refused = try await failure(of: delivery, connectors)
        #expect(refused.reason == .badArguments)
        #expect(simulation.receivers.received.isEmpty)
    }

    @Test func `plain http to another machine is refused`() async throws {
        let (_, connectors, _) = try await connectors()
        let delivery = SampleDelivery.webhook(["url": "http://x.example/hook"], to: "http://x.example/hook")
        let failure = try await failure(of: delivery, connectors)
        #expect(failure.remedy == .giveUp)
        #expect(failure.message.contains("https://"))
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var status: Int
        var reason: Failure.Reason
        var remedy: Failure.Remedy
        var testDescription: String { "\(status)" }
    }

    @Test(arguments: [
        Case(status: 400, reason: .refused, remedy: .giveUp), Case(status: 401, reason: .unauthenticated, remedy: .pauseReceiver),
        Case(status: 403, reason: .forbidden, remedy: .giveUp), Case(status: 404, reason: .goneOrHidden, remedy: .pauseReceiver),
        Case(status: 408, reason: .dropped, remedy: .retry(after: nil)),
        Case(status: 425, reason: .dropped, remedy: .retry(after: nil)),
        Case(status: 410, reason: .goneOrHidden, remedy: .pauseReceiver),
        Case(status: 429, reason: .throttled, remedy: .rest(nil)),
        Case(status: 500, reason: .serverError, remedy: .retry(after: nil)),
        Case(status: 502, reason: .gateway, remedy: .retry(after: nil)),
        Case(status: 503, reason: .gateway, remedy: .retry(after: nil)),
        Case(status: 504, reason: .gateway, remedy: .retry(after: nil)),
    ])
    func `a refusal is final, retried, or pauses the receiver, depending on its status`(_ known: Case) async throws {
        let (simulation, connectors, _) = try await connectors()
        // A receiver might repeat its own secret address.
        let slack = "no /hooks/ops/T0SECRETSECRET"
        let mine = "no S0SECRETSECRET at /webhook/mine/S0SECRETSECRET?key=K0SECRETSECRET"
        for (receiver, delivery, words) in [
            ("ops", SampleDelivery.notify(SampleMessage.full), slack),
            ("mine", SampleDelivery.notify(SampleMessage.full, to: "mine"), mine),
            ("mine", SampleDelivery.webhook(["text": "x"], to: "mine"), mine),
        ] {
            simulation.receivers.setAnswer(of: receiver, status: known.status, body: words)
            let failure = try await failure(of: delivery, connectors)
            #expect(failure.reason == known.reason)
            #expect(failure.remedy == known.remedy)
            #expect(failure.message.hasPrefix("\(receiver) (127.0.0.1:"))
            #expect(failure.message.contains("answered \(known.status)"))
        }
    }

    @Test func `a message to Slack succeeds only if Slack answers ok`() async throws {
        let (simulation, connectors, _) = try await connectors()
        let delivery = SampleDelivery.notify(SampleMessage.full)
        simulation.receivers.setAnswer(of: "ops", status: 200, body: #"{"ok":false,"error":"invalid_auth"}"#)
        let wrong = try await failure(of: delivery, connectors)
        #expect(wrong.remedy == .giveUp)
        #expect(wrong.message.contains("invalid_auth"))
        simulation.receivers.setAnswer(of: "ops", status: 200, body: "<html>hotel</html>")
        let unreadable = try await failure(of: delivery, connectors)
        #expect(unreadable.remedy == .retry(after: nil))
        simulation.receivers.setAnswer(of: "ops", status: 200, body: "ok\n")
        _ = try await perform(delivery, connectors)
    }

    @Test func `a redirect is a refusal and is not followed`() async throws {
        let (simulation, connectors, base) = try await connectors()
        simulation.faults.add(.redirect(to: base + "/webhook/elsewhere/E0SECRETSECRET"), times: 2)
        for delivery in [SampleDelivery.notify(SampleMessage.full), SampleDelivery.webhook(["text": "x"], to: "mine")] {
            let failure = try await failure(of: delivery, connectors)
            #expect(failure.remedy == .giveUp)
            #expect(failure.message.contains("a redirect to 127.0.0.1:"))
        }
        #expect(simulation.receivers.received.isEmpty)
    }

    @Test func `a status that the step expects is success, and any other is failure`() async throws {
        let (simulation, connectors, _) = try await connectors()
        simulation.receivers.setAnswer(of: "mine", status: 404, body: "")
        _ = try await perform(SampleDelivery.webhook(["expect": [404, "2xx"]], to: "mine"), connectors)
        simulation.receivers.setAnswer(of: "mine", status: 200, body: "")
        let failure = try await failure(of: SampleDelivery.webhook(["expect": 204], to: "mine"), connectors)
        #expect(failure.reason == .badAnswer)
        #expect(failure.remedy == .giveUp)
    }

    @Test(arguments: [Fault.resetBefore, .resetAfter])
    func `after a lost answer the request is repeated with the same id`(_ fault: Fault) async throws {
        let (simulation, connectors, _) = try await connectors()
        simulation.faults.add(fault, path: "/webhook")
        let delivery = SampleDelivery.notify(SampleMessage.full, to: "mine")
        let lost = try await failure(of: delivery, connectors)
        #expect(lost.remedy == .retry(after: nil))
        _ = try await perform(delivery, connectors)
        #expect(Set(simulation.receivers.received.map { $0.request.header("webhook-id") }) == [delivery.id.text])
    }

    @Test func `header fields of the connection are sent, and those of the step take precedence`() async throws {
        let (simulation, connectors, _) = try await connectors(
            settings: ["headers": ["X-Team": "blue", "Authorization": "Bearer A0SECRETSECRET"]])
        _ = try await perform(SampleDelivery.webhook(["headers": ["x-team": "red"]], to: "mine"), connectors)
        let request = try #require(simulation.receivers.received.first).request
        #expect(request.header("X-Team") == "red")
        #expect(request.header("Authorization") == "Bearer A0SECRETSECRET")
        simulation.receivers.setAnswer(of: "mine", status: 400, body: "no Bearer A0SECRETSECRET")
        _ = try await failure(of: SampleDelivery.webhook([:], to: "mine"), connectors)
    }
}
