import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct ReceiverTests {
    let office = Office()

    private func post(_ path: String, _ body: String) async throws -> Answer {
        var client = try await office.open()
        client.authorization = nil
        return try await client.send(.POST, path, body: body, headers: [("X-Trace", "7")])
    }

    @Test func `a chat message is recorded completely and answered ok`() async throws {
        let answer = try await post("/hooks/ops?a=b", #"{"text":"Hello"}"#)
        #expect(answer.status == 200)
        #expect(answer.text == "ok")
        let message = try #require(office.simulation.receivers.received(by: "ops").first)
        #expect(message.isAccepted)
        #expect(message.text == #"{"text":"Hello"}"#)
        #expect(message.request.header("x-trace") == "7")
        #expect(message.request.parameter("a") == "b")
        #expect(message.request.time == VirtualClock.monday)
    }

    @Test(arguments: [
        ("nonsense", "invalid_payload"), ("{}", "no_text"), (#"{"blocks":[{"type":"sectoin"}]}"#, "invalid_blocks"),
        (#"{"blocks":[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]}"#, "invalid_blocks"),
        (#"{"blocks":[{"type":"header","text":{"type":"plain_text","text":"LONG"}}]}"#, "invalid_blocks"),
        (#"{"blocks":[{"type":"section"}]}"#, "invalid_blocks"),
    ])
    func `a chat message that breaks Slack's rules is refused`(_ body: String, _ code: String) async throws {
        let answer = try await post("/hooks/ops", body.replacing("LONG", with: String(repeating: "x", count: 151)))
        #expect(answer.status == 400)
        #expect(answer.text == code)
        let message = try #require(office.simulation.receivers.received.first)
        #expect(!message.isAccepted && message.reason != nil)
    }

    @Test func `fifty blocks are accepted, and fifty-one are refused`() async throws {
        let block = #"{"type":"section","text":{"type":"mrkdwn","text":"x"}}"#
        func body(_ count: Int) -> String { "{\"blocks\":[\(Array(repeating: block, count: count).joined(separator: ","))]}" }
        #expect(try await post("/hooks/ops", body(50)).status == 200)
        #expect(try await post("/hooks/ops", body(51)).status == 400)
    }

    @Test func `a webhook accepts any body and gives the configured answer`() async throws {
        #expect(try await post("/webhook/any", "a=b").text == "ok")
        office.simulation.receivers.setAnswer(of: "any", status: 503, body: "busy")
        let answer = try await post("/webhook/any", "a=b")
        #expect(answer.status == 503)
        #expect(answer.text == "busy")
        #expect(office.simulation.receivers.received.map(\.isAccepted) == [true, false])
    }

    @Test func `a message whose reply is lost has arrived, and one that was cut off has not`() async throws {
        office.simulation.faults.add(.resetAfter, path: "/hooks")
        await #expect(throws: (any Error).self) { try await post("/hooks/ops", #"{"text":"one"}"#) }
        office.simulation.faults.add(.resetBefore, path: "/hooks")
        await #expect(throws: (any Error).self) { try await post("/hooks/ops", #"{"text":"two"}"#) }
        #expect(office.simulation.receivers.received.map(\.text) == [#"{"text":"one"}"#])
    }
}
