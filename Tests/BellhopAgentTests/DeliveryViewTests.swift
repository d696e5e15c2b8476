import BellhopCore
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopAgent

/// The answers of an agent to `bellhop deliveries`.
@Suite struct `A delivery in detail` {
    private static let message = Message(
        title: [.text("New: "), .value("INC0010001")],
        text: [.paragraph([.text("A "), .strong([.value("printer")]), .text(" burns.")])],
        fields: [.init(name: [.text("Priority")], value: [.value("2")])], severity: .warning)

    /// A delivery of a message to `ops`, as answered for its id or in the list.
    private func shown(whole: Bool, kind: String?) async throws -> JSON {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let occasion = Occasion.event(Event.ID("1"))
        let delivery = Delivery(
            id: Delivery.ID(occasion: occasion.id, rule: "tell", step: StepPath("0"), receiver: "ops"), revision: "1",
            action: "notify", arguments: .message(Self.message), task: nil, lane: "ops", createdAt: clock.now, initial: .shadow)
        try await store.route(Routing(deliveries: [delivery]))
        let inquirer = Inquirer(store: store, clock: clock, kind: { $0 == "ops" ? kind : nil })
        var answer = inquirer.answer(.deliveries(DeliveryQuery(id: whole ? delivery.id.text : nil)))
        guard case .rows(let rows) = try await answer.next() else { return .null }
        return try #require(rows.first)
    }

    @Test func `the answer contains the whole message, in the list too`() async throws {
        for whole in [true, false] {
            let delivery = try await shown(whole: whole, kind: nil)
            #expect(
                delivery["message"] == [
                    "title": "New: INC0010001", "text": "Warning: New: INC0010001\n\nA printer burns.\n\nPriority: 2",
                ])
            #expect(delivery["request"] == nil)
        }
    }

    @Test func `the answer for one id shows the request to the receiver, without the secret address`() async throws {
        let slack = try await shown(whole: true, kind: "slack")
        #expect(slack.at("request", "to") == "the address of connection ops (kind slack)")
        #expect(slack.at("request", "body", "blocks")?.asArray?.isEmpty == false)
        let webhook = try await shown(whole: true, kind: "webhook")
        #expect(webhook.at("request", "body", "title") == "New: INC0010001")
        #expect(webhook.at("request", "body", "fields") == [["name": "Priority", "value": "2"]])
        #expect(try await shown(whole: false, kind: "slack")["request"] == nil)
    }
}
