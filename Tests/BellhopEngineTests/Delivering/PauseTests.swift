import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite(.timeLimit(.minutes(5))) struct `Paused receivers` {
    let bench: Bench

    init() throws { bench = try Bench() }

    private static let gone = Failure(.goneOrHidden, .pauseReceiver, "chat answered 404.")
    private static let once = RetryPolicy(attempts: 1, base: .seconds(1), cap: .seconds(1))

    @Test func `a refusal pauses the receiver across restarts, counts no attempt, and alerts another receiver once`() async throws
    {
        let action = ScriptedAction(failing: Self.gone) { delivery, _ in delivery.id.receiver == "chat" }
        try await bench.enqueue((0..<20).map { TestDelivery("\(100 + $0)", retry: Self.once) })
        let limits: @Sendable (String) -> ReceiverLimits = { ReceiverLimits(onPaused: $0 == "chat" ? "pager" : nil) }
        try await Dispatcher(bench.context, receivers: limits, actions: { _ in action }).dispatchPending()
        let met = action.performed.count { $0.delivery.id.receiver == "chat" }
        #expect(met >= 1 && met <= 3)
        #expect(try await bench.deliveries(.available).allSatisfy { $0.delivery.id.receiver == "chat" })
        let alerts = action.performed.filter { $0.delivery.id.receiver == "pager" }
        #expect(alerts.count == 1)
        let message = try #require(alerts.first?.delivery.arguments.message)
        #expect(message.title.plainText == "The receiver chat is paused")
        #expect(try await bench.eventLines() == ["receiver_paused receiver/chat chat answered 404."])
        #expect(bench.recorder.count("receiver.paused") == 1)
        await bench.clock.advance(by: .days(30))
        try await Dispatcher(bench.restarted, receivers: limits, actions: { _ in action }).dispatchPending()
        #expect(action.performed.count { $0.delivery.id.receiver == "chat" } == met)
    }

    @Test func `a resumed receiver gets the waiting deliveries, except expired ones`() async throws {
        let action = ScriptedAction()
        let stop = ReceiverStop(receiver: "chat", cause: .person, since: bench.now, until: nil, reason: "holiday")
        #expect(try await bench.store.pause(ReceiverPause(stop)))
        try await bench.enqueue([
            TestDelivery("1"), TestDelivery("2", expires: bench.now + .seconds(60)), TestDelivery("3"),
            TestDelivery("4", receiver: "other"),
        ])
        let engine = bench.engine(action)
        let dispatcher = Dispatcher(bench.context, actions: { _ in action })
        #expect(try await dispatcher.dispatchPending() == 1)
        await bench.clock.advance(by: .days(2))
        #expect(try await dispatcher.dispatchPending() == 0)
        #expect(try await engine.resume("chat"))
        #expect(try await engine.resume("chat") == false)
        try await dispatcher.dispatchPending()
        #expect(action.texts.sorted() == ["1", "3", "4"])
        #expect(try await bench.deliveries(.dead).map(\.failure?.reason) == [.expired])
    }

    @Test func `a pause while attempts are in flight lets them end`() async throws {
        let gate = Gate()
        let action = ScriptedAction(waitingAt: gate)
        try await bench.enqueue((0..<10).map { TestDelivery("\($0)") })
        let engine = bench.engine(action)
        let loop = bench.dispatching(action)
        try await waitUntil { action.count == 3 }
        let stop = ReceiverStop(receiver: "chat", cause: .person, since: bench.now, until: nil, reason: "holiday")
        #expect(try await engine.pause(stop))
        gate.open()
        try await waitUntil { try await bench.deliveries(.done).count == 3 }
        await bench.run(until: bench.now + .seconds(600))
        #expect(action.count == 3)
        #expect(try await engine.resume("chat"))
        try await waitUntil { try await bench.deliveries(.done).count == 10 }
        await loop.stop()
    }

    @Test func `a refusal of an attempt that began before the resumption does not pause the receiver again`() async throws {
        let gate = Gate()
        let resumed = bench.now + .seconds(10)
        let action = ScriptedAction { _, attempt throws(Failure) in
            _ = await gate.pass()
            if attempt.now < resumed { throw Self.gone }
            return Receipt("done")
        }
        try await bench.enqueue((0..<3).map { TestDelivery("\($0)", retry: Self.once) })
        let engine = bench.engine(action)
        let loop = bench.dispatching(action)
        try await waitUntil { action.count == 3 }
        let stop = ReceiverStop(receiver: "chat", cause: .person, since: bench.now, until: nil, reason: "repair")
        #expect(try await engine.pause(stop))
        await bench.clock.advance(by: .seconds(10))
        #expect(try await engine.resume("chat"))
        gate.open()
        try await waitUntil { try await bench.deliveries(.done).count == 3 }
        await loop.stop()
        #expect(action.count == 6)
        #expect(try await bench.store.stops().isEmpty)
        #expect(action.performed.allSatisfy { $0.attempt.number == 1 })
    }

    @Test func `a refusal of an attempt that began before the receiver got new secrets does not pause it`() async throws {
        let gate = Gate()
        let changed = bench.now + .seconds(10)
        let action = ScriptedAction { _, attempt throws(Failure) in
            _ = await gate.pass()
            if attempt.now < changed { throw Self.gone }
            return Receipt("done")
        }
        try await bench.enqueue([TestDelivery("1", retry: Self.once)])
        let engine = bench.engine(action)
        let loop = bench.dispatching(action)
        try await waitUntil { action.count == 1 }
        await bench.clock.advance(by: .seconds(10))
        try await engine.ignoreEarlierRefusals(by: "chat")
        gate.open()
        try await waitUntil { try await bench.deliveries(.done).count == 1 }
        await loop.stop()
        #expect(try await bench.store.stops().isEmpty)
    }

    @Test func `a resumption while a pause is being applied ends it, in the store and in this run`() async throws {
        let action = ScriptedAction()
        let engine = Engine(bench.context, shelf: RuleShelf(), sources: [], actions: { _ in action })
        let (isWaiting, resumptions) = (Gate(), Recording<Bool>())
        bench.store.interrupt(.pause, .after) {
            Task {
                await FIFOGate.$onWaiting.withValue(FIFOGate.Release { isWaiting.open() }) {
                    resumptions.add((try? await engine.resume("chat")) ?? false)
                }
                isWaiting.open()
            }
            _ = await isWaiting.pass()
        }
        let stop = ReceiverStop(receiver: "chat", cause: .person, since: bench.now, until: nil, reason: "repair")
        #expect(try await engine.pause(stop))
        try await waitUntil { resumptions.all == [true] }
        #expect(try await bench.store.stops().isEmpty)
        try await bench.enqueue([TestDelivery("1")])
        #expect(try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending() == 1)
    }

    @Test func `a resumption that cannot be stored leaves the receiver paused`() async throws {
        let action = ScriptedAction()
        let stop = ReceiverStop(receiver: "chat", cause: .person, since: bench.now, until: nil, reason: "repair")
        #expect(try await bench.store.pause(ReceiverPause(stop)))
        try await bench.enqueue([TestDelivery("1")])
        let engine = bench.engine(action)
        let dispatcher = Dispatcher(bench.context, actions: { _ in action })
        #expect(try await dispatcher.dispatchPending() == 0)
        bench.fail(statement: 1)
        await #expect(throws: StoreError.self) { _ = try await engine.resume("chat") }
        bench.stopFailing()
        #expect(try await dispatcher.dispatchPending() == 0)
        #expect(try await bench.store.stops().count == 1)
        #expect(try await engine.resume("chat"))
        #expect(try await dispatcher.dispatchPending() == 1)
    }

    @Test func `a pause that could not be stored is stored with the next refusal`() async throws {
        let action = ScriptedAction(failing: Self.gone)
        try await bench.enqueue([TestDelivery("1", retry: Self.once)])
        bench.fail(statement: 8)
        _ = try? await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        bench.stopFailing()
        // Another run, which finds the delivery running.
        try await bench.store.start(.only, at: bench.now)
        try await Dispatcher(bench.restarted, actions: { _ in action }).dispatchPending()
        #expect(try await bench.store.stops().map(\.cause) == [.refusal])
        #expect(try await bench.eventLines().count == 1)
    }
}
