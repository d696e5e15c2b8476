import BellhopCore
import BellhopTesting
import Testing

@Suite struct `Coalescing` {
    private static func message(_ number: Int, thread: String? = nil, lane: String? = nil, at now: Timestamp = Sample.now)
        -> Delivery
    {
        var delivery = Sample.delivery(number, lane: lane, action: "notify", at: now)
        delivery.arguments = .message(
            Message(
                title: [.value("Task \(number)")], severity: number == 7 ? .error : .info,
                link: .init(label: "Open", address: "https://example.com/\(number)"), thread: thread))
        delivery.expires = now + .seconds(100 * number)
        return delivery
    }

    @Test(arguments: Benches())
    func `more waiting messages than the limit become one, and the receipt of each names it`(_ bench: Bench) async throws {
        try await bench.enqueue((1...40).map { Self.message($0) })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 40, at: bench.now) == 0)
        #expect(try await bench.store.coalesce(receiver: "chat", above: 39, at: bench.now) == 40)
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 0)
        let claims = try await bench.claim()
        #expect(claims.count == 1)
        let one = try #require(claims.first?.delivery)
        let message = try #require(one.arguments.message)
        #expect(message.title.plainText == "40 messages")
        #expect(message.list?.items.count == 20 && message.list?.more == 20)
        #expect(message.list?.items.first?.plainText == "Task 1 (https://example.com/1)")
        #expect(message.severity == .error)
        #expect(one.expires == Sample.now + .seconds(4000))
        let records = try await bench.store.deliveries(DeliveryQuery(states: [.joined]))
        #expect(records.count == 40)
        #expect(records.allSatisfy { $0.receipt?.summary == "joined delivery \(one.id.text)" && $0.attempts == 0 })
    }

    @Test(arguments: Benches())
    func `one message for many has the highest severity of all, also of those that it only counts`(_ bench: Bench) async throws {
        let deliveries = (1...40).map { number in
            var delivery = Self.message(number)
            delivery.arguments = .message(Message(title: [.value("Task \(number)")], severity: number == 40 ? .critical : .info))
            return delivery
        }
        try await bench.store.route(Routing(deliveries: deliveries))
        #expect(try await bench.store.coalesce(receiver: "chat", above: 39, at: bench.now) == 40)
        // The second attempt is made without the first message, which has expired by then.
        for count in [40, 39] {
            let claim = try #require(try await bench.claim().first)
            let message = try #require(claim.delivery.arguments.message)
            #expect(message.title.plainText == "\(count) messages" && message.severity == .critical)
            #expect(message.list?.items.count == 20 && message.list?.more == count - 20)
            try await bench.finish(claim, .retry(at: bench.after(150), Sample.failure))
            await bench.clock.pass(150)
        }
    }

    @Test(arguments: Benches())
    func `joined messages are shown with what became of the message that has them`(_ bench: Bench) async throws {
        try await bench.enqueue((1...3).map { Self.message($0) })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 2, at: bench.now) == 3)
        func words() async throws -> Set<String> {
            let records = try await bench.store.deliveries(DeliveryQuery(states: [.joined], limit: 99))
            #expect(records.count == 3)
            return Set(
                records.map { $0.joined?.summary.replacing("joined delivery \($0.joined?.id ?? ""), which ", with: "") ?? "" })
        }
        #expect(try await words() == ["waits"])
        #expect(try await bench.store.status().joined == [.available: 3])
        let claim = try #require(try await bench.claim().first)
        #expect(try await words() == ["is being sent"])
        let failure = Failure(.refused, .giveUp, "It says no.")
        #expect(try await bench.finish(claim, .dead(failure)))
        #expect(try await words() == ["failed: It says no."])
        let status = try await bench.store.status()
        #expect(status.deliveries == [.joined: 3, .dead: 1] && status.joined == [.dead: 3])
        #expect(try await bench.store.apply(.retry, to: [claim.delivery.id], at: bench.now) == 1)
        #expect(try await words() == ["waits: It says no."])
        let again = try #require(try await bench.claim().first)
        #expect(try await bench.finish(again, .done(Receipt("201"))))
        #expect(try await words() == ["was sent"])
        #expect(JoinedDelivery(id: "a", state: nil).summary == "joined delivery a, which is no longer stored")
    }

    @Test(arguments: Benches())
    func `a message that expires before the one that has it is sent is left out of it, and is dead`(_ bench: Bench) async throws {
        try await bench.enqueue((1...4).map { Self.message($0) })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 3, at: bench.now) == 4)
        /// Claims the message, and retries it after some seconds.
        func next(after seconds: Int) async throws -> (claim: Claim, text: String) {
            let claim = try #require(try await bench.claim().first)
            try await bench.finish(claim, .retry(at: bench.after(seconds), Sample.failure))
            await bench.clock.pass(seconds)
            guard case .message(let message) = claim.delivery.arguments else { return (claim, "") }
            let lines = message.list?.items.map { $0.plainText.prefix(6) }.joined(separator: ", ") ?? "no list"
            return (claim, "\(message.title.plainText): \(lines)")
        }
        #expect(try await next(after: 150).text == "4 messages: Task 1, Task 2, Task 3, Task 4")
        #expect(try await next(after: 200).text == "3 messages: Task 2, Task 3, Task 4")
        let dead = try await bench.store.deliveries(DeliveryQuery(states: [.dead]))
        #expect(dead.map(\.delivery.id) == [Self.message(1).id])
        #expect(dead.first?.failure?.reason == .expired && dead.first?.receipt == nil)
        #expect(try await bench.store.unrouted(limit: 9).map(\.event.type) == [.deliveryDead])
        let (single, text) = try await next(after: 100)
        #expect(text == "Task 4: no list")
        // The last one has expired too: the delivery itself expires, unless a person retries it.
        #expect(single.delivery.expires.map { $0 < bench.now } == true)
        #expect(try await bench.store.apply(.retry, to: [single.delivery.id], at: bench.now) == 1)
        let retried = try #require(try await bench.claim().first)
        #expect(retried.delivery.expires == nil && retried.delivery.arguments == single.delivery.arguments)
        #expect(try await bench.store.status().joined == [.running: 1])
    }

    @Test(arguments: Benches())
    func `messages of several rules that become one are still listed under their rules`(_ bench: Bench) async throws {
        var other = Self.message(2)
        other.id.rule = "other"
        try await bench.enqueue([Self.message(1), other])
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 2)
        let listed = try await bench.store.deliveries(DeliveryQuery(rule: "other"))
        #expect(listed.map(\.delivery.id) == [other.id] && listed.first?.joined?.state == .available)
    }

    @Test(arguments: Benches())
    func `other actions, messages with a thread and possibly sent messages are not coalesced`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1)])
        _ = try await bench.claim(for: 1)
        await bench.clock.pass(2)
        try await bench.store.rescue(at: bench.now)
        let later = bench.after(60)
        var notYet = Self.message(30)
        notYet.runAt = later
        try await bench.enqueue(
            [Self.message(2, thread: "INC1"), Sample.delivery(3, action: "webhook"), notYet]
                + (4...9).map { Self.message($0) })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 2, at: bench.now) == 6)
        let left = try await bench.store.deliveries(DeliveryQuery(states: [.available])).map(\.delivery.id)
        #expect(left.prefix(4) == [Self.message(1), Self.message(2), Sample.delivery(3), notYet].map(\.id)[...])
        #expect(left.count == 5)
        #expect(try await bench.store.coalesce(receiver: "other", above: 0, at: later) == 0)
    }

    @Test(arguments: Benches())
    func `messages that were tried, expired, mention people or have followers are not coalesced`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1)])
        let tried = try #require(try await bench.claim().first)
        try await bench.finish(tried, .retry(at: bench.now, Sample.failure))
        var mentioning = Self.message(30)
        if case .message(var message) = mentioning.arguments {
            message.mentions = [.user("U1")]
            mentioning.arguments = .message(message)
        }
        var following = Sample.delivery(41, action: "webhook")
        following.after = [Self.message(40).id]
        var expired = Self.message(2)
        expired.expires = bench.now + .seconds(1)
        try await bench.enqueue([expired, mentioning, Self.message(40), following] + (10...12).map { Self.message($0) })
        await bench.clock.pass(2)
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 3)
        let left = try await bench.store.deliveries(DeliveryQuery(states: [.available])).map(\.delivery.id)
        #expect(left.prefix(4) == [Self.message(1), expired, mentioning, Self.message(40)].map(\.id)[...])
        #expect(left.count == 5)
        #expect(try await bench.store.deliveries(DeliveryQuery(states: [.waiting])).map(\.delivery.id) == [following.id])
    }

    @Test(arguments: Benches())
    func `the messages of a lane are coalesced only if none of the lane is running`(_ bench: Bench) async throws {
        try await bench.enqueue([Self.message(1, lane: "busy")])
        let running = try #require(try await bench.claim().first)
        try await bench.enqueue(
            [Self.message(2, lane: "busy")] + (3...6).map { Self.message($0, lane: "calm") }
                + [Self.message(8, lane: "alone")])
        #expect(try await bench.store.coalesce(receiver: "chat", above: 3, at: bench.now) == 5)
        let claims = try await bench.claim()
        #expect(claims.count == 1)
        try await bench.finish(running, .done(Sample.receipt))
        #expect(try await bench.claim().map(\.delivery.id) == [Self.message(2).id])
    }

    @Test(arguments: Benches())
    func `the messages of one lane are coalesced, and a single message is not`(_ bench: Bench) async throws {
        try await bench.enqueue((1...30).map { Self.message($0, lane: "rule") })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 20, at: bench.now) == 30)
        let claims = try await bench.claim()
        try #require(claims.count == 1)
        let message = try #require(claims[0].delivery.arguments.message)
        #expect(message.list?.items.map(\.plainText).first?.hasPrefix("Task 1 ") == true)
        try await bench.finish(claims[0], .done(Sample.receipt))
        // One message before a message with a thread, and others behind it.
        try await bench.enqueue(
            [Self.message(41, lane: "rule"), Self.message(42, thread: "INC1", lane: "rule")]
                + (43...50).map { Self.message($0, lane: "rule") })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 2, at: bench.now) == 0)
        #expect(try await bench.claim().map(\.delivery.id) == [Self.message(41, lane: "rule").id])
    }

    @Test(arguments: Benches())
    func `later messages of a rule and lane wait until the message that has the earlier ones has ended`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Self.message(1, lane: "a"), Self.message(9, lane: "b")])
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 2)
        let later = [Self.message(11, lane: "a"), Self.message(19, lane: "b"), Self.message(20, lane: "c")]
        try await bench.enqueue(later)
        let claims = try await bench.claim()
        let one = try #require(claims.first)
        #expect(claims.map(\.delivery.id) == [one.delivery.id, later[2].id] && one.delivery.id.step.isCoalesced)
        try await bench.finish(one, .retry(at: bench.after(200), Sample.failure))
        await bench.clock.pass(150)
        #expect(try await bench.claim().isEmpty)
        await bench.clock.pass(50)
        // Task 1 has expired by now and is left out, so that its lane goes on.
        let again = try #require(try await bench.claim().first)
        #expect(again.delivery.id == one.delivery.id)
        #expect(try await bench.claim().map(\.delivery.id) == [later[0].id])
        try await bench.finish(again, .done(Sample.receipt))
        #expect(try await bench.claim().map(\.delivery.id) == [later[1].id])
    }

    @Test(arguments: Benches())
    func `a delivery that goes on because an expired message is left out does not run beside another of its lane`(
        _ bench: Bench
    ) async throws {
        try await bench.enqueue([Self.message(1, lane: "a"), Self.message(9, lane: "b")])
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 2)
        let next = Self.message(11, lane: "a")
        var last = Self.message(12, lane: "a")
        last.id.rule = "the other rule"
        try await bench.enqueue([next, last])
        // Task 1 expires. Its rule's next message then comes before that of the other rule, which was due in the same claim.
        await bench.clock.pass(150)
        let claims = try await bench.claim()
        try #require(claims.count == 1)
        #expect(claims[0].delivery.id.step.isCoalesced)
        let claim = try #require(try await bench.claim().first)
        #expect(claim.delivery.id == next.id)
        #expect(try await bench.claim().isEmpty)
        try await bench.finish(claim, .done(Sample.receipt))
        #expect(try await bench.claim().map(\.delivery.id) == [last.id])
    }

    @Test(arguments: StoreUnderTest.allCases)
    func `a coalesced message that is dropped, dead or held lets the later ones go on`(_ kind: StoreUnderTest) async throws {
        for end: RetryPolicy.Next? in [.dead(Sample.failure), .held(Sample.failure), nil] {
            let bench = Bench(kind)
            try await bench.enqueue((1...2).map { Self.message($0, lane: "a") })
            #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 2)
            try await bench.enqueue([Self.message(3, lane: "a")])
            // However old the joined messages are.
            _ = try await bench.store.prune(Retention(deliveries: .seconds(1)), at: bench.after(100))
            if let end {
                let claims = try await bench.claim()
                try #require(claims.count == 1)
                try await bench.finish(claims[0], end)
            } else {
                let one = Delivery.coalescing(Self.message(1, lane: "a"))
                #expect(try await bench.store.apply(.drop, to: [one], at: bench.now) == 1)
            }
            #expect(try await bench.claim().map(\.delivery.id) == [Self.message(3, lane: "a").id])
        }
    }

    @Test(arguments: Benches())
    func `lanes whose names look the same go on each by itself`(_ bench: Bench) async throws {
        let lanes = ["caf\u{e9}", "cafe\u{301}"]
        let others = lanes.enumerated().map { Sample.delivery($0 + 3, lane: $1, rule: "other") }
        try await bench.enqueue(lanes.enumerated().map { Self.message($0 + 1, lane: $1) } + others)
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now) == 2)
        let claimed = Set(try await bench.claim().map(\.delivery.id))
        #expect(claimed.count == 3)
        #expect(claimed.isSuperset(of: others.map(\.id)))
    }

    @Test(arguments: Benches())
    func `messages are coalesced behind thousands of messages with a thread from another rule`(_ bench: Bench) async throws {
        let others = (1...2000).map { number in
            var other = Self.message(number, thread: "INC\(number)")
            other.id.rule = "a"
            return other
        }
        try await bench.enqueue(others + (2001...2030).map { Self.message($0) })
        #expect(try await bench.store.coalesce(receiver: "chat", above: 20, at: bench.now) == 30)
    }

    @Test(arguments: Benches())
    func `whichever statement fails, all messages are coalesced or none`(_ bench: Bench) async throws {
        try await bench.enqueue((1...4).map { Self.message($0) })
        let before = try await bench.tested.dump()
        let (count, failures) = try await bench.failingEachStatement {
            try await bench.store.coalesce(receiver: "chat", above: 1, at: bench.now)
        } afterFailure: { _ async throws in
            #expect(try await bench.tested.dump() == before)
        }
        #expect(count == 4 && failures > 7)
    }
}
