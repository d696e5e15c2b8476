import BellhopCore
import BellhopTesting
import Synchronization
import Testing

@testable import BellhopEngine

@Suite(.timeLimit(.minutes(5))) struct `The breaker of a receiver` {
    private static let unreachable = Failure(.unreachable, .retry(after: nil), "No connection.")

    @Test func `an open breaker saves the attempts of waiting deliveries, and an answer lets all be sent`() async throws {
        let bench = try Bench()
        let isUp = Mutex(false)
        let action = ScriptedAction(failing: Self.unreachable) { _, _ in !isUp.withLock { $0 } }
        let retry = RetryPolicy(attempts: 12, base: .seconds(5), cap: .seconds(3600))
        try await bench.enqueue((0..<40).map { TestDelivery("\(100 + $0)", retry: retry) })
        let start = bench.now
        let loop = bench.dispatching(action)
        await bench.run(until: start + .seconds(600))
        // Five that open the breaker, perhaps a few that began with them, and the trials: after 5, 10, 20, 40, 80, 120 s, …
        #expect(action.count <= 20, "\(action.count) attempts")
        let waiting = try await bench.deliveries(.available)
        #expect(waiting.count == 40)
        #expect(waiting.count { $0.attempts == 0 } >= 20)
        let stops = try await bench.store.stops()
        #expect(stops.map(\.cause) == [.failures])
        #expect(bench.recorder.count("receiver.breaker_trial") >= 5)
        isUp.withLock { $0 = true }
        await bench.run(until: start + .seconds(1200))
        await loop.stop()
        #expect(try await bench.deliveries(.done).count == 40)
        #expect(bench.recorder.count("receiver.breaker_closed") == 1)
        #expect(try await bench.store.stops().allSatisfy { !$0.lasts(at: bench.now) })
    }

    @Test func `once a receiver is back, deliveries that would wait for hours are sent after the trial`() async throws {
        let bench = try Bench()
        let isUp = Mutex(false)
        let action = ScriptedAction(failing: Self.unreachable) { _, _ in !isUp.withLock { $0 } }
        let start = bench.now
        try await bench.enqueue(["a", "b", "c"].map { TestDelivery($0, retry: .standard) })
        let loop = bench.dispatching(action)
        await bench.run(until: start + .seconds(6 * 3600))
        let attempts = action.count
        let first = try #require(try await bench.store.nextDue(excluding: []))
        #expect(first > bench.now + .seconds(600))
        isUp.withLock { $0 = true }
        try await bench.enqueue([TestDelivery("new", retry: .standard)])
        await bench.run(until: bench.now + .seconds(1))
        await loop.stop()
        let sent = action.texts.dropFirst(attempts)
        #expect(sent.first == "new")
        #expect(sent.sorted() == ["a", "b", "c", "new"])
        #expect(try await bench.deliveries(.done).count == 4)
        #expect(bench.recorder.count("receiver.breaker_closed") == 1)
    }

    @Test func `deliveries that fail beside others that are made keep their waits`() async throws {
        let bench = try Bench()
        let action = ScriptedAction(failing: Self.unreachable) { delivery, _ in delivery.text.hasPrefix("wrong") }
        let start = bench.now
        try await bench.enqueue((0..<6).map { TestDelivery("wrong \($0)", retry: .standard) })
        let loop = bench.dispatching(action)
        for minute in 1...60 {
            try await bench.enqueue([TestDelivery("right \(minute)", retry: .standard)])
            await bench.run(until: start + .seconds(minute * 60))
        }
        await loop.stop()
        // Otherwise each would have used up its fifteen attempts in a quarter of an hour.
        #expect(try await bench.deliveries(.dead).isEmpty)
    }

    @Test func `a delivery that has expired is not the trial, and no attempt of it is counted`() async throws {
        let bench = try Bench()
        let start = bench.now
        let action = ScriptedAction(failing: Self.unreachable)
        let retry = RetryPolicy(attempts: 12, base: .seconds(3600), cap: .seconds(3600))
        try await bench.enqueue(
            (0..<5).map { TestDelivery("\($0)", retry: retry) }
                + [TestDelivery("late", runAt: start + .seconds(2), expires: start + .seconds(3))])
        let loop = bench.dispatching(action)
        await bench.run(until: start + .seconds(60))
        await loop.stop()
        #expect(bench.recorder.count("receiver.breaker_opened") == 1)
        #expect(bench.recorder.count("receiver.breaker_trial") == 0)
        #expect(try await bench.deliveries(.dead).map(\.attempts) == [0])
    }

    @Test func `an open breaker survives a restart, and does not stop other receivers`() async throws {
        let bench = try Bench()
        let action = ScriptedAction(failing: Self.unreachable) { delivery, _ in delivery.id.receiver == "down" }
        try await bench.enqueue((0..<20).map { TestDelivery("\(100 + $0)", receiver: $0 % 2 == 0 ? "down" : "up") })
        try await Dispatcher(bench.context, actions: { _ in action }).dispatchPending()
        let attempts = action.performed.count { $0.delivery.id.receiver == "down" }
        #expect(attempts >= ReceiverGate.maxFailures && attempts <= 8)
        #expect(try await bench.deliveries(.done).count == 10)
        try await Dispatcher(bench.restarted, actions: { _ in action }).dispatchPending()
        #expect(action.performed.count { $0.delivery.id.receiver == "down" } == attempts)
    }
}
