import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Conversations` {
    private static func message(_ number: Int, thread: String? = "INC1", to receiver: String = "chat") -> Delivery {
        var delivery = Sample.delivery(number, receiver: receiver)
        delivery.arguments = .message(Message(title: [.text("\(number)")], thread: thread))
        return delivery
    }

    private static func began(_ first: JSON?) -> RetryPolicy.Next {
        .done(Receipt("200", conversation: ConversationChange("INC1", firstMessage: first)))
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `later messages of a conversation know its first message until it ends, separately for each receiver`(
        _ kind: StoreUnderTest
    ) async throws {
        let bench = try kind.make()
        try await bench.store.route(Routing(deliveries: [Self.message(1)]))
        let first = try await bench.claim()[0]
        #expect(first.attempt.firstMessage == nil)
        #expect(try await bench.finish(first, Self.began(["ts": "1.5"])))
        try await bench.store.route(
            Routing(deliveries: [
                Self.message(2), Self.message(3, thread: "INC2"), Self.message(4, thread: nil), Self.message(5, to: "mail"),
            ]))
        let later = try await bench.claim()
        #expect(later.map(\.attempt.firstMessage) == [["ts": "1.5"], nil, nil, nil])
        // A message that was deleted at the receiver begins a new conversation.
        #expect(try await bench.finish(later[0], Self.began(["ts": "2.5"])))
        for claim in later.dropFirst() { #expect(try await bench.finish(claim, .done(Receipt("200")))) }
        try await bench.store.route(Routing(deliveries: [Self.message(6)]))
        let last = try await bench.claim()[0]
        #expect(last.attempt.firstMessage == ["ts": "2.5"])
        #expect(try await bench.finish(last, Self.began(nil)))
        try await bench.store.route(Routing(deliveries: [Self.message(7)]))
        #expect(try await bench.claim()[0].attempt.firstMessage == nil)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `an attempt that lost its lease begins no conversation`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        try await bench.store.route(Routing(deliveries: [Self.message(1)]))
        let lost = try await bench.claim()[0]
        await bench.clock.pass(60)
        try await bench.store.rescue(at: bench.now)
        #expect(try await bench.finish(lost, Self.began(["ts": "1"])) == false)
        #expect(try await bench.claim()[0].attempt.firstMessage == nil)
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a conversation is forgotten long after its latest message`(_ kind: StoreUnderTest) async throws {
        let bench = try kind.make()
        let retention = Retention(events: .days(1), deliveries: .days(1), forgotten: .days(2))
        for (number, isKnown) in [(1, false), (2, true), (3, true), (4, false)] {
            try await bench.store.route(Routing(deliveries: [Self.message(number)]))
            let claim = try await bench.claim()[0]
            #expect((claim.attempt.firstMessage != nil) == isKnown, "\(number)")
            #expect(try await bench.finish(claim, isKnown ? .done(Receipt("200")) : Self.began(["ts": "1"])))
            await bench.clock.pass(number < 3 ? 86_400 : 3 * 86_400)
            try await bench.store.prune(retention, at: bench.now)
        }
    }
}
