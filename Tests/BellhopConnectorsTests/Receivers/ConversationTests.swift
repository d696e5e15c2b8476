import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// The messages of one conversation, sent to a receiver that supports threads, updates and resolving.
@Suite(.timeLimit(.minutes(5)), .closing) struct ConversationTests {
    private struct AbleReceiver: HookReceiver {
        static let kind = "able"
        static let summary = "A receiver that can do everything."
        static let settings = [Setting("url", .secret, required: true, "The address.")]
        static let messages = MessageAbilities(
            threads: .yes, updates: .setting("mode", values: nil, line: "mode: …"), resolves: .yes)

        init(_ settings: Settings, connection: String) {}

        static func render(_ message: Message, from origin: MessageOrigin) -> JSON { ["text": .string(message.title.plainText)] }

        func request(_ rendered: JSON, _ call: MessageCall) -> HTTPRequest {
            var body = rendered.asObject ?? [:]
            switch call.place {
            case .new: break
            case .reply(let first): body["reply_to"] = first
            case .update(let first): body["replaces"] = first
            case .resolve(let first): body["closes"] = first ?? .null
            }
            return call.post(.object(body))
        }

        func isGone(_ response: HTTPResponse) -> Bool { response.status == 404 }
        func wait(in response: HTTPResponse) -> Duration? {
            (try? JSON.parse(response.body))?["wait"]?.asInt.map { .seconds($0) }
        }

        func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
            (try? JSON.parse(response.body))?["error"]?.asString.map { Failure(.refused, .giveUp, "\(hook.label) said \($0).") }
        }

        func reference(in response: HTTPResponse) -> JSON? { (try? JSON.parse(response.body))?["id"] }
    }

    private func receiver(settings: JSON.Object = [:]) async throws -> (Receivers, HookConnection<AbleReceiver>) {
        let simulation = Simulation(now: { SampleDelivery.now.microseconds })
        let base = try await simulation.serve()
        let all = JSON.Object(["url": .string(base + "/webhook/able")], with: settings)
        let connection = try HookConnection<AbleReceiver>(name: "able", settings: Settings(all), in: .sample())
        return (simulation.receivers, connection.untilTestEnds())
    }

    private func send(
        _ message: Message, after firstMessage: JSON? = nil, over connection: HookConnection<AbleReceiver>
    ) async throws -> Receipt {
        let attempt = Attempt(number: 1, now: SampleDelivery.now, firstMessage: firstMessage)
        return try await connection.send(message, for: SampleDelivery.notify(message), attempt: attempt)
    }

    private static func sent(_ receivers: Receivers) throws -> [JSON] {
        try receivers.received(by: "able").map { try JSON.parse($0.request.body) }
    }

    @Test func `the first message begins a conversation, later ones answer it, and the last one ends it`() async throws {
        let (receivers, connection) = try await receiver()
        receivers.setAnswer(of: "able", status: 200, body: #"{"id": 7}"#)
        var message = Message(title: [.text("A")], thread: "INC1")
        let began = try await send(message, over: connection)
        #expect(began.conversation == ConversationChange("INC1", firstMessage: 7))
        let answered = try await send(message, after: 7, over: connection)
        #expect(answered.conversation == nil)
        message.update = true
        _ = try await send(message, after: 7, over: connection)
        message.resolve = true
        let ended = try await send(message, after: 7, over: connection)
        #expect(ended.conversation == ConversationChange("INC1", firstMessage: nil))
        #expect(
            try Self.sent(receivers) == [
                ["text": "A"], ["text": "A", "reply_to": 7], ["text": "A", "reply_to": 7], ["text": "A", "closes": 7],
            ])
    }

    @Test func `a message replaces the first one where the settings allow it`() async throws {
        let (receivers, connection) = try await receiver(settings: ["mode": "any"])
        _ = try await send(Message(title: [.text("A")], thread: "INC1", update: true), after: 7, over: connection)
        #expect(try Self.sent(receivers) == [["text": "A", "replaces": 7]])
    }

    @Test func `messages without a thread begin no conversation`() async throws {
        let (receivers, connection) = try await receiver()
        receivers.setAnswer(of: "able", status: 200, body: #"{"id": 7}"#)
        let receipt = try await send(Message(title: [.text("A")]), over: connection)
        #expect(receipt.conversation == nil)
    }

    @Test func `a deleted first message begins a new conversation in the same attempt`() async throws {
        let (receivers, connection) = try await receiver()
        receivers.setAnswers(of: "able", [(404, "{}"), (200, #"{"id": 8}"#)])
        let receipt = try await send(Message(title: [.text("A")], thread: "INC1"), after: 7, over: connection)
        #expect(receipt.conversation == ConversationChange("INC1", firstMessage: 8))
        #expect(try Self.sent(receivers) == [["text": "A", "reply_to": 7], ["text": "A"]])
    }

    @Test func `a receiver's own errors and waits are recognized`() async throws {
        let (receivers, connection) = try await receiver()
        let message = Message(title: [.text("A")], thread: "INC1")
        receivers.setAnswer(of: "able", status: 200, body: #"{"id": 7, "error": "no_room"}"#)
        await #expect(throws: Failure.self) { try await send(message, over: connection) }
        receivers.setAnswer(of: "able", status: 429, body: #"{"wait": 42}"#)
        let failure = await #expect(throws: Failure.self) { try await send(message, over: connection) }
        #expect(failure?.remedy == .rest(.seconds(42)))
    }

    @Test func `long keys of threads stay different in Google Chat, and within its limit`() throws {
        let start = String(repeating: "x", count: 1000)
        let accents = "e" + String(repeating: "\u{301}", count: 5000)
        let keys = try [start + "1", start + "2", accents, "INC1"].map { thread -> String in
            let message = Message(title: [.text("Title")], thread: thread)
            return try #require(
                GoogleChatReceiver.render(message, from: SampleMessage.origin)["thread"]?["threadKey"]?.asString)
        }
        #expect(Set(keys).count == 4 && keys[3] == "INC1")
        #expect(keys.allSatisfy { $0.unicodeScalars.count <= 4000 })
    }
}
