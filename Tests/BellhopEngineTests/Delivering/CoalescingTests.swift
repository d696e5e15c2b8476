import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite(.timeLimit(.minutes(5))) struct `Coalescing waiting messages` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private static func enqueue(_ bench: Bench, _ numbers: Range<Int>, lane: String? = nil) async throws {
        let deliveries = numbers.map { number in
            let retry = RetryPolicy(attempts: 99, base: .seconds(8), cap: .seconds(60))
            var delivery = TestDelivery("\(number)", lane: lane, action: "notify", retry: retry).delivery(at: bench.now)
            delivery.arguments = .message(Message(title: [.value("Task \(number)")]))
            return delivery
        }
        try await bench.store.route(Routing(deliveries: deliveries))
        bench.context.bells.dispatcher.ring()
    }

    @Test(arguments: [nil, 10]) func `messages that wait during a rest are coalesced if the connection allows it`(_ above: Int?)
        async throws
    {
        let clock = bench.clock
        let end = bench.now + .seconds(300)
        let action = ScriptedAction { _, attempt throws(Failure) in
            if clock.now < end { throw Failure(.throttled, .rest(end - clock.now), "429") }
            return Receipt("done")
        }
        let start = bench.now
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(coalescesAbove: above) })
        try await Self.enqueue(bench, 100..<102)
        await bench.run(until: start + .seconds(60))
        try await Self.enqueue(bench, 102..<202)
        await bench.run(until: end + .seconds(400))
        await loop.stop()
        let sent = action.performed.filter { $0.attempt.now >= end }
        #expect(sent.count == (above == nil ? 102 : 1))
        #expect(bench.recorder.count("delivery.coalesced") == (above == nil ? 0 : 1))
        #expect(try await bench.deliveries(.done, .joined).count == (above == nil ? 102 : 103))
        #expect(try await bench.deliveries(.available, .running, .dead).isEmpty)
    }

    @Test func `messages that waited behind one that was retried arrive as one`() async throws {
        let clock = bench.clock
        let end = bench.now + .seconds(100)
        let action = ScriptedAction(failing: Failure(.gateway, .retry(after: nil), "502")) { _, _ in clock.now < end }
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(concurrency: 1, coalescesAbove: 10) })
        try await Self.enqueue(bench, 100..<101, lane: "one")
        await bench.run(until: bench.now + .seconds(1))
        try await Self.enqueue(bench, 101..<121, lane: "one")
        await bench.run(until: end + .seconds(1000))
        await loop.stop()
        let sent = action.performed.filter { $0.attempt.now >= end }
        #expect(sent.count == 2, "\(sent.map(\.delivery.id.step.text))")
        #expect(try await bench.deliveries(.available, .running, .dead).isEmpty)
    }

    @Test func `a coalesced message is retried as one, and a refusal leaves it dead with its list`() async throws {
        let clock = bench.clock
        let end = bench.now + .seconds(300)
        let action = ScriptedAction { _, attempt throws(Failure) in
            if clock.now < end { throw Failure(.throttled, .rest(end - clock.now), "429") }
            if attempt.number == 1 { throw Failure(.gateway, .retry(after: nil), "502") }
            throw Failure(.refused, .giveUp, "400")
        }
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(coalescesAbove: 10) })
        try await Self.enqueue(bench, 100..<101)
        await bench.run(until: bench.now + .seconds(60))
        try await Self.enqueue(bench, 101..<121)
        await bench.run(until: end + .seconds(100))
        let tried = action.performed.filter { $0.attempt.now >= end }
        let joined = tried.filter { $0.delivery.id.step.text.hasSuffix(Delivery.coalesced) }
        #expect(joined.map(\.attempt.number) == [1, 2])
        // More that waits meanwhile begins another message: this one was tried.
        try await Self.enqueue(bench, 121..<122)
        await bench.run(until: bench.now + .seconds(600))
        await loop.stop()
        let dead = try await bench.deliveries(.dead)
        let record = try #require(dead.first { $0.delivery.id == joined.first?.delivery.id })
        let list = try #require(record.delivery.arguments.message?.list)
        #expect(list.items.count + list.more >= 20, "\(list)")
        #expect(try await bench.deliveries(.available, .running).isEmpty)
    }

    @Test func `of many messages for an idle receiver none is sent by itself`() async throws {
        let action = ScriptedAction()
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(coalescesAbove: 10) })
        try await Self.enqueue(bench, 100..<101)
        await bench.run(until: bench.now + .seconds(1))
        // More than become one at once.
        try await Self.enqueue(bench, 101..<2501)
        await bench.run(until: bench.now + .seconds(60))
        await loop.stop()
        let steps = action.performed.map(\.delivery.id.step)
        #expect(steps.filter { !$0.isCoalesced }.count == 1 && steps.filter(\.isCoalesced).count == 3, "\(steps)")
        #expect(try await bench.deliveries(.available, .running, .dead).isEmpty)
    }

    @Test func `messages that come just before a claim are coalesced, too`() async throws {
        let bench = bench
        let action = ScriptedAction()
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(coalescesAbove: 10) })
        try await Self.enqueue(bench, 100..<101)
        await bench.run(until: bench.now + .seconds(1))
        bench.store.interrupt(.claim) { try? await Self.enqueue(bench, 112..<212) }
        try await Self.enqueue(bench, 101..<112)
        await bench.run(until: bench.now + .seconds(60))
        await loop.stop()
        #expect(action.performed.count == 2, "\(action.performed.map(\.delivery.id.step))")
        #expect(try await bench.deliveries(.joined).count == 111)
    }

    @Test func `a message that expires in another one is reported at once, and rules see its event`() async throws {
        let (clock, start) = (bench.clock, bench.now)
        let end = start + .seconds(60)
        let shelf = try await bench.shelf(logRule(on: "delivery_dead"))
        let action = ScriptedAction { delivery, _ throws(Failure) in
            if delivery.action == "notify", clock.now < end { throw Failure(.throttled, .rest(end - clock.now), "429") }
            return Receipt("done")
        }
        let deliveries = [10, 1000].map { seconds in
            var delivery = TestDelivery(
                "\(seconds)", action: "notify", expires: start + .seconds(seconds)
            ).delivery(at: start)
            delivery.arguments = .message(Message(title: [.value("Task \(seconds)")]))
            return delivery
        }
        try await bench.store.route(Routing(deliveries: deliveries))
        #expect(try await bench.store.coalesce(receiver: "chat", above: 1, at: start) == 2)
        let service = runAsService(bench.engine(action, shelf: shelf))
        await bench.run(until: end + .seconds(20))
        #expect(bench.recorder.count("delivery.dead") == 1)
        #expect(action.texts.contains { $0.hasPrefix("tell: delivery_dead") })
        try await service.stop()
    }
}
