import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopRules

@Suite struct `Held messages of a trial` {
    private static func message(_ place: Int64, lane: String = "lane", until seconds: Int) -> HeldMessage {
        let id = Delivery.ID(
            occasion: Occasion.event(Event.ID("e\(place)")).id, rule: "r", step: StepPath(index: 0), receiver: "ops")
        return HeldMessage(
            place: place,
            delivery: Delivery(
                id: id, revision: "1", action: "notify", arguments: .message(Message(title: [.value("T")])), task: nil,
                lane: lane, createdAt: Fixture.start, runAt: Fixture.start + .seconds(seconds)))
    }

    @Test func `messages are found by their end, their name and their lane, in the order in which they were made`() {
        let messages = [
            Self.message(1, lane: "b", until: 20), Self.message(2, until: 10), Self.message(3, lane: "b", until: 10),
        ]
        var held = TrialHeldMessages()
        for message in messages.reversed() { held.add(message) }
        #expect(held.next == Fixture.start + .seconds(10))
        #expect(held.messages(until: Fixture.start + .seconds(10)).map(\.place) == [2, 3])
        #expect(held.messages(inLane: "b").map(\.place) == [1, 3])
        let names = [messages[2], messages[0], messages[0]].map(\.delivery.id.text)
        #expect(held.messages(named: names + ["unknown"]).map(\.place) == [1, 3])
        held.remove(messages[1])
        #expect(held.next == Fixture.start + .seconds(10))
        held.remove(messages[2])
        #expect(held.next == Fixture.start + .seconds(20))
        // A quiet time that ended its last message may hold another one later.
        held.add(messages[1])
        #expect(held.next == Fixture.start + .seconds(10))
        held.remove(messages[1])
        held.remove(messages[0])
        #expect(held.next == nil && held.all.isEmpty && held.messages(inLane: "b").isEmpty)
    }

    @Test func `with ten times as many messages, the work grows about tenfold`() {
        func time(_ count: Int) -> Duration {
            let messages = (1...count).map { Self.message(Int64($0), lane: "\($0)", until: 3600 + $0 % 50) }
            return ThreadTime.shortest {
                var holding = TrialHeldMessages()
                for message in messages {
                    holding.add(message)
                    _ = (holding.next, holding.messages(inLane: message.delivery.lane))
                }
                for message in messages {
                    holding.remove(message)
                    _ = holding.next
                }
            }
        }
        let (few, many) = (time(2000), time(20_000))
        #expect(many < few * 40, "\(few) \(many)")
    }
}
