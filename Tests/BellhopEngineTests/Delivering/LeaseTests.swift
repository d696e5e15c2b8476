import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Leases: a delivery belongs to one attempt at a time, and an attempt without a known end counts as possibly received.
@Suite(.timeLimit(.minutes(5))) struct `Leases` {
    let bench: Bench

    init() throws { bench = try Bench() }

    /// Attempts that wait at a gate until it opens or they are cancelled.
    private func waiting(_ gate: Gate) -> ScriptedAction {
        ScriptedAction { _, attempt throws(Failure) in
            if attempt.number > 1 { return Receipt("second") }
            if await gate.pass() { return Receipt("first") }
            throw Failure(.cut, .retry(after: nil), "cancelled")
        }
    }

    @Test func `a lost lease refuses the outcome`() async throws {
        let gate = Gate()
        let action = waiting(gate)
        try await bench.enqueue([TestDelivery("a")])
        let dispatcher = Dispatcher(bench.context, actions: { _ in action })
        async let pending = dispatcher.dispatchPending()
        try await waitUntil { action.count != 0 }
        try await bench.store.start(.only, at: bench.now)  // another run of the agent
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        gate.open()
        _ = try await pending
        #expect(bench.recorder.count("delivery.lease_lost") == 1)
        #expect(try await bench.deliveries().map(\.receipt) == [Receipt("second")])
    }

    @Test func `deliveries left by an earlier run are recovered at start, as possibly received`() async throws {
        try await bench.enqueue([TestDelivery("a"), TestDelivery("b")])
        _ = try await bench.store.claim(limit: 1, excluding: [], until: bench.now + .seconds(300), at: bench.now)
        await bench.clock.advance(by: .seconds(10))
        let action = ScriptedAction()
        let engine = bench.engine(action)
        try await engine.recover()
        _ = try await engine.runOnce()
        let uncertain = Dictionary(uniqueKeysWithValues: action.performed.map { ($0.delivery.text, $0.attempt.lastUncertain) })
        #expect(uncertain == ["a": TestClock().now, "b": nil])
        #expect(bench.recorder.count("delivery.rescued") == 1)
    }

    @Test func `a cancelled attempt counts as possibly received`() async throws {
        let action = waiting(Gate())
        try await bench.enqueue([TestDelivery("a")])
        let loop = bench.dispatching(action)
        try await waitUntil { action.count != 0 }
        await loop.stop()
        #expect(try await bench.deliveries().map(\.state) == [.available])
        await bench.clock.advance(by: .seconds(5))
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        #expect(action.performed.map(\.attempt.lastUncertain) == [nil, TestClock().now])
        #expect(try await bench.deliveries().map(\.receipt) == [Receipt("second")])
    }

    @Test func `an attempt that ended before its cancellation stays done`() async throws {
        let action = ScriptedAction { _, _ in
            withUnsafeCurrentTask { $0?.cancel() }
            return Receipt("done")
        }
        try await bench.enqueue([TestDelivery("a")])
        let task = Task { try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending() }
        try await waitUntil { action.count != 0 }
        task.cancel()
        _ = try await task.value
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test(arguments: [(.other, [nil, TestClock().now]), (.full, [nil]), (.busy, [nil])] as [(StoreError.Kind, [Timestamp?])])
    func `an attempt whose outcome could not be stored is repeated after its lease, unless nothing could be written`(
        _ kind: StoreError.Kind, _ uncertain: [Timestamp?]
    ) async throws {
        bench.store.fail(as: kind) { [clock = bench.clock, end = bench.now + .seconds(301)] in
            $0 == .finish && clock.now < end ? .before : nil
        }
        let action = ScriptedAction()
        try await bench.enqueue([TestDelivery("a")])
        let engine = bench.engine(action)
        let running = Task { try await engine.run() }
        await bench.run(until: bench.now + .seconds(600))
        running.cancel()
        try await running.value
        #expect(action.performed.map(\.attempt.lastUncertain) == uncertain)
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test(arguments: [FaultyStore.Call.claim, .finish])
    func `a delivery is made once even if its claim or its outcome is stored without an answer`(
        _ call: FaultyStore.Call
    ) async throws {
        let action = ScriptedAction()
        let engine = bench.engine(action)
        let running = Task { try await engine.run() }
        // The first claim for a receiver only finds it.
        try await bench.enqueue([TestDelivery("first")])
        await bench.run(until: bench.now + .seconds(1))
        bench.store.failOnce(call, .after)
        let claimed = bench.now
        try await bench.enqueue([TestDelivery("second")])
        await bench.run(until: claimed + .seconds(600))
        running.cancel()
        try await running.value
        #expect(action.texts == ["first", "second"])
        // An attempt that never began counts as possibly received.
        #expect(action.performed.last?.attempt.lastUncertain == (call == .claim ? claimed : nil))
        #expect(try await bench.deliveries().map(\.state) == [.done, .done])
    }

    @Test func `a clock that jumps past the lease of an attempt in flight does not start a second attempt`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let gate = Gate()
        let action = waiting(gate)
        try await bench.enqueue([TestDelivery("a")])
        let engine = bench.engine(action)
        let running = Task { try await engine.run() }
        try await waitUntil { action.count != 0 }
        wall.set(by: .days(1))
        await bench.run(until: wall.steady.now + .seconds(130))
        #expect(action.count == 1)
        gate.open()
        try await waitUntil { bench.recorder.count("delivery.done") != 0 }
        #expect(try await bench.deliveries().map(\.receipt) == [Receipt("first")])
        running.cancel()
        try await running.value
    }
}
