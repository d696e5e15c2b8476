import BellhopCore
import BellhopEngine
import BellhopTesting
import Synchronization
import Testing

/// The order of deliveries in a lane, and the limits on concurrent attempts.
@Suite(.timeLimit(.minutes(5))) struct `Lanes and limits` {
    let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `deliveries of one lane are done in their order, whatever fails`() async throws {
        let action = ScriptedAction { delivery, attempt throws(Failure) in
            if delivery.text.hasSuffix("1"), attempt.number < 3 { throw Failure(.gateway, .retry(after: nil), "502") }
            if delivery.text.hasSuffix("2") { throw Failure(.refused, .giveUp, "400") }
            return Receipt("done")
        }
        let deliveries = (0..<4).flatMap { number in
            ["x", "y"].map { (lane: String) in TestDelivery("\(lane)\(number)", lane: lane) }
        }
        try await bench.enqueue(deliveries)
        let loop = bench.dispatching(action)
        await bench.run(until: bench.now + .seconds(600))
        await loop.stop()
        for lane in ["x", "y"] {
            let order = action.texts.filter { $0.hasPrefix(lane) }
            #expect(order == ["0", "1", "1", "1", "2", "3"].map { lane + $0 })
        }
    }

    @Test func `a slow receiver leaves room for the others`() async throws {
        let gate = Gate()
        let action = ScriptedAction { delivery, _ in
            // One slow attempt ends at once: its slot serves one more attempt, not as many as there are slots.
            if delivery.id.receiver == "slow", delivery.text != "s0" { _ = await gate.pass() }
            return Receipt("done")
        }
        try await bench.enqueue(
            (0..<40).map { TestDelivery("s\($0)", receiver: "slow") } + (0..<40).map { TestDelivery("f\($0)", receiver: "fast") })
        let loop = bench.dispatching(action, limits: .init(inFlight: 64, perReceiver: 8))
        try await waitUntil { try await bench.deliveries(.done).count >= 41 }
        #expect(action.maxAtOnce["slow", default: 0] <= 8)
        #expect((4...9).contains(action.performed.count { $0.delivery.id.receiver == "slow" }))
        gate.open()
        try await waitUntil { try await bench.deliveries(.done).count >= 80 }
        await loop.stop()
        #expect(action.count == 80)
        #expect(action.maxAtOnce.values.allSatisfy { $0 <= 8 })
    }

    @Test(arguments: [(1, 1), (3, 1), (1, 3), (5, 4), (256, 64)])
    func `the limits are kept and all deliveries are done`(_ inFlight: Int, _ perReceiver: Int) async throws {
        let action = ScriptedAction { _, _ in
            for _ in 0..<5 { await Task.yield() }
            return Receipt("done")
        }
        try await bench.enqueue((0..<60).map { TestDelivery("\($0)", receiver: "r\($0 % 3)") })
        let dispatcher = Dispatcher(
            bench.context, limits: .init(inFlight: inFlight, perReceiver: perReceiver), actions: { _ in action })
        let loop = Task { await dispatcher.run() }
        while try await bench.deliveries(.done).count < 60 {
            #expect(dispatcher.inFlight <= inFlight)
            await Task.yield()
        }
        await loop.stop()
        #expect(action.maxAtOnce.values.allSatisfy { $0 <= perReceiver })
        #expect(action.count == 60)
        #expect(dispatcher.inFlight == 0)
    }

    @Test func `a due delivery is performed on time although another receiver is busy`() async throws {
        let gate = Gate()
        let action = ScriptedAction { delivery, _ in
            if delivery.id.receiver == "slow" { _ = await gate.pass() }
            return Receipt("done")
        }
        let start = bench.now
        try await bench.enqueue(
            (0..<9).map { TestDelivery("s\($0)", receiver: "slow") } + [
                TestDelivery("later", receiver: "fast", runAt: start + .seconds(20))
            ])
        let loop = bench.dispatching(action, limits: .init(perReceiver: 4))
        await bench.run(until: start + .seconds(60))
        let later = action.performed.first { $0.delivery.text == "later" }
        #expect(later.map { $0.attempt.now <= start + .seconds(21) } == true)
        await loop.stop()
    }

    /// A rate that each claim uses up with its first attempts. A class with a mutex, because attempts run in tasks of their own.
    private final class CountingRate: AttemptRate {
        private let reserved = Mutex(0)
        private let most: Int

        init(most: Int) { self.most = most }

        /// The attempts for which requests are reserved.
        var open: Int { reserved.withLock { $0 } }
        var next: Timestamp? { nil }

        func reserve(upTo attempts: Int) -> Int {
            reserved.withLock { $0 += min(attempts, most) }
            return min(attempts, most)
        }
        func giveBack(_ attempts: Int) { reserved.withLock { $0 -= attempts } }
        func setWaiting(_ isWaiting: Bool) {}
        func spend<Value: Sendable>(_ attempt: () async -> Value) async -> Value {
            giveBack(1)
            return await attempt()
        }
    }

    @Test func `what is reserved for deliveries that are not made is given back, even if the store fails`() async throws {
        let (rate, action) = (CountingRate(most: 5), ScriptedAction())
        let dispatcher = Dispatcher(bench.context, receivers: { _ in ReceiverLimits(rate: rate) }, actions: { _ in action })
        for text in ["a", "b"] {
            try await bench.enqueue([TestDelivery(text)])
            try await dispatcher.dispatchPending()
            #expect(rate.open == 0)
        }
        try await bench.enqueue([TestDelivery("c")])
        bench.store.failOnce(.claim)
        await #expect(throws: StoreError.self) { try await dispatcher.dispatchPending() }
        #expect(rate.open == 0)
        try await dispatcher.dispatchPending()
        #expect(action.texts == ["a", "b", "c"])
    }

    @Test func `a due delivery is performed on time although a slow attempt has used up its receiver's rate`() async throws {
        let gate = Gate()
        let action = ScriptedAction { delivery, _ in
            if delivery.text == "slow" { _ = await gate.pass() }
            return Receipt("done")
        }
        let start = bench.now
        try await bench.enqueue([TestDelivery("slow"), TestDelivery("later", runAt: start + .seconds(20))])
        let loop = bench.dispatching(action, receivers: { _ in ReceiverLimits(rate: CountingRate(most: 1)) })
        await bench.run(until: start + .seconds(60))
        let later = action.performed.first { $0.delivery.text == "later" }
        #expect(later.map { $0.attempt.now <= start + .seconds(21) } == true)
        await loop.stop()
    }

    @Test func `a delivery that is created while the dispatcher sleeps is performed at once`() async throws {
        let action = ScriptedAction()
        let shelf = try await bench.shelf(logRule(on: "task_created"))
        let source = bench.source(tasks(0..<2))
        let engine = bench.engine(action, shelf: shelf, sources: [source])
        let running = Task { try await engine.run() }
        try await waitUntil { bench.recorder.count("source.baseline") != 0 }
        source.put(task("new"))
        await bench.run(until: bench.now + .seconds(60))
        try await waitUntil { action.count != 0 }
        #expect(action.performed[0].attempt.now == TestClock().now + .seconds(60))
        running.cancel()
        try await running.value
    }
}
