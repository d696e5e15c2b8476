import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Conversations` {
    private static func message(_ number: Int, thread: String? = "INC1", to receiver: String = "chat") -> Delivery {
        var delivery = Sample.delivery(number, receiver: receiver)
        delivery.arguments = .message(Message(title: [.text("\(number)")], thread: thread))
        return delivery
    }

    /// A message in the lane of its conversation.
    private static func inLane(
        _ number: Int, update: Bool = false, resolve: Bool = false, at time: Timestamp = Sample.now
    ) -> Delivery {
        var delivery = Sample.delivery(number, lane: "a", at: time)
        delivery.arguments = .message(Message(title: [], thread: "INC1", update: update, resolve: resolve))
        delivery.settles = resolve
        return delivery
    }

    /// Sends a message, or gives it up.
    private func send(_ delivery: Delivery, _ bench: Bench, _ next: RetryPolicy.Next = .done(Receipt("200"))) async throws {
        try await bench.enqueue([delivery])
        let claim = try #require(try await bench.claim().first)
        #expect(claim.delivery.id == delivery.id)
        #expect(try await bench.finish(claim, next))
    }

    /// The state of a message that a person retries, and that is then claimed.
    private func retried(_ delivery: Delivery, _ bench: Bench) async throws -> DeliveryState? {
        let count = try await bench.store.apply(.retry, to: [delivery.id], at: bench.now)
        let isDropped = try await bench.store.deliveries(DeliveryQuery(id: delivery.id.text)).first?.state == .dropped
        #expect(count == (isDropped ? 0 : 1))
        for claim in try await bench.claim() { try await bench.finish(claim, .done(Receipt("200"))) }
        let record = try await bench.store.deliveries(DeliveryQuery(id: delivery.id.text)).first
        #expect((record?.state == .dropped) == isDropped, "it is dropped at once")
        if isDropped { #expect(record?.failure == .outdated) }
        return record?.state
    }

    @Test(arguments: Benches())
    func `an update that a person retries is dropped if the first message shows a newer one, not if only an answer is newer`(
        _ bench: Bench
    ) async throws {
        let dead = (1...4).map { Self.inLane($0, update: $0 > 1) }
        try await send(dead[0], bench, .dead(Sample.failure))
        try await send(dead[1], bench, .dead(Sample.failure))
        // The first message that is sent begins the conversation.
        try await send(Self.inLane(5), bench, Self.began(["ts": "1"]))
        #expect(try await retried(dead[1], bench) == .dropped)
        #expect(try await retried(dead[0], bench) == .done)
        try await send(dead[2], bench, .dead(Sample.failure))
        try await send(Self.inLane(6), bench)
        #expect(try await retried(dead[2], bench) == .done)
        try await send(dead[3], bench, .dead(Sample.failure))
        try await send(Self.inLane(7, update: true), bench)
        #expect(try await retried(dead[3], bench) == .dropped)
        try await send(Self.inLane(8, update: true), bench)
    }

    @Test(arguments: Benches())
    func `an alert is not closed or acknowledged after a newer message of its thread, and not opened again after its end`(
        _ bench: Bench
    ) async throws {
        let (page, closing) = (Self.inLane(1), Self.inLane(2, resolve: true))
        var acknowledgement = Self.inLane(3, resolve: true)
        acknowledgement.arguments = .values(["thread": "INC1"])
        for delivery in [page, closing, acknowledgement] { try await send(delivery, bench, .dead(Sample.failure)) }
        try await send(Self.inLane(4), bench)
        #expect(try await retried(closing, bench) == .dropped)
        #expect(try await retried(acknowledgement, bench) == .dropped)
        let end = Self.inLane(5, resolve: true)
        try await send(end, bench, .dead(Sample.failure))
        #expect(try await retried(page, bench) == .done)
        // It is still the newest.
        try await bench.store.apply(.retry, to: [end.id], at: bench.now)
        try await bench.finish(try await bench.claim()[0], Self.began(nil))
        let late = Self.inLane(6)
        try await send(late, bench, .dead(Sample.failure))
        try await send(Self.inLane(7, resolve: true), bench, Self.began(nil))
        #expect(try await retried(late, bench) == .dropped)
        try await send(Self.inLane(8), bench)
    }

    @Test(arguments: Benches())
    func `a conversation goes on although its deliveries were deleted`(_ bench: Bench) async throws {
        func deleteAll() async throws {
            await bench.clock.pass(2 * 86_400)
            let retention = Retention(events: .days(1), deliveries: .days(1), forgotten: .days(30))
            try await bench.store.prune(retention, at: bench.now)
            #expect(try await bench.states() == [])
        }
        for number in 1...3 { try await send(Self.inLane(number, update: true), bench) }
        try await deleteAll()
        for number in 4...6 { try await send(Self.inLane(number, update: true, at: bench.now), bench) }
        try await deleteAll()
        // An update that waits behind an answer.
        let both = [Self.inLane(7, at: bench.now), Self.inLane(8, update: true, at: bench.now)]
        try await bench.enqueue(both)
        for delivery in both {
            let claim = try #require(try await bench.claim().first)
            #expect(claim.delivery.id == delivery.id)
            try await bench.finish(claim, .done(Receipt("200")))
        }
    }

    private static func began(_ first: JSON?) -> RetryPolicy.Next {
        .done(Receipt("200", conversation: ConversationChange("INC1", firstMessage: first)))
    }

    @Test(arguments: Benches())
    func `later messages of a conversation know its first message until it ends, separately for each receiver`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Self.message(1)])
        let first = try await bench.claim()[0]
        #expect(first.attempt.firstMessage == nil)
        #expect(try await bench.finish(first, Self.began(["ts": "1.5"])))
        try await bench.enqueue([
            Self.message(2), Self.message(3, thread: "INC2"), Self.message(4, thread: nil), Self.message(5, to: "mail"),
        ])
        let later = try await bench.claim()
        #expect(later.map(\.attempt.firstMessage) == [["ts": "1.5"], nil, nil, nil])
        // A message that was deleted at the receiver begins a new conversation.
        #expect(try await bench.finish(later[0], Self.began(["ts": "2.5"])))
        for claim in later.dropFirst() { #expect(try await bench.finish(claim, .done(Receipt("200")))) }
        try await bench.enqueue([Self.message(6)])
        let last = try await bench.claim()[0]
        #expect(last.attempt.firstMessage == ["ts": "2.5"])
        #expect(try await bench.finish(last, Self.began(nil)))
        try await bench.enqueue([Self.message(7)])
        #expect(try await bench.claim()[0].attempt.firstMessage == nil)
    }

    @Test(arguments: Benches())
    func `a message that some recipients have begins its conversation when it is given up, not when it is retried`(
        _ bench: Bench
    ) async throws {
        var failure = Sample.failure
        failure.conversation = ConversationChange("INC1", firstMessage: ["ts": "1"])
        try await send(Self.inLane(1), bench, .retry(at: bench.now, failure))
        let again = try #require(try await bench.claim().first)
        #expect(again.attempt.firstMessage == nil)
        #expect(try await bench.finish(again, .dead(failure)))
        try await bench.store.route(Routing(deliveries: [Self.inLane(2)]))
        #expect(try await bench.claim().map(\.attempt.firstMessage) == [["ts": "1"]])
    }

    @Test(arguments: Benches())
    func `an attempt that lost its lease begins no conversation`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1)])
        let lost = try await bench.claim()[0]
        await bench.clock.pass(60)
        try await bench.store.rescue(at: bench.now)
        #expect(try await bench.finish(lost, Self.began(["ts": "1"])) == false)
        #expect(try await bench.claim()[0].attempt.firstMessage == nil)
    }

    @Test(arguments: Benches())
    func `a conversation is forgotten long after its latest message`(_ bench: Bench) async throws {
        let retention = Retention(events: .days(1), deliveries: .days(1), forgotten: .days(2))
        for (number, isKnown) in [(1, false), (2, true), (3, true), (4, false)] {
            try await bench.enqueue([Self.message(number)])
            let claim = try await bench.claim()[0]
            #expect((claim.attempt.firstMessage != nil) == isKnown, "\(number)")
            #expect(try await bench.finish(claim, isKnown ? .done(Receipt("200")) : Self.began(["ts": "1"])))
            await bench.clock.pass(number < 3 ? 86_400 : 3 * 86_400)
            try await bench.store.prune(retention, at: bench.now)
        }
    }
}
