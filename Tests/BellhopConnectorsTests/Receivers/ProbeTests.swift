import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// The examination of a receiver by `bellhop doctor`, without a message.
@Suite(.timeLimit(.minutes(5)), .closing) struct ProbeTests {
    private struct ProbedReceiver: HookReceiver {
        static let kind = "probed"
        static let summary = "A receiver with two probes."
        static let settings = [Setting("url", .secret, required: true, "The address.")]

        init(_ settings: Settings, connection: String) {}

        static func render(_ message: Message, from origin: MessageOrigin) -> JSON { [:] }

        func probes(of hook: Hook) -> [HookProbe] {
            ["token", "channel"].map { subject in
                HookProbe(
                    subject: subject, request: HTTPRequest("POST", hook.address, body: Array(subject.utf8)),
                    remedy: "create a new one", content: "a name"
                ) { json in json["name"]?.asString }
            }
        }
    }

    /// The findings except the network's, and the bodies of the requests; all get this answer.
    private func probed(_ status: Int, _ body: String) async throws -> ([Finding], [String]) {
        let simulation = Simulation(now: { SampleDelivery.now.microseconds })
        let base = try await simulation.serve()
        simulation.receivers.setAnswer(of: "probed", status: status, body: body)
        let settings = Settings(["url": .string(base + "/webhook/probed?key=SECRETSECRET1")])
        let connection = try HookConnection<ProbedReceiver>(name: "probed", settings: settings, in: .sample())
        let findings = await connection.examine(ConnectionNeeds())
        try await connection.shutdown()
        let bodies = simulation.receivers.received(by: "probed").map { String(decoding: $0.request.body, as: UTF8.self) }
        return (findings.filter { $0.subject != "connection" }, bodies)
    }

    @Test func `each probe that succeeds is a finding with the service's answer`() async throws {
        let (findings, bodies) = try await probed(200, #"{"name": "bot \u001b[1m@bellhop"}"#)
        #expect(findings.map(\.subject) == ["token", "channel"])
        #expect(findings.allSatisfy { $0.state == .ok && $0.text.contains("@bellhop") && !$0.text.contains("\u{1B}") })
        #expect(bodies == ["token", "channel"])
    }

    @Test func `a failed probe ends the examination without showing a secret`() async throws {
        for (status, body) in [(200, #"{"error": "SECRETSECRET1"}"#), (401, "wrong SECRETSECRET1"), (500, "")] {
            let (findings, bodies) = try await probed(status, body)
            #expect(findings.map(\.subject) == ["token"])
            #expect(findings.allSatisfy { $0.state == .missing && $0.remedy == "create a new one" && $0.reason != nil })
            #expect(findings.allSatisfy { !$0.text.contains("SECRETSECRET1") })
            #expect(bodies == ["token"])
        }
    }
}
